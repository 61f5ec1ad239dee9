#include "ir/op_table.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "lazuli/error.h"

namespace lazuli {

namespace {

constexpr std::size_t kMaxOps = 4096;

struct Table {
    std::mutex mutex;
    std::map<std::string, OpId, std::less<>> by_name;
    std::deque<OpDef> records;
    // Reading a record takes no lock: the pointer is published before the count.
    std::array<std::atomic<const OpDef*>, kMaxOps> by_id{};
    std::atomic<int> count{0};
};

Table& raw_table() {
    static Table& table = *new Table;  // never destroyed: tensors may outlive static destruction
    return table;
}

/// The table with the built-in ops in it. Registering them comes back here; the flag is up by then.
Table& table() {
    static std::once_flag once;
    static thread_local bool installing = false;
    if (!installing) {
        std::call_once(once, [] {
            installing = true;
            if (lazuli_install_ops != nullptr) lazuli_install_ops();
            installing = false;
        });
    }
    return raw_table();
}

bool is_name(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
               std::string_view::npos &&
           (text.front() < '0' || text.front() > '9');
}

void check_record(const OpDef& def) {
    const auto refuse = [&](std::string_view why) {
        throw ArgumentError(fmt::format("register_op: '{}': {}", def.name, why));
    };
    if (!is_name(def.name)) refuse("a name is lower-case letters, digits and underscores");
    if (def.doc.empty()) refuse("a record needs its one-sentence doc");
    if (def.min_inputs < 0 || (def.max_inputs >= 0 && def.max_inputs < def.min_inputs))
        refuse("arity is inconsistent");
    if (def.evaluate == nullptr && !def.is_composite() && !has(def.traits, Trait::leaf)) {
        refuse("a record needs `evaluate` (its meaning) or `implementations` (a composite)");
    }
    if (def.infer == nullptr && !has(def.traits, Trait::elementwise))
        refuse("only elementwise ops may leave out `infer`");
    for (const Implementation& impl : def.implementations) {
        if (impl.name.empty() || impl.build == nullptr)
            refuse("an implementation needs a name and `build`");
    }
}

}  // namespace

OpId register_op(OpDef def) {
    check_record(def);
    Table& t = table();
    const std::scoped_lock lock(t.mutex);
    if (t.by_name.contains(def.name)) {
        throw ArgumentError(
            fmt::format("register_op: there is an op named '{}' already", def.name));
    }
    const int index = t.count.load(std::memory_order_relaxed);
    if (static_cast<std::size_t>(index) == kMaxOps)
        throw ArgumentError(fmt::format("register_op: more than {} ops", kMaxOps));
    const OpDef& record = t.records.emplace_back(std::move(def));
    t.by_id[static_cast<std::size_t>(index)].store(&record, std::memory_order_release);
    t.by_name.emplace(record.name, static_cast<OpId>(index));
    t.count.store(index + 1, std::memory_order_release);
    return static_cast<OpId>(index);
}

std::optional<OpId> find_op(std::string_view name) {
    Table& t = table();
    const std::scoped_lock lock(t.mutex);
    const auto it = t.by_name.find(name);
    if (it == t.by_name.end()) return std::nullopt;
    return it->second;
}

OpId require_op(std::string_view name) {
    if (const auto id = find_op(name)) return *id;
    throw ArgumentError(fmt::format("there is no op named '{}'", name));
}

const OpDef& op_def(OpId id) {
    const OpDef* def =
        id < kMaxOps ? raw_table().by_id[id].load(std::memory_order_acquire) : nullptr;
    if (def == nullptr) throw InternalError(fmt::format("no op has the index {}", id));
    return *def;
}

int op_count() { return table().count.load(std::memory_order_acquire); }

std::string ir::types_text(DTypeSet types) {
    std::string out;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        if (types.contains(dtype)) out += fmt::format("{}{}", out.empty() ? "" : ", ", name(dtype));
    }
    return out;
}

// ---- inference ----

namespace {

TensorSpec infer_elementwise(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    for (const TensorSpec* input : args.inputs.subspan(1)) {
        if (input->dtype != out.dtype) {
            throw DTypeError(fmt::format("{}: operands have different types: {} and {}",
                                         args.op.name, out.str(), input->str()));
        }
        if (!(input->shape == out.shape))
            out.shape = broadcast_shapes(args.op.name, out.shape, input->shape);
    }
    return out;
}

}  // namespace

namespace {

[[noreturn, gnu::cold]] void wrong_arity(const OpDef& def, int count) {
    throw ArgumentError(fmt::format("{}: takes {}{} operand{}, {} given", def.name, def.min_inputs,
                                    def.max_inputs < 0 ? " or more"
                                    : def.max_inputs != def.min_inputs
                                        ? fmt::format(" to {}", def.max_inputs)
                                        : "",
                                    def.max_inputs == 1 ? "" : "s", count));
}

[[noreturn, gnu::cold]] void wrong_type(const OpDef& def, const InferArgs& args, DType deciding) {
    std::string given = args.inputs.empty() ? std::string(name(deciding)) : "";
    // Operands that were brought to one type are at fault together.
    const bool all = args.inputs.empty() || has(def.traits, Trait::promotes);
    for (const TensorSpec* spec : args.inputs.subspan(all ? 0 : args.inputs.size() - 1))
        given += (given.empty() ? "" : ", ") + spec->str();
    throw DTypeError(fmt::format("{}: does not take {} (takes {})", def.name, given,
                                 ir::types_text(def.dtypes)));
}

/// Throws where a size is negative or the bytes cannot be counted.
void check_sizes(const OpDef& def, const TensorSpec& out) {
    // Sizes below 2^29 in at most two dimensions, elements of at most 2^4 bytes: nothing can
    // overflow, and most tensors are such.
    // Read one by one: the sizes were just written so, and a vector load of both would wait.
    const std::span<const std::int64_t> sizes = out.shape.raw();
    const auto small = [&](std::size_t i) {
        return i >= sizes.size() || static_cast<std::uint64_t>(sizes[i]) >> 29 == 0;
    };
    if (sizes.size() <= 2 && small(0) && small(1)) return;
    for (int i = 0; i < out.shape.rank(); ++i) {
        if (at_least(out.shape.dim(i), 0) != Truth::yes)
            throw ShapeError(fmt::format("{}: negative size in {}", def.name, out.str()),
                             "sizes >= 0", out.shape.str());
    }
    if (out.shape.is_concrete()) (void)out.nbytes();
}

/// What an op says that needs a number where a size is an expression: its own name first.
[[noreturn, gnu::cold]] void name_the_op(const InferArgs& args, const ShapeError& error) {
    const bool is_concrete =
        std::ranges::all_of(args.inputs,
                            [](const TensorSpec* spec) { return spec->shape.is_concrete(); }) &&
        (args.wanted == nullptr || args.wanted->shape.is_concrete());
    if (is_concrete || std::string_view(error.what()).starts_with(args.op.name)) throw error;
    std::string operands;
    for (const TensorSpec* spec : args.inputs)
        operands += (operands.empty() ? "" : ", ") + spec->str();
    if (args.wanted != nullptr) operands += (operands.empty() ? "" : ", ") + args.wanted->str();
    throw ShapeError(fmt::format("{}: {} (of {})", args.op.name, error.what(), operands),
                     error.expected, error.actual);
}

}  // namespace

TensorSpec infer(const InferArgs& args) {
    const OpDef& def = args.op;
    const auto count = static_cast<int>(args.inputs.size());
    if (count < def.min_inputs || (def.max_inputs >= 0 && count > def.max_inputs))
        wrong_arity(def, count);
    if (has(def.traits, Trait::shaped) && args.wanted == nullptr) {
        throw ArgumentError(fmt::format("{}: the result's type and shape must be given", def.name));
    }
    const DType deciding = count > 0                ? args.inputs.back()->dtype
                           : args.wanted != nullptr ? args.wanted->dtype
                                                    : f32;
    if (!def.dtypes.contains(deciding)) wrong_type(def, args, deciding);
    try {
        TensorSpec out = def.infer != nullptr ? def.infer(args) : infer_elementwise(args);
        check_sizes(def, out);
        return out;
    } catch (const ShapeError& error) {
        name_the_op(args, error);
    }
}

TensorSpec infer(OpId op, std::span<const TensorSpec> inputs, std::span<const Attribute> attrs,
                 const TensorSpec* wanted) {
    const OpDef& def = op_def(op);
    if (attrs.size() != def.attrs.size()) {
        throw ArgumentError(fmt::format("{}: takes {} attributes, {} given", def.name,
                                        def.attrs.size(), attrs.size()));
    }
    AttrWords words;
    for (std::size_t i = 0; i < attrs.size(); ++i) words.append(def.name, def.attrs[i], attrs[i]);
    std::vector<const TensorSpec*> pointers;
    for (const TensorSpec& spec : inputs) pointers.push_back(&spec);
    return infer(InferArgs{def, pointers, Attrs(def, words.words()), wanted});
}

TensorSpec infer(std::string_view op, std::span<const TensorSpec> inputs,
                 std::span<const Attribute> attrs, const TensorSpec* wanted) {
    return infer(require_op(op), inputs, attrs, wanted);
}

}  // namespace lazuli
