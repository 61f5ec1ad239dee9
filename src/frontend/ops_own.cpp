// Ops whose arguments need more work than the general body does.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/record.h"
#include "ir/placement.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "ops/lines.h"

namespace lazuli {

using frontend::Call;
using frontend::OpRef;

namespace {

/// The shape of an operand that must be a tensor.
const Shape& shape_of(std::string_view op, const Operand& x) {
    if (x.is_scalar()) throw ArgumentError(fmt::format("{}: a tensor is needed, not a number", op));
    if (x.node() == nullptr)
        throw ArgumentError(fmt::format("{}: an operand is an empty Tensor", op));
    return static_cast<const ir::Node*>(x.node())->spec.shape;
}

/// Entry `i` of a list of positions. Far beyond all sizes it makes no difference how far, and sums
/// stay within 64 bits.
Dim position_at(const Ints& list, int i) {
    const std::int64_t raw = list.raw()[static_cast<std::size_t>(i)];
    if (detail::is_expression(raw)) return Dim::from_raw(raw);
    constexpr std::int64_t kFar = std::int64_t{1} << 61;
    return std::clamp(raw, -kFar, kFar);
}

/// min and max, in the simpler form where one is known not to be it.
Dim at_most(Dim a, Dim b) {
    if (at_least(b, a) == Truth::yes) return a;
    return at_least(a, b) == Truth::yes ? b : min(a, b);
}
Dim not_below(Dim a, Dim b) { return at_least(a, b) == Truth::yes ? a : max(a, b); }

/// numpy's rule for a range along an axis whose size, or whose ends, are expressions.
class SymbolicRange {
   public:
    SymbolicRange(Dim size, Dim start, Dim stop, std::int64_t step)
        : size_(size), forward_(step > 0), start_(position(start)), step_(step) {
        const Dim end = position(stop);
        const Dim span = not_below(forward_ ? end - start_ : start_ - end, 0);
        const Dim stride = forward_ ? Dim(step) : Dim(0) - Dim(step);
        count_ = step == 1 || step == -1 ? span : (span + stride - 1) / stride;
    }
    Dim start() const { return count_ == Dim(0) ? Dim(0) : start_; }
    Dim count() const { return count_; }
    std::int64_t step() const { return count_ == Dim(0) || count_ == Dim(1) ? 1 : step_; }

   private:
    /// A position that may count from the end, cut to the ends.
    Dim position(Dim p) const {
        const Dim low = forward_ ? 0 : -1;
        const Dim high = forward_ ? size_ : size_ - 1;
        if (at_least(p, 0) == Truth::yes) return at_most(p, high);
        // Written as the size less a minimum, so that a range up to the end has that many.
        if (less(p, 0) == Truth::yes) return size_ - at_most(Dim(0) - p, size_ - low);
        throw ArgumentError(fmt::format(
            "slice: whether the position {} counts from the end depends on the sizes", p.str()));
    }

    Dim size_;
    bool forward_;
    Dim start_;
    Dim count_;
    std::int64_t step_;
};

bool are_numbers(const Ints& list) {
    return list.is_concrete() || std::ranges::none_of(list.raw(), [](std::int64_t raw) {
               return detail::is_expression(raw);
           });
}

}  // namespace

Tensor slice(const Operand& x, const Ints& starts, const Ints& stops, const Ints& steps) {
    static const OpRef op("slice");
    const Shape& shape = shape_of("slice", x);
    const int rank = shape.rank();
    if (starts.rank() != rank || stops.rank() != rank || (!steps.empty() && steps.rank() != rank)) {
        throw ShapeError(
            fmt::format("slice: starts {}, stops {} and steps {} need one entry a dimension of {}",
                        starts.str(), stops.str(), steps.str(), shape.str()),
            shape.str(), starts.str());
    }
    // numpy's rule: negative positions count from the end, then everything is cut to the ends.
    Call call(op);
    call.arg(x);
    std::uint64_t* list[3];  // the first position, their number and the step of each dimension
    for (std::uint64_t*& words : list) {
        words = call.words().room(1 + rank);
        *words++ = static_cast<std::uint64_t>(rank);
    }
    const bool numbers = shape.is_concrete() && are_numbers(starts) && are_numbers(stops);
    for (int i = 0; i < rank; ++i) {
        const std::int64_t step = steps.empty() ? 1 : steps[i];
        if (step == 0) {
            throw ArgumentError(fmt::format("slice: step 0 in dimension {} of {} (steps {})", i,
                                            shape.str(), steps.str()));
        }
        if (!numbers) {
            const SymbolicRange range(shape.dim(i), position_at(starts, i), position_at(stops, i),
                                      step);
            list[0][i] = static_cast<std::uint64_t>(range.start().raw());
            list[1][i] = static_cast<std::uint64_t>(range.count().raw());
            list[2][i] = static_cast<std::uint64_t>(range.step());
            continue;
        }
        const std::int64_t size = shape[i];
        const std::int64_t low = step > 0 ? 0 : -1;
        const std::int64_t high = step > 0 ? size : size - 1;
        const auto position = [&](std::int64_t p) {
            return std::clamp(p < 0 && p >= -size ? p + size : p < -size ? low : p, low, high);
        };
        const std::int64_t start = position(starts[i]);
        const std::int64_t stop = position(stops[i]);
        const std::int64_t span = step > 0 ? stop - start : start - stop;
        std::int64_t count = std::max<std::int64_t>(span, 0);
        if (step != 1 && span > 0) {
            const std::uint64_t stride =
                step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
            count = static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / stride) + 1;
        }
        // One form a box: where the step is never taken it is 1, where the box is empty it starts
        // at 0.
        list[0][i] = static_cast<std::uint64_t>(count > 0 ? start : 0);
        list[1][i] = static_cast<std::uint64_t>(count);
        list[2][i] = static_cast<std::uint64_t>(count > 1 ? step : 1);
    }
    return call.done();
}

Tensor pad(const Operand& x, const Ints& before, const Ints& after, Scalar value) {
    static const OpRef op("pad");
    Call call(op);
    call.arg(x);
    call.words().ints(before.raw());
    call.words().ints(after.raw());
    call.words().scalar(value);
    return call.done();
}

Tensor tile(const Operand& x, const Ints& counts) {
    static const OpRef op("tile");
    Call call(op);
    call.arg(x);
    call.words().ints(counts.dims());
    return call.done();
}

Tensor contiguous(const Operand& x) {
    static const OpRef op("contiguous");
    if (!x.is_scalar() && x.node() != nullptr) {
        const auto& node = *static_cast<ir::Node*>(x.node());
        const bool as_it_lies =
            !node.is_view() ||
            ir::placement_of(node.words(), node.spec.shape).tracker.is_contiguous();
        if (as_it_lies) return Tensor::adopt(x.take());
    }
    return frontend::record_unary(op, x);
}

Tensor dot_general(const Operand& x, const Operand& y, const Axes& lhs_contract,
                   const Axes& rhs_contract, const Axes& lhs_batch, const Axes& rhs_batch) {
    static const OpRef op("dot_general");
    // No axes means none, not all.
    const auto counted = [](const Operand& side, const Axes& axes) {
        return ensure_axes("dot_general", Axes(axes.values), shape_of("dot_general", side));
    };
    Call call(op);
    call.arg(x).arg(y);
    call.words().axes(counted(x, lhs_contract).dims());
    call.words().axes(counted(y, rhs_contract).dims());
    call.words().axes(counted(x, lhs_batch).dims());
    call.words().axes(counted(y, rhs_batch).dims());
    return call.done();
}

Tensor convolution(const Operand& x, const Operand& weight, const Ints& strides,
                   const Ints& padding, const Ints& dilation, std::int64_t groups) {
    static const OpRef op("convolution");
    const int dims = std::max(shape_of("convolution", x).rank() - 2, 0);
    const Ints ones = Shape::filled(dims, 1);
    // Padding of one entry a dimension is that of both ends.
    Ints both = padding.empty() ? Shape::filled(2 * dims, 0) : padding;
    if (padding.rank() == dims) {
        for (int d = 0; d < dims; ++d) both.push_back(padding[d]);
    }
    Call call(op);
    call.arg(x).arg(weight);
    call.words().ints(strides.empty() ? ones.dims() : strides.dims());
    call.words().ints(both.dims());
    call.words().ints(dilation.empty() ? ones.dims() : dilation.dims());
    call.words().integer(groups);
    return call.done();
}

Tensor attention(const Operand& x, const Operand& keys, const Operand& values, const Tensor& mask,
                 double scale, bool causal) {
    static const OpRef op("attention");
    // A mask of truth values says what may be seen; it has no say in the result's type.
    Tensor added = mask;
    if (mask.defined() && mask.dtype() == DType::boolean) {
        (void)shape_of("attention", x);
        const DType type = static_cast<const ir::Node*>(x.node())->spec.dtype;
        const double hidden = -std::numeric_limits<double>::infinity();
        added = select(mask, 0.0, hidden).cast(is_floating(type) ? type : DType::f32);
    }
    const Operand last(added);
    Call call(op);
    call.arg(x).arg(keys).arg(values);
    if (mask.defined()) call.arg(last);
    call.words().real(scale);
    call.words().boolean(causal);
    return call.done();
}

Tensor concat(std::span<const Tensor> tensors, Axis axis) {
    static const OpRef op("concat");
    if (tensors.empty()) throw ArgumentError("concat: no tensors given");
    AttrWords words;
    words.integer(
        ensure_axis("concat", axis, frontend::require_node("concat", tensors[0]).spec.shape));
    return frontend::record_list(op, tensors, words.words(), nullptr);
}

Tensor iota(Shape shape, Axis axis, DType dtype) {
    static const OpRef op("iota");
    const TensorSpec wanted{dtype, std::move(shape)};
    AttrWords words;
    words.integer(ensure_axis("iota", axis, wanted.shape));
    return frontend::record_list(op, {}, words.words(), &wanted);
}

Tensor custom_call(std::string_view target, std::span<const Tensor> inputs, TensorSpec result) {
    static const OpRef op("custom_call");
    AttrWords words;
    words.text(target);
    return frontend::record_list(op, inputs, words.words(), &result);
}

Tensor call(std::string_view name, std::span<const Tensor> inputs,
            std::span<const Attribute> attributes, const TensorSpec* wanted) {
    const OpRef op(name);
    if (has(op.def->traits, Trait::leaf))
        throw ArgumentError(fmt::format("call: '{}' is a leaf, not an operation", name));
    if (attributes.size() != op.def->attrs.size()) {
        throw ArgumentError(fmt::format("{}: takes {} attributes, {} given", name,
                                        op.def->attrs.size(), attributes.size()));
    }
    AttrWords words;
    for (std::size_t i = 0; i < attributes.size(); ++i)
        words.append(name, op.def->attrs[i], attributes[i]);
    return frontend::record_list(op, inputs, words.words(), wanted);
}

namespace {

/// Which operations the results stand on.
std::vector<bool> needed_operations(const Program& program) {
    std::vector<bool> needed(program.size(), false);
    const auto mark = [&](ValueRef v) {
        if (!v.is_param()) needed[v.index()] = true;
    };
    for (const ProgramResult& result : program.results()) mark(result.value);
    for (std::size_t i = program.size(); i > 0; --i) {
        if (!needed[i - 1]) continue;
        const Operation operation = program.operation(i - 1);
        for (std::size_t k = 0; k < operation.input_count(); ++k) mark(operation.input(k));
    }
    return needed;
}

}  // namespace

std::vector<Tensor> record(const Program& program, std::span<const Tensor> params) {
    if (params.size() != program.params().size()) {
        throw ArgumentError(fmt::format("record: the program has {} parameters, {} given",
                                        program.params().size(), params.size()));
    }
    for (std::size_t i = 0; i < params.size(); ++i) {
        const TensorSpec& given = frontend::require_node("record", params[i]).spec;
        const Param& param = program.params()[i];
        if (!(given == param.spec)) {
            throw ShapeError(fmt::format("record: the parameter {} is {}, given {}", param.name,
                                         param.spec.str(), given.str()),
                             param.spec.str(), given.str());
        }
    }
    std::vector<Tensor> values;
    const auto value = [&](ValueRef v) {
        return v.is_param() ? params[v.index()] : values[v.index()];
    };
    std::vector<Tensor> inputs;
    std::optional<Device> home;
    if (!params.empty()) home = params[0].device();
    const std::vector<bool> needed = needed_operations(program);
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (!needed[i]) {
            values.emplace_back();
            continue;
        }
        const Operation operation = program.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(value(operation.input(k)));
        const TensorSpec spec = operation.spec();
        const OpRef op(operation.op());
        values.push_back(frontend::record_list(op, inputs, operation.attrs().words(), &spec, home));
    }
    std::vector<Tensor> results;
    for (const ProgramResult& result : program.results()) results.push_back(value(result.value));
    return results;
}

Tensor where(const Operand& condition, const Operand& x, const Operand& y) {
    return select(condition, x, y);
}

Tensor Tensor::transpose() const {
    Ints axes;
    for (int i = rank() - 1; i >= 0; --i) axes.push_back(i);
    return permute(Axes(axes));
}

Tensor Tensor::transpose(Axis a, Axis b) const {
    const std::int64_t first = ensure_axis("transpose", a, shape());
    const std::int64_t second = ensure_axis("transpose", b, shape());
    Ints axes;
    for (int i = 0; i < rank(); ++i) axes.push_back(i == first ? second : i == second ? first : i);
    return permute(Axes(axes));
}

Tensor Tensor::move_axis(Axis from, Axis to) const {
    const std::int64_t source = ensure_axis("move_axis", from, shape());
    const std::int64_t target = ensure_axis("move_axis", to, shape());
    Ints axes;
    for (int i = 0; i < rank(); ++i) {
        if (i != source) axes.push_back(i);
    }
    axes.push_back(source);
    std::rotate(axes.begin() + target, axes.end() - 1, axes.end());
    return permute(Axes(axes));
}

Tensor Tensor::squeeze(Axes axes) const {
    const Ints gone = ensure_axes("squeeze", axes, shape());
    Shape left;
    for (int i = 0; i < rank(); ++i) {
        const bool named = std::find(gone.begin(), gone.end(), i) != gone.end();
        const Dim size = shape().dim(i);
        const Truth single = equal(size, 1);
        if (named && (axes.given ? single != Truth::yes : single == Truth::depends)) {
            throw ShapeError(
                fmt::format("squeeze: axis {} of {} has size {}, {} 1", i, shape().str(),
                            size.str(), single == Truth::no ? "not" : "which need not be"),
                "1", size.str());
        }
        if (!named || single != Truth::yes) left.push_back(size);
    }
    return reshape(left);
}

Tensor Tensor::unsqueeze(Axis axis) const {
    const std::int64_t at = ops::ensure_new_axis("unsqueeze", axis, shape());
    Shape wide = shape();
    wide.push_back(1);
    std::rotate(wide.begin() + at, wide.end() - 1, wide.end());
    return reshape(wide);
}

Tensor Tensor::flatten(Axis first, Axis last) const {
    if (rank() == 0) return reshape({1});
    const std::int64_t from = ensure_axis("flatten", first, shape());
    const std::int64_t to = ensure_axis("flatten", last, shape());
    if (from > to)
        throw IndexError(
            fmt::format("flatten: axis {} lies behind {} in {}", from, to, shape().str()));
    Shape joined;
    for (int i = 0; i < rank(); ++i) {
        if (i > from && i <= to) {
            joined.set(joined.rank() - 1, joined.dim(joined.rank() - 1) * shape().dim(i));
        } else {
            joined.push_back(shape().dim(i));
        }
    }
    return reshape(joined);
}

std::vector<Tensor> Tensor::split(std::int64_t size, Axis axis) const {
    const int at = static_cast<int>(ensure_axis("split", axis, shape()));
    if (size < 1)
        throw ArgumentError(
            fmt::format("split: parts of {} along axis {} of {}", size, at, shape().str()));
    std::vector<Tensor> parts;
    Ints starts = Shape::filled(rank(), 0);
    Ints stops = shape();
    for (std::int64_t from = 0; from < shape()[at]; from += size) {
        starts[at] = from;
        stops[at] = std::min(from + size, shape()[at]);
        parts.push_back(slice(starts, stops));
    }
    return parts;
}

}  // namespace lazuli
