#include "lazuli/tensor.h"

#include <fmt/format.h>

#include <cstring>

#include "frontend/record.h"
#include "frontend/scopes.h"
#include "frontend/waits.h"
#include "ir/engine.h"
#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/op_table.h"
#include "ir/placement.h"
#include "lazuli/ensure.h"
#include "lazuli/error.h"
#include "lazuli/graph.h"
#include "lazuli/ops.h"

namespace lazuli {

using frontend::node_of;
using frontend::require_node;
using ir::dense_byte_strides;
using ir::Node;
using ir::State;

Tensor frontend::make_data(Binding binding, TensorSpec spec, Device device) {
    static const frontend::OpRef data("data");
    auto value = std::make_unique<ir::Materialized>(ir::Materialized{std::move(binding)});
    Tensor tensor = frontend::make_node(data, std::move(spec), device, {}, {});
    Node* node = node_of(tensor);
    node->value = value.release();
    node->state.store(State::available, std::memory_order_release);
    return tensor;
}

namespace {

using frontend::make_data;

class LiftedBuffer final : public Buffer {
   public:
    LiftedBuffer(Device device, const void* data, std::size_t bytes, std::function<void()> release)
        : Buffer(device, bytes), data_(data), release_(std::move(release)) {}
    ~LiftedBuffer() override {
        if (release_) release_();
    }
    const void* host_data() const override { return data_; }
    void* host_mutable() override { return nullptr; }

   private:
    const void* data_;
    std::function<void()> release_;
};

void check_sizes(std::string_view op, const TensorSpec& spec) {
    for (const std::int64_t dim : spec.shape) {
        if (dim < 0)
            throw ShapeError(fmt::format("{}: negative size in {}", op, spec.str()), "sizes >= 0",
                             spec.shape.str());
    }
}

}  // namespace

// ---- making

Tensor Tensor::from_scalar(const Scalar& value) {
    const Device device = ir::find_engine() != nullptr ? ir::engine().default_device() : Device();
    return frontend::make_scalar(value, value.default_dtype(), device);
}

Tensor Tensor::from_memory(const void* data, std::size_t count, DType dtype, Shape shape) {
    TensorSpec spec{dtype, std::move(shape)};
    check_sizes("Tensor::from", spec);
    if (static_cast<std::size_t>(spec.shape.numel()) != count) {
        throw ShapeError(fmt::format("Tensor::from: {} values do not fill {}", count, spec.str()),
                         spec.shape.str(), fmt::format("[{}]", count));
    }
    return frontend::make_data(spec, data);
}

Tensor frontend::make_data(const TensorSpec& spec, const void* data) {
    const ir::Engine& engine = ir::engine();
    const Device device = engine.default_device();
    BufferPtr buffer = engine.upload(device, data, static_cast<std::size_t>(spec.nbytes()));
    return lazuli::make_data({std::move(buffer), 0, dense_byte_strides(spec), true}, spec, device);
}

void Tensor::ragged(std::int64_t expected, std::int64_t actual) {
    throw ShapeError(fmt::format("Tensor: rows of different lengths: {} and {}", expected, actual),
                     fmt::format("[{}]", expected), fmt::format("[{}]", actual));
}

Tensor lift(const void* data, DType dtype, Shape shape, Ints strides,
            std::function<void()> release) {
    TensorSpec spec{dtype, std::move(shape)};
    check_sizes("lift", spec);
    const std::int64_t bytes = spec.nbytes();
    if (data == nullptr && bytes > 0)
        throw ArgumentError(fmt::format("lift: null memory for {}", spec.str()));
    const Ints dense = dense_byte_strides(spec);
    if (strides.empty()) strides = dense;
    if (strides.rank() != spec.shape.rank()) {
        throw ShapeError(fmt::format("lift: strides {} do not fit {}", strides.str(), spec.str()),
                         spec.shape.str(), strides.str());
    }
    bool is_dense = true;
    for (int i = 0; i < strides.rank(); ++i)
        is_dense = is_dense && (spec.shape[i] <= 1 || strides[i] == dense[i]);
    const Device device = ir::engine().default_device();
    auto buffer = std::make_shared<LiftedBuffer>(device, data, static_cast<std::size_t>(bytes),
                                                 std::move(release));
    return make_data({std::move(buffer), 0, std::move(strides), is_dense || bytes == 0},
                     std::move(spec), device);
}

// ---- what it is

const TensorSpec& Tensor::spec() const { return require_node("spec", *this).spec; }
Device Tensor::device() const { return require_node("device", *this).device; }
std::uint64_t Tensor::id() const { return require_node("id", *this).id; }
std::string_view Tensor::op() const { return op_def(require_node("op", *this).op).name; }
bool Tensor::is_materialized() const {
    return ir::owner_of(require_node("is_materialized", *this))
               .state.load(std::memory_order_acquire) == State::available;
}

bool Tensor::is_view() const { return require_node("is_view", *this).is_view(); }

ShapeTracker Tensor::view() const {
    const Node& node = require_node("view", *this);
    if (!node.is_view()) return ShapeTracker(ir::dims_of(node.spec.shape));
    return ir::placement_of(node.words(), node.spec.shape).tracker;
}

Explanation Tensor::explanation() const {
    Node* node = &require_node("explain", *this);
    return ir::engine().explain({&node, 1});
}

std::string Tensor::explain() const { return explanation().str(); }

std::size_t Tensor::graph_size() const {
    Node& node = require_node("graph_size", *this);
    const std::scoped_lock lock(ir::graph_lock());
    return ir::graph_size(&node);
}

Tensor& Tensor::name(std::string name) {
    ir::set_name(require_node("name", *this), std::move(name));
    return *this;
}

std::string Tensor::name() const { return ir::name_of(require_node("name", *this)).value_or(""); }

// ---- values

const Tensor& Tensor::eval() const {
    Node* node = &require_node("eval", *this);
    if (ir::owner_of(node)->state.load(std::memory_order_acquire) != State::available)
        ir::engine().eval({&node, 1});
    return *this;
}

const Tensor& Tensor::freeze(Unpacked unpacked) const {
    eval();
    const Node* owner = ir::owner_of(&require_node("freeze", *this));
    if (owner->value != nullptr)
        owner->value->binding.buffer->freeze(unpacked == Unpacked::release);
    return *this;
}

void eval(std::span<const Tensor> tensors) {
    std::vector<Node*> nodes;
    for (const Tensor& t : tensors) nodes.push_back(&require_node("eval", t));
    if (!nodes.empty()) ir::engine().eval(nodes);
}

Explanation explain(std::span<const Tensor> tensors) {
    std::vector<Node*> nodes;
    for (const Tensor& t : tensors) nodes.push_back(&require_node("explain", t));
    return nodes.empty() ? Explanation() : ir::engine().explain(nodes);
}

Tensor Tensor::to(Device device) const {
    if (this->device() == device) return *this;
    if (!is_materialized() || node_of(*this)->has_flag(ir::kGradFlag)) {
        // An operation there, whose operand the other device computes first. A view has no value of
        // its own: its elements are put in order before they move.
        static const frontend::OpRef copy("contiguous");
        const auto on = [](Device where, const Tensor& operand) {
            Node* inputs[] = {node_of(operand)};
            ir::retain(inputs[0]);
            return frontend::make_node(copy, operand.spec(), where, inputs, {});
        };
        const Tensor moved =
            on(device, node_of(*this)->is_view() ? on(this->device(), *this) : *this);
        // Whoever holds it wants it to be moved once.
        node_of(moved)->flags.fetch_or(ir::kKeepFlag, std::memory_order_relaxed);
        return moved;
    }
    const TensorSpec& s = spec();
    std::vector<unsigned char> bytes(static_cast<std::size_t>(s.nbytes()));
    ir::engine().download(*node_of(*this), bytes.data());
    BufferPtr buffer = ir::engine().upload(device, bytes.data(), bytes.size());
    return make_data({std::move(buffer), 0, dense_byte_strides(s), true}, s, device);
}

void Tensor::wait_for(std::string_view reason) const {
    if (is_materialized()) return;
    frontend::count_wait(reason);
    eval();
}

void Tensor::read_item(DType dtype, void* out) const {
    const TensorSpec& s = spec();
    if (s.shape.numel() != 1) {
        throw ShapeError(
            fmt::format("item: needs one element, {} has {}", s.str(), s.shape.numel()),
            "1 element", s.shape.str());
    }
    wait_for("item");
    alignas(16) unsigned char element[16];
    ir::engine().download(*node_of(*this), element);
    store_scalar(load_scalar(s.dtype, element), dtype, out);
}

const void* Tensor::read_data(DType dtype) const {
    if (dtype != this->dtype()) {
        throw DTypeError(fmt::format("data: {} is not made of {}; cast it first", spec().str(),
                                     lazuli::name(dtype)));
    }
    wait_for("data");
    const Node& node = *node_of(*this);
    const Binding& binding = ir::owner_of(node).value->binding;
    const auto* host = static_cast<const unsigned char*>(binding.buffer->host_data());
    if (host == nullptr && spec().nbytes() > 0)
        throw DeviceError(fmt::format(
            "data: {} lives where the host cannot read it; use to_vector()", spec().str()));
    std::int64_t first = 0;
    bool dense = binding.dense;
    if (node.is_view()) {
        const ShapeTracker tracker = ir::placement_of(node.words(), spec().shape).tracker;
        View top = tracker.top();
        first = top.offset.value() * static_cast<std::int64_t>(size_of(dtype));
        top.offset = 0;
        dense = dense && tracker.size() == 1 && top.is_contiguous() &&
                !node.inputs_inline[0]->is_view();
    }
    if (!dense) {
        throw ArgumentError(
            fmt::format("data: {} is not dense in memory; use to_vector(), or contiguous() before",
                        spec().str()));
    }
    return host + binding.offset + first;
}

void Tensor::read_dense(DType dtype, void* out) const {
    if (dtype != this->dtype()) {
        throw DTypeError(fmt::format("to_vector: {} is not made of {}; cast it first", spec().str(),
                                     lazuli::name(dtype)));
    }
    wait_for("to_vector");
    ir::engine().download(*node_of(*this), out);
}

Tensor::operator bool() const {
    const TensorSpec& s = spec();
    if (s.shape.numel() != 1) {
        throw ShapeError(fmt::format("bool: the truth of {} is not one value; it has {} elements",
                                     s.str(), s.shape.numel()),
                         "1 element", s.shape.str());
    }
    return item<bool>();
}

// ---- capture and figures

Program capture(std::span<const Tensor> targets) {
    std::vector<Node*> nodes;
    for (const Tensor& t : targets) nodes.push_back(&require_node("capture", t));
    ir::Capture captured;
    const std::scoped_lock lock(ir::graph_lock());
    ir::capture(nodes, {}, false, captured);
    return captured.program();
}

Program capture(const Tensor& target) { return capture(std::span<const Tensor>(&target, 1)); }

GraphStats graph_stats() {
    const ir::ArenaStats arena = ir::arena_stats();
    return {
        .live_nodes = arena.live,
        .peak_nodes = arena.peak,
        .recorded = arena.recorded,
        .slots_reused = arena.reused,
        .bytes_held = arena.bytes,
        .bytes_per_node = sizeof(Node),
        .buffer_bytes = ir::find_engine() != nullptr ? ir::engine().buffer_bytes() : 0,
        .flushes = frontend::flush_count(),
    };
}

// ---- checks

void ensure_same_device(std::string_view op, const Tensor& a, const Tensor& b) {
    if (a.device() == b.device()) return;
    throw DeviceError(fmt::format("{}: operands live on different devices: {} on {}, {} on {}", op,
                                  a.spec().str(), ir::engine().device_name(a.device()),
                                  b.spec().str(), ir::engine().device_name(b.device())));
}

void ensure_same_dtype(std::string_view op, const TensorSpec& a, const TensorSpec& b) {
    if (a.dtype != b.dtype)
        throw DTypeError(
            fmt::format("{}: operands have different types: {} and {}", op, a.str(), b.str()));
}

void ensure_dtype(std::string_view op, const TensorSpec& spec, DTypeSet allowed) {
    if (allowed.contains(spec.dtype)) return;
    throw DTypeError(
        fmt::format("{}: does not take {} (takes {})", op, spec.str(), ir::types_text(allowed)));
}

void ensure_rank(std::string_view op, const TensorSpec& spec, int least, int most) {
    const int rank = spec.shape.rank();
    if (rank >= least && rank <= most) return;
    const std::string expected =
        least == most ? fmt::format("rank {}", least) : fmt::format("rank {} to {}", least, most);
    throw ShapeError(
        fmt::format("{}: expects {}, given {} (rank {})", op, expected, spec.str(), rank), expected,
        spec.shape.str());
}

void ensure_shape(std::string_view op, const TensorSpec& spec, const Shape& expected) {
    bool fits = spec.shape.rank() == expected.rank();
    for (int i = 0; fits && i < expected.rank(); ++i)
        fits =
            expected.dim(i) == Dim(-1) || equal(expected.dim(i), spec.shape.dim(i)) == Truth::yes;
    if (!fits) {
        throw ShapeError(
            fmt::format("{}: expects shape {}, given {}", op, expected.str(), spec.str()),
            expected.str(), spec.shape.str());
    }
}

void ensure_same_shape(std::string_view op, const TensorSpec& a, const TensorSpec& b) {
    if (!(a.shape == b.shape)) {
        throw ShapeError(fmt::format("{}: shapes differ: {} and {}", op, a.str(), b.str()),
                         a.shape.str(), b.shape.str());
    }
}

}  // namespace lazuli
