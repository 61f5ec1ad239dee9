#include "frontend/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frontend/scopes.h"
#include "ir/engine.h"
#include "ir/placement.h"
#include "ir/sources.h"
#include "lazuli/error.h"

namespace lazuli::frontend {

using ir::Arena;
using ir::Node;
using ir::State;

ir::Node& require_node(std::string_view op, const Tensor& tensor) {
    if (!tensor.defined())
        throw ArgumentError(fmt::format("{}: an operand is an empty Tensor", op));
    return *node_of(tensor);
}

namespace {

/// A view has no state of its own: it is as deep as it was until its base is there.
std::uint32_t depth_of(const Node& input) {
    return ir::owner_of(input).state.load(std::memory_order_relaxed) == State::available
               ? 0
               : input.depth;
}

/// Makes room for more inputs or attribute words than fit the node: a second slot, or the heap
/// beyond that.
void* overflow_room(Arena& arena, std::size_t count) {
    return count > ir::kSlotWords ? new std::uint64_t[count] : arena.allocate();
}

void release_all(std::span<Node* const> nodes) {
    for (Node* node : nodes) ir::release(node);
}

Device device_of(std::string_view op, std::span<Node* const> nodes) {
    for (const Node* node : nodes) {
        if (node->device == nodes[0]->device) continue;
        const ir::Engine* engine = ir::find_engine();
        const auto name = [&](Device d) {
            return engine != nullptr ? engine->device_name(d) : fmt::format("{}", d.number());
        };
        throw DeviceError(fmt::format("{}: operands live on different devices: {} on {}, {} on {}",
                                      op, nodes[0]->spec.str(), name(nodes[0]->device),
                                      node->spec.str(), name(node->device)));
    }
    return nodes[0]->device;
}

}  // namespace

namespace {

/// Gradients flow on through a new node, one of whose inputs they flow through.
[[gnu::cold]] void put_on_tape(const Arena& arena, Node& node, const OpDef& def) {
    const DType dtype = node.spec.dtype;
    if (arena.mode.no_grad > 0 || has(def.traits, Trait::no_gradient)) return;
    if (!is_floating(dtype) && !is_complex(dtype) && def.results == nullptr) return;
    node.flags.fetch_or(ir::kGradFlag, std::memory_order_relaxed);
}

/// Fills in what every new node has, once its type, inputs and words are in their places.
inline Tensor finish_node(Arena& arena, Node& node, const OpRef& op, Device device,
                          std::span<Node* const> inputs, std::size_t words) {
    node.op = op.id;
    node.flags.store(op.flags, std::memory_order_relaxed);
    node.input_count = static_cast<std::uint16_t>(inputs.size());
    node.word_count = static_cast<std::uint8_t>(words);
    node.device = device;
    node.id = arena.next_id();
    std::uint32_t depth = 0;
    unsigned flags = 0;
    for (const Node* input : inputs) {
        depth = std::max(depth, depth_of(*input));
        flags |= input->flags.load(std::memory_order_relaxed);
    }
    node.depth = depth + 1;
    if ((flags & ir::kGradFlag) != 0) [[unlikely]]
        put_on_tape(arena, node, *op.def);
    Tensor tensor = Tensor::adopt(&node);
    if (arena.mode.unusual || node.depth >= arena.mode.flush_limit) [[unlikely]]
        after_record(arena, node);
    return tensor;
}

/// Puts inputs or words that do not fit the node elsewhere.
template <class T>
[[gnu::cold]] T* put_far(Arena& arena, std::span<const T> from) {
    auto* room = static_cast<T*>(overflow_room(arena, from.size()));
    std::copy(from.begin(), from.end(), room);
    return room;
}

}  // namespace

Tensor make_node(const OpRef& op, TensorSpec spec, Device device, std::span<Node* const> inputs,
                 std::span<const std::uint64_t> words) {
    Arena& arena = ir::arena();
    Node* node = nullptr;
    try {
        if (inputs.size() > UINT16_MAX)
            throw ArgumentError(fmt::format("{}: more than {} operands", op.def->name, UINT16_MAX));
        Node** far_inputs =
            inputs.size() > Node::kInlineInputs ? put_far<Node*>(arena, inputs) : nullptr;
        std::uint64_t* far_words =
            words.size() > Node::kInlineWords ? put_far<std::uint64_t>(arena, words) : nullptr;
        node = new (arena.allocate()) Node;
        if (far_inputs != nullptr) {
            node->inputs_far = far_inputs;
        } else {
            for (std::size_t i = 0; i < inputs.size(); ++i) node->inputs_inline[i] = inputs[i];
        }
        if (far_words != nullptr) {
            node->words_far = far_words;
        } else {
            for (std::size_t i = 0; i < words.size(); ++i) node->words_inline[i] = words[i];
        }
    } catch (...) {
        release_all(inputs);  // out of memory: what little was taken stays with the arena
        throw;
    }
    node->spec = std::move(spec);
    return finish_node(arena, *node, op, device, inputs, words.size());
}

namespace {

/// The node every fast path ends in: `like`'s type and shape, no attributes.
template <int Inputs>
Tensor fast_node(const OpRef& op, const Node& like, const Operand* const (&operands)[Inputs]) {
    Arena& arena = ir::arena();
    Node* node = new (arena.allocate()) Node(like.spec);
    for (int i = 0; i < Inputs; ++i)
        node->inputs_inline[i] = static_cast<Node*>(operands[i]->take());
    return finish_node(arena, *node, op, like.device, {node->inputs_inline, Inputs}, 0);
}

constexpr Trait kPlain = Trait::elementwise | Trait::same_type;

}  // namespace

Tensor record_unary(const OpRef& op, const Operand& x) {
    if (!x.is_scalar() && x.node() != nullptr) {
        const Node& a = *static_cast<Node*>(x.node());
        // Ranks beyond the inline ones may throw while copying the shape: the general way is
        // careful about that.
        if (has(op.def->traits, kPlain) && op.def->dtypes.contains(a.spec.dtype) &&
            a.spec.shape.rank() <= Shape::kInline) [[likely]] {
            return fast_node<1>(op, a, {&x});
        }
    }
    return Call(op).arg(x).done();
}

Tensor record_binary(const OpRef& op, const Operand& x, const Operand& y) {
    if (!x.is_scalar() && !y.is_scalar() && x.node() != nullptr && y.node() != nullptr) {
        const Node& a = *static_cast<Node*>(x.node());
        const Node& b = *static_cast<Node*>(y.node());
        if (has(op.def->traits, kPlain) && a.spec.dtype == b.spec.dtype &&
            op.def->dtypes.contains(a.spec.dtype) && a.device == b.device &&
            a.spec.shape.rank() <= Shape::kInline && a.spec.shape == b.spec.shape) [[likely]] {
            return fast_node<2>(op, a, {&x, &y});
        }
    }
    return Call(op).arg(x).arg(y).done();
}

void Call::too_many() { throw InternalError("more operands than a declared op can have"); }

const Shape& Call::first_shape() const {
    static const Shape none{};
    if (!inputs_[0]->is_scalar() && inputs_[0]->node() == nullptr) {
        throw ArgumentError(fmt::format("{}: operand 0 is an empty Tensor", op_.def->name));
    }
    return inputs_[0]->is_scalar() || inputs_[0]->node() == nullptr
               ? none
               : static_cast<Node*>(inputs_[0]->node())->spec.shape;
}

Call& Call::arg(const Axes& v) {
    Ints axes = ensure_axes(op_.def->name, v, first_shape());
    // The order of the axes means something to a movement and nothing to a reduction.
    if (!has(op_.def->traits, Trait::movement)) std::sort(axes.begin(), axes.end());
    words_.axes(axes.dims());
    return *this;
}

TensorSpec Call::infer_result(std::span<const TensorSpec* const> specs) {
    if (has(op_.def->traits, Trait::shaped) && !specs.empty()) {
        if (!shape_given_) wanted_.shape = specs[0]->shape;
        if (!dtype_given_) wanted_.dtype = specs[0]->dtype;
    }
    return infer(InferArgs{*op_.def, specs, Attrs(*op_.def, words_.words()), &wanted_});
}

bool Call::is_plain() const {
    const OpDef& def = *op_.def;
    if (count_ == 0 || inputs_[0]->is_scalar() || inputs_[0]->node() == nullptr) return false;
    const Node& first = *static_cast<const Node*>(inputs_[0]->node());
    const bool unify = has(def.traits, Trait::promotes);
    if (has(def.traits, Trait::to_float) && kind(first.spec.dtype) < Kind::floating) return false;
    if (has(def.traits, Trait::predicated)) return false;
    for (int i = 1; i < count_; ++i) {
        if (inputs_[i]->is_scalar() || inputs_[i]->node() == nullptr) return false;
        const Node& node = *static_cast<const Node*>(inputs_[i]->node());
        if ((unify && node.spec.dtype != first.spec.dtype) || !(node.device == first.device))
            return false;
    }
    return true;
}

Tensor Call::done() {
    if (op_.def->move != nullptr) return done_moving();
    return is_plain() ? done_plain() : done_promoting();
}

namespace {

const OpRef& view_op() {
    static const OpRef view("view");
    return view;
}

Tensor another(Node& node) { return Tensor::adopt((ir::retain(&node), &node)); }

/// A view of `base`; the base itself where the view is all of it as it lies, and `operand` where it
/// is that very view.
Tensor make_view(Node& base, Node& operand, Placement& placement, const TensorSpec& spec) {
    if (placement.tracker.is_contiguous() && base.spec.shape == spec.shape) return another(base);
    if (placement.fill) placement.fill = placement.fill->as(spec.dtype);
    AttrWords words;
    words.placement(placement);
    if (operand.is_view() && &base != &operand && operand.spec.shape == spec.shape &&
        std::ranges::equal(operand.words(), words.words()))
        return another(operand);
    Node* inputs[] = {&base};
    ir::retain(&base);
    return make_node(view_op(), spec, base.device, inputs, words.words());
}

/// Fills in the strides of what lies row-major or is a view of plain strides; `view` has its shape.
bool read_strided(const Node& operand, StridedView& view) {
    const int rank = view.shape.rank();
    if (operand.is_view()) {
        const auto words = operand.words();
        if (words[0] != ir::strided_header(rank)) return false;
        for (const std::uint64_t word : words.subspan(1)) {  // of a part of what has other sizes
            if (!Dim::from_raw(static_cast<std::int64_t>(word)).is_concrete()) return false;
        }
        view.offset = static_cast<std::int64_t>(words[1]);
        for (int i = 0; i < rank; ++i)
            view.strides[i] = static_cast<std::int64_t>(words[static_cast<std::size_t>(2 + i)]);
        return true;
    }
    std::uint64_t stride = 1;  // may wrap where there is no element
    for (int i = rank - 1; i >= 0; --i) {
        view.strides[i] = static_cast<std::int64_t>(stride);
        stride *= static_cast<std::uint64_t>(view.shape[i]);
    }
    return true;
}

/// Brings strides that mean nothing to 0; whether the elements lie row-major from the first on.
bool settle_strided(StridedView& view) {
    std::int64_t stride = 1;
    bool row_major = view.offset == 0;
    for (int i = view.shape.rank() - 1; i >= 0; --i) {
        if (view.shape[i] == 1) {
            view.strides[i] = 0;
            continue;
        }
        row_major = row_major && view.strides[i] == stride;
        if (row_major) stride *= view.shape[i];
    }
    return row_major;
}

/// Records a movement of plain strides; an empty tensor where that is not what it is.
Tensor record_strided(const OpRef& op, Node& operand, const Attrs& attrs, const Shape& wanted) {
    if (operand.spec.shape.rank() > Shape::kInline || !operand.spec.shape.is_concrete() ||
        !wanted.is_concrete())
        return {};
    StridedView view(operand.spec.shape);
    if (!read_strided(operand, view) || !op.def->move_strided(view, attrs, wanted)) return {};
    const int rank = view.shape.rank();
    for (int i = 0; i < rank; ++i) {
        if (view.shape[i] == 0) return {};
    }
    Node& base = operand.is_view() ? *operand.inputs_inline[0] : operand;
    if (settle_strided(view) && base.spec.shape == view.shape) return another(base);
    std::uint64_t words[2 + Shape::kInline] = {ir::strided_header(rank),
                                               static_cast<std::uint64_t>(view.offset)};
    for (int i = 0; i < rank; ++i) words[2 + i] = static_cast<std::uint64_t>(view.strides[i]);
    const std::span<const std::uint64_t> used(words, static_cast<std::size_t>(2 + rank));
    if (operand.is_view() && operand.spec.shape == view.shape &&
        std::ranges::equal(operand.words(), used))
        return another(operand);
    const OpRef& op_of_views = view_op();
    Arena& arena = ir::arena();
    if (used.size() > Node::kInlineWords) {
        Node* inputs[] = {&base};
        ir::retain(&base);
        return make_node(op_of_views, {operand.spec.dtype, view.shape}, base.device, inputs, used);
    }
    Node* node =
        new (arena.allocate()) Node([&] { return TensorSpec{operand.spec.dtype, view.shape}; });
    ir::retain(&base);
    node->inputs_inline[0] = &base;
    for (std::size_t i = 0; i < used.size(); ++i) node->words_inline[i] = used[i];
    return finish_node(arena, *node, op_of_views, base.device, {node->inputs_inline, 1},
                       used.size());
}

/// Records what a movement makes of `operand`, as a view of what that is itself a view of.
Tensor record_move(const OpRef& op, Node& operand, const TensorSpec& spec,
                   std::span<const std::uint64_t> words) {
    const Attrs attrs(*op.def, words);
    if (operand.is_view()) {
        Placement placement = ir::placement_of(operand.words(), operand.spec.shape);
        const std::optional<Scalar> before = std::exchange(placement.fill, std::nullopt);
        op.def->move(placement, attrs, spec.shape);
        const bool fills = placement.fill && ir::is_masked(placement.tracker);
        // Where old and new padding are filled differently it stays a view of a view.
        if (!fills || !before || placement.fill->as(spec.dtype) == *before) {
            if (!fills) placement.fill = before;
            return make_view(*operand.inputs_inline[0], operand, placement, spec);
        }
    }
    Placement placement{ShapeTracker(ir::dims_of(operand.spec.shape))};
    op.def->move(placement, attrs, spec.shape);
    return make_view(operand, operand, placement, spec);
}

}  // namespace

Tensor Call::done_moving() {
    const Operand& operand = *inputs_[0];
    if (operand.is_scalar()) {
        const Device device =
            ir::find_engine() != nullptr ? ir::engine().default_device() : Device();
        const Tensor tensor =
            make_scalar(operand.scalar(), operand.scalar().default_dtype(), device);
        const TensorSpec* specs[] = {&node_of(tensor)->spec};
        const TensorSpec spec = infer_result(specs);
        return record_move(op_, *node_of(tensor), spec, words_.words());
    }
    if (operand.node() == nullptr)
        throw ArgumentError(fmt::format("{}: operand 0 is an empty Tensor", op_.def->name));
    Node& node = *static_cast<Node*>(operand.node());
    Tensor moved;
    if (op_.def->move_strided != nullptr && !dtype_given_)
        moved = record_strided(op_, node, Attrs(*op_.def, words_.words()), wanted_.shape);
    if (!moved.defined()) {
        const TensorSpec* specs[] = {&node.spec};
        const TensorSpec spec = infer_result(specs);
        moved = record_move(op_, node, spec, words_.words());
    }
    ir::release(operand.take());  // the view holds the base itself
    return moved;
}

Tensor Call::done_plain() {
    Node* nodes[kMaxOperands];
    const TensorSpec* specs[kMaxOperands];
    for (int i = 0; i < count_; ++i) {
        nodes[i] = static_cast<Node*>(inputs_[i]->node());
        specs[i] = &nodes[i]->spec;
    }
    const auto count = static_cast<std::size_t>(count_);
    const auto words = words_.words();
    if (count_ > Node::kInlineInputs || words.size() > Node::kInlineWords) {
        TensorSpec spec = infer_result({specs, count});
        for (int i = 0; i < count_; ++i) (void)inputs_[i]->take();
        return make_node(op_, std::move(spec), nodes[0]->device, {nodes, count}, words);
    }
    // What most calls need: the result's type is inferred where it stays, in the node.
    Arena& arena = ir::arena();
    void* slot = arena.allocate();
    Node* node = nullptr;
    try {
        node = new (slot) Node([&] { return infer_result({specs, count}); });
    } catch (...) {
        arena.take_back(slot);
        throw;
    }
    for (int i = 0; i < count_; ++i)
        node->inputs_inline[i] = static_cast<Node*>(inputs_[i]->take());
    for (std::size_t i = 0; i < words.size(); ++i) node->words_inline[i] = words[i];
    return finish_node(arena, *node, op_, nodes[0]->device, {node->inputs_inline, count},
                       words.size());
}

Tensor Call::done_promoting() {
    const OpDef& def = *op_.def;
    const int first = has(def.traits, Trait::predicated) ? 1 : 0;

    // The type all operands are brought to: that of the tensors, then weak scalars.
    std::optional<DType> common;
    const Node* some_tensor = nullptr;
    for (int i = 0; i < count_; ++i) {
        if (inputs_[i]->is_scalar()) continue;
        if (inputs_[i]->node() == nullptr)
            throw ArgumentError(fmt::format("{}: operand {} is an empty Tensor", def.name, i));
        const Node& node = *static_cast<Node*>(inputs_[i]->node());
        if (some_tensor == nullptr) some_tensor = &node;
        if (i < first) continue;
        if (!common) {
            common = node.spec.dtype;
        } else if (*common != node.spec.dtype && has(def.traits, Trait::promotes)) {
            common = joined_type(def, *common, node.spec);
        }
    }
    const Device device = some_tensor != nullptr         ? some_tensor->device
                          : ir::find_engine() != nullptr ? ir::engine().default_device()
                                                         : Device();
    bool weak_only = !common;
    const bool unify = has(def.traits, Trait::promotes) || has(def.traits, Trait::to_float);
    for (int i = first; unify && i < count_; ++i) {
        if (!inputs_[i]->is_scalar()) continue;
        const Scalar& value = inputs_[i]->scalar();
        if (!common) {
            common = value.default_dtype();
        } else if (weak_only) {
            common = promote(*common, value.default_dtype()).value_or(f32);
        } else {
            common = promote_weak(def.name, *common, value);
        }
    }
    if (common && has(def.traits, Trait::to_float) && kind(*common) < Kind::floating) common = f32;

    // Operands in their final type. Tensors made on the way live here until the node holds them.
    // Operands stay referenced meanwhile: evaluating a cast at once (eager mode) must not end them.
    Tensor made[kMaxOperands];
    Tensor held[kMaxOperands];
    Node* nodes[kMaxOperands];
    const TensorSpec* specs[kMaxOperands];
    for (int i = 0; i < count_; ++i) {
        const Operand& operand = *inputs_[i];
        if (operand.is_scalar()) {
            const DType dtype = i < first         ? DType::boolean
                                : unify && common ? *common
                                                  : operand.scalar().default_dtype();
            made[i] = make_scalar(operand.scalar(), dtype, device);
        } else {
            const Node& node = *static_cast<Node*>(operand.node());
            held[i] = Tensor::adopt((ir::retain(operand.node()), operand.node()));
            if (unify && i >= first && common && node.spec.dtype != *common) {
                static const OpRef cast("cast");
                const Operand as_is(held[i]);
                made[i] = Call(cast).arg(as_is).arg(*common).done();
            }
        }
        nodes[i] = made[i].defined() ? node_of(made[i]) : static_cast<Node*>(operand.node());
        specs[i] = &nodes[i]->spec;
    }
    const auto count = static_cast<std::size_t>(count_);
    const Device where = count > 0 ? device_of(def.name, {nodes, count}) : device;
    TensorSpec spec = infer_result({specs, count});

    // Nothing is changed before this point; from here on nothing but memory can fail.
    for (int i = 0; i < count_; ++i) {
        if (made[i].defined()) ir::retain(nodes[i]);
        if (inputs_[i]->is_scalar()) continue;
        ir::NodeHeader* taken = inputs_[i]->take();
        if (made[i].defined()) ir::release(taken);  // the cast has a reference of its own
    }
    return make_node(op_, std::move(spec), where, {nodes, count}, words_.words());
}

DType joined_type(const OpDef& def, DType so_far, const TensorSpec& next) {
    const auto both = promote(so_far, next.dtype);
    if (both) return *both;
    throw DTypeError(fmt::format("{}: no type holds both {} and {}; cast one of them", def.name,
                                 name(so_far), next.str()));
}

std::optional<DType> promoted_type(const OpDef& def, std::span<const Tensor> operands) {
    const bool joins = has(def.traits, Trait::promotes);
    const std::size_t first = first_promoted(def);
    if ((!joins && !has(def.traits, Trait::to_float)) || operands.size() <= first)
        return std::nullopt;
    DType common = operands[first].dtype();
    for (const Tensor& operand : operands.subspan(first + 1))
        common = joined_type(def, common, operand.spec());
    if (has(def.traits, Trait::to_float) && kind(common) < Kind::floating) common = f32;
    return common;
}

Tensor record_list(const OpRef& op, std::span<const Tensor> inputs,
                   std::span<const std::uint64_t> words, const TensorSpec* wanted,
                   std::optional<Device> home) {
    const OpDef& def = *op.def;
    std::vector<Tensor> operands(inputs.begin(), inputs.end());
    for (const Tensor& operand : operands) (void)require_node(def.name, operand);
    if (const auto common = promoted_type(def, operands)) {
        for (std::size_t i = first_promoted(def); i < operands.size(); ++i) {
            if (operands[i].dtype() != *common) operands[i] = operands[i].cast(*common);
        }
    }
    std::vector<Node*> nodes;
    std::vector<const TensorSpec*> specs;
    for (const Tensor& operand : operands) {
        nodes.push_back(node_of(operand));
        specs.push_back(&nodes.back()->spec);
    }
    const Device device = !nodes.empty()                 ? device_of(def.name, nodes)
                          : home                         ? *home
                          : ir::find_engine() != nullptr ? ir::engine().default_device()
                                                         : Device();
    TensorSpec spec = infer(InferArgs{def, specs, Attrs(def, words), wanted});
    if (def.move != nullptr) return record_move(op, *nodes[0], spec, words);
    for (Node* node : nodes) ir::retain(node);
    return make_node(op, std::move(spec), device, nodes, words);
}

Tensor make_scalar(const Scalar& value, DType dtype, Device device) {
    static const OpRef constant("constant");
    static const OpRef parameter("scalar");
    const Scalar element = value.as(dtype);
    AttrWords words;
    words.scalar(element);
    return make_node(is_constant_class(element) ? constant : parameter, {dtype, {}}, device, {},
                     words.words());
}

// ---- unusual modes

void after_record(Arena& arena, Node& node) {
    ir::RecordingMode& mode = arena.mode;
    const bool computes = !node.has_flag(ir::kLeafFlag);
    for (auto* scope = static_cast<ScopeState*>(mode.graph_scope); scope != nullptr;
         scope = static_cast<ScopeState*>(scope->outer)) {
        scope->nodes.push_back(Tensor::adopt((ir::retain(&node), &node)));
    }
    if (!computes) return;
    if (mode.records_numbers()) node.flags.fetch_or(ir::kNumberFlag, std::memory_order_relaxed);
    if (mode.sources > 0) ir::keep_source(node);
    if (mode.eager > 0) {
        Node* target = &node;
        ir::engine().eval({&target, 1});
        return;
    }
    if (node.depth >= mode.flush_limit)
        arena.update_flush_limit();  // nodes may have gone since it was set
    if (mode.hold_flush > 0 || (!mode.pressure && node.depth < mode.flush_limit)) return;
    flush(arena, node);
}

}  // namespace lazuli::frontend
