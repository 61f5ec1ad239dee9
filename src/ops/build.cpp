#include "ops/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"

namespace lazuli::ops {

Value activate(const Value& x, Activation f) {
    switch (f) {
        case Activation::none: return x;
        case Activation::relu: return relu(x);
        case Activation::sigmoid: return sigmoid(x);
        case Activation::tanh: return tanh(x);
        case Activation::gelu: return gelu(x);
    }
    __builtin_unreachable();
}

Value part_of_axis(const Value& x, int axis, Dim start, Dim count, std::int64_t step) {
    Ints starts = Shape::filled(x.shape().rank(), 0);
    Ints sizes = x.shape();
    Ints steps = Shape::filled(x.shape().rank(), 1);
    const auto is_at_most = [&](std::int64_t n) { return at_least(n, count) == Truth::yes; };
    starts.set(axis, is_at_most(0) ? Dim(0) : start);
    sizes.set(axis, count);
    steps[axis] = is_at_most(1) ? 1 : step;
    const Attribute attrs[] = {starts, sizes, steps};
    return x.builder().op("slice", {&x, 1}, attrs);
}

Value padded(const Value& x, const Ints& before, const Ints& after, const Scalar& value) {
    const Attribute attrs[] = {before, after, value};
    return x.builder().op("pad", {&x, 1}, attrs);
}

Value joined(std::span<const Value> values, int axis) {
    const Attribute attrs[] = {static_cast<std::int64_t>(axis)};
    return values[0].builder().op("concat", values, attrs);
}

Value positions(ProgramBuilder& builder, const Shape& shape, std::int64_t axis, DType dtype) {
    const TensorSpec spec{dtype, shape};
    const Attribute attrs[] = {axis};
    return builder.op("iota", {}, attrs, &spec);
}

Value with_axis(const Value& x, int axis) {
    Shape shape;
    for (int i = 0; i <= x.shape().rank(); ++i) {
        if (i == axis) shape.push_back(1);
        if (i < x.shape().rank()) shape.push_back(x.shape().dim(i));
    }
    return reshape(x, shape);
}

Value number_of(ProgramBuilder& builder, Dim size, DType dtype) {
    if (size.is_concrete()) return builder.constant(Scalar(size.value()).as(dtype), {dtype, {}});
    return reshape(part_of_axis(positions(builder, {size + 1}, 0, dtype), 0, size, 1), {});
}

bool is_empty(const InferArgs& args, Dim count) {
    if (at_least(count, 1) == Truth::yes) return false;
    if (equal(count, 0) == Truth::yes) return true;
    throw ShapeError(fmt::format("{}: {} elements may be none, which needs another formula (of {})",
                                 args.op.name, count.str(), operands_text(args)),
                     "at least one element", count.str());
}

int axis_of(const InferArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("{}: axis {} is negative", args.op.name, axis));
    return static_cast<int>(ensure_axis(args.op.name, axis, args.inputs[0]->shape));
}

std::string operands_text(const InferArgs& args) {
    std::string out;
    for (const TensorSpec* spec : args.inputs) out += (out.empty() ? "" : ", ") + spec->str();
    return out;
}

void check_one_type(const InferArgs& args, std::size_t from, std::size_t to) {
    for (std::size_t i = from + 1; i < to; ++i) {
        if (args.inputs[i]->dtype != args.inputs[from]->dtype) {
            throw DTypeError(fmt::format("{}: operands have different types: {}", args.op.name,
                                         operands_text(args)));
        }
    }
}

void check_bounds(const InferArgs& args, std::initializer_list<Bounded> values, std::int64_t most,
                  std::optional<int> dimension) {
    for (const Bounded& v : values) {
        if (v.value >= v.least && v.value <= most) continue;
        const bool low = v.value < v.least;
        throw ArgumentError(fmt::format("{}: {} {} must be at {} {}{}: {}", args.op.name, v.name,
                                        v.value, low ? "least" : "most", low ? v.least : most,
                                        dimension ? fmt::format(" (dimension {})", *dimension) : "",
                                        operands_text(args)));
    }
}

bool broadcasts_to(const Shape& from, const Shape& to) {
    const int lead = to.rank() - from.rank();
    if (lead < 0) return false;
    for (int i = 0; i < from.rank(); ++i) {
        const Dim size = from.dim(i);
        if (size != Dim(1) && equal(size, to.dim(lead + i)) != Truth::yes) return false;
    }
    return true;
}

Shape batch_of(const Shape& shape) {
    return Shape(shape.raw().first(static_cast<std::size_t>(std::max(shape.rank() - 2, 0))));
}

Shape joined_batches(std::string_view op, std::span<const Shape* const> operands) {
    Shape batch = batch_of(*operands[0]);
    for (const Shape* operand : operands.subspan(1)) {
        const Shape next = batch_of(*operand);
        if (next == batch) continue;
        try {
            batch = broadcast_shapes(op, batch, next);
        } catch (const ShapeError&) {  // shows the batches alone
            std::string all;
            for (const Shape* shape : operands) all += (all.empty() ? "" : ", ") + shape->str();
            throw ShapeError(fmt::format("{}: batches do not broadcast: {} ({} and {})", op, all,
                                         batch.str(), next.str()),
                             operands[0]->str(), operand->str());
        }
    }
    return batch;
}

}  // namespace lazuli::ops
