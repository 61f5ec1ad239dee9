// Elements picked and put by position: along an axis, in boxes, side by side.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/lines.h"
#include "ops/positions.h"
#include "ops/table.h"
#include "ops/values.h"

namespace lazuli::ops {

namespace {

// ---- along an axis

/// The sizes of x and of positions in it agree but along the axis.
void check_beside(const InferArgs& args, const TensorSpec& positions, std::int64_t axis) {
    const Shape& x = args.inputs[0]->shape;
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("{}: {} and positions {} {}", args.op.name,
                                     args.inputs[0]->str(), positions.str(), why),
                         x.str(), positions.shape.str());
    };
    if (x.rank() != positions.shape.rank())
        refuse(fmt::format("differ in rank ({} vs {})", x.rank(), positions.shape.rank()));
    for (int i = 0; i < x.rank(); ++i) {
        const Truth same = equal(x.dim(i), positions.shape.dim(i));
        if (i == axis || same == Truth::yes) continue;
        refuse(fmt::format("{} in dimension {} ({} vs {}), which is not axis {}",
                           same == Truth::no ? "differ" : "may differ", i, x.dim(i).str(),
                           positions.shape.dim(i).str(), axis));
    }
}

TensorSpec infer_take_along_axis(const InferArgs& args) {
    check_beside(args, *args.inputs[1], checked_axis(args, 0));
    return {args.inputs[0]->dtype, args.inputs[1]->shape};
}

void evaluate_take_along_axis(const EvalArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    const Lines from = lines_of(args.inputs[0].spec->shape, axis);
    const Lines to = lines_of(args.spec->shape, axis);
    const std::vector<std::int64_t> positions =
        read_positions(args, args.inputs[1], from.size, axis);
    const std::size_t bytes = size_of(args.spec->dtype);
    for (std::int64_t i = 0; i < to.count(); ++i) {
        for (std::int64_t k = 0; k < to.size; ++k) {
            const std::int64_t at = to.begin(i) + k * to.inner;
            const std::int64_t picked =
                from.begin(i) + positions[static_cast<std::size_t>(at)] * from.inner;
            std::memcpy(args.result<char>() + static_cast<std::size_t>(at) * bytes,
                        args.inputs[0].as<char>() + static_cast<std::size_t>(picked) * bytes,
                        bytes);
        }
    }
}

void check_same_type(const InferArgs& args) {
    if (args.inputs[0]->dtype == args.inputs[1]->dtype) return;
    throw DTypeError(fmt::format("{}: {} and {} differ in type", args.op.name,
                                 args.inputs[0]->str(), args.inputs[1]->str()));
}

TensorSpec infer_scatter(const InferArgs& args) {
    check_same_type(args);
    check_beside(args, *args.inputs[2], checked_axis(args, 0));
    if (!(args.inputs[1]->shape == args.inputs[2]->shape)) {
        throw ShapeError(
            fmt::format("scatter: updates and positions differ in shape: {} and {} (for {})",
                        args.inputs[1]->str(), args.inputs[2]->str(), args.inputs[0]->str()),
            args.inputs[2]->shape.str(), args.inputs[1]->shape.str());
    }
    const auto mode = static_cast<Scatter>(args.attrs.integer(1));
    if (is_complex(args.inputs[0]->dtype) && (mode == Scatter::min || mode == Scatter::max)) {
        throw DTypeError(fmt::format("scatter: {} has no order, and no {}", args.inputs[0]->str(),
                                     kScatterNames[static_cast<std::size_t>(mode)]));
    }
    return *args.inputs[0];
}

void evaluate_scatter(const EvalArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    const auto mode = static_cast<Scatter>(args.attrs.integer(1));
    const Lines to = lines_of(args.spec->shape, axis);
    const Lines from = lines_of(args.inputs[1].spec->shape, axis);
    const std::vector<std::int64_t> positions = read_positions(args, args.inputs[2], to.size, axis);
    dispatch(args.spec->dtype, [&]<class T>() {
        using Total = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;
        const auto count = static_cast<std::size_t>(args.spec->shape.numel());
        std::vector<std::conditional_t<std::is_same_v<Total, bool>, unsigned char, Total>> totals(
            count);
        for (std::size_t i = 0; i < count; ++i)
            totals[i] = static_cast<Total>(args.inputs[0].as<T>()[i]);
        for (std::int64_t i = 0; i < from.count(); ++i) {
            for (std::int64_t k = 0; k < from.size; ++k) {
                const std::int64_t at = from.begin(i) + k * from.inner;
                const auto to_at = static_cast<std::size_t>(
                    to.begin(i) + positions[static_cast<std::size_t>(at)] * to.inner);
                const auto update = static_cast<Total>(args.inputs[1].as<T>()[at]);
                totals[to_at] = scattered<Total>(mode, static_cast<Total>(totals[to_at]), update);
            }
        }
        for (std::size_t i = 0; i < count; ++i)
            args.result<T>()[i] = convert<T>(static_cast<Total>(totals[i]));
    });
}

// ---- boxes

void check_starts(const InferArgs& args, const TensorSpec& starts) {
    if (starts.shape == Shape{args.inputs[0]->shape.rank()}) return;
    throw ShapeError(fmt::format("{}: starts {} for {}: one position a dimension is needed",
                                 args.op.name, starts.str(), args.inputs[0]->str()),
                     Shape{args.inputs[0]->shape.rank()}.str(), starts.shape.str());
}

void check_box(const InferArgs& args, const Shape& box) {
    const Shape& x = args.inputs[0]->shape;
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("{}: a box of {} does not fit into {}: {}", args.op.name,
                                     box.str(), args.inputs[0]->str(), why),
                         x.str(), box.str());
    };
    if (box.rank() != x.rank()) refuse(fmt::format("the rank is {}, not {}", box.rank(), x.rank()));
    for (int i = 0; i < x.rank(); ++i) {
        // What no size can be is a number that a user gave.
        const bool is_size = box.dim(i).is_concrete() || detail::is_expression(box.dim(i).raw());
        if (!is_size || at_least(box.dim(i), 0) != Truth::yes ||
            at_least(x.dim(i), box.dim(i)) != Truth::yes)
            refuse(fmt::format("size {} of dimension {} must be from 0 to {}",
                               is_size ? box.dim(i).str() : fmt::format("{}", box[i]), i,
                               x.dim(i).str()));
    }
}

TensorSpec infer_dynamic_slice(const InferArgs& args) {
    check_starts(args, *args.inputs[1]);
    const Ints sizes = args.attrs.list(0);
    check_box(args, sizes);
    return {args.inputs[0]->dtype, sizes};
}

void evaluate_dynamic_slice(const EvalArgs& args) {
    const Shape& x = args.inputs[0].spec->shape;
    const std::int64_t first = box_offset(args.inputs[1], x, args.spec->shape);
    const std::size_t bytes = size_of(args.spec->dtype);
    for_each_offset(args.spec->shape, dense_strides(x), [&](std::int64_t i, std::int64_t at) {
        std::memcpy(args.result<char>() + static_cast<std::size_t>(i) * bytes,
                    args.inputs[0].as<char>() + static_cast<std::size_t>(first + at) * bytes,
                    bytes);
    });
}

TensorSpec infer_dynamic_update_slice(const InferArgs& args) {
    check_same_type(args);
    check_starts(args, *args.inputs[2]);
    check_box(args, args.inputs[1]->shape);
    return *args.inputs[0];
}

void evaluate_dynamic_update_slice(const EvalArgs& args) {
    const Shape& x = args.spec->shape;
    const Shape& box = args.inputs[1].spec->shape;
    const std::size_t bytes = size_of(args.spec->dtype);
    if (x.numel() > 0 && args.out != args.inputs[0].data)
        std::memcpy(args.out, args.inputs[0].data, static_cast<std::size_t>(args.spec->nbytes()));
    const std::int64_t first = box_offset(args.inputs[2], x, box);
    for_each_offset(box, dense_strides(x), [&](std::int64_t i, std::int64_t at) {
        std::memcpy(args.result<char>() + static_cast<std::size_t>(first + at) * bytes,
                    args.inputs[1].as<char>() + static_cast<std::size_t>(i) * bytes, bytes);
    });
}

// ---- blit: where the box lies is known, so it is a choice between two views

/// Whether `count` elements every `step` from `start` on lie inside of an axis of this size.
bool lies_inside(std::int64_t size, std::int64_t start, std::int64_t step, std::int64_t count) {
    if (start < 0) return false;
    if (count == 0) return true;
    // What is left of the axis in the direction of the step holds the other elements.
    const std::int64_t left = step > 0 ? size - 1 - start : start;
    const std::uint64_t distance =
        step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
    return start < size &&
           static_cast<std::uint64_t>(left) / distance >= static_cast<std::uint64_t>(count - 1);
}

/// The same, whatever the variables are.
bool lies_inside(Dim size, std::int64_t start, std::int64_t step, Dim count) {
    if (size.is_concrete() && count.is_concrete())
        return lies_inside(size.value(), start, step, count.value());
    if (start < 0 || count == Dim(0)) return start >= 0;
    const Dim reach = (count - 1) * step;
    const bool any = at_least(count, 1) == Truth::yes;
    return any && at_least(step > 0 ? start : reach + start, 0) == Truth::yes &&
           less(step > 0 ? reach + start : Dim(start), size) == Truth::yes;
}

TensorSpec infer_blit(const InferArgs& args) {
    const Shape& x = args.inputs[0]->shape;
    const Shape& box = args.inputs[1]->shape;
    const Ints starts = args.attrs.list(0);
    const Ints steps = args.attrs.list(1);
    check_same_type(args);
    const auto wrong = [&](const std::string& why) {
        return fmt::format("blit: {} does not fit into {} from {} in steps of {}: {}",
                           args.inputs[1]->str(), args.inputs[0]->str(), starts.str(), steps.str(),
                           why);
    };
    const int rank = x.rank();
    if (box.rank() != rank || starts.rank() != rank || steps.rank() != rank) {
        throw ShapeError(wrong(fmt::format("all need {} dimensions", rank)), x.str(), box.str());
    }
    for (int i = 0; i < rank; ++i) {
        if (steps[i] == 0)
            throw ArgumentError(wrong(fmt::format("the step of dimension {} is 0", i)));
        if (!lies_inside(x.dim(i), starts[i], steps[i], box.dim(i))) {
            throw ShapeError(
                wrong(fmt::format(
                    "dimension {} {} left, of {} elements", i,
                    x.dim(i).is_concrete() && box.dim(i).is_concrete() ? "is" : "may be",
                    x.dim(i).str())),
                x.str(), box.str());
        }
    }
    return *args.inputs[0];
}

Value move(ProgramBuilder& builder, std::string_view op, const Value& x,
           const std::vector<Attribute>& attrs, const Shape& shape) {
    const TensorSpec wanted{x.dtype(), shape};
    return builder.op(op, {&x, 1}, attrs, &wanted);
}

/// A value spread out over x: elements at their places, `fill` in between and around.
Value spread(ProgramBuilder& builder, Value v, const Shape& x, Ints starts, const Ints& steps,
             const Scalar& fill) {
    const int rank = x.rank();
    const auto pad = [&](const Value& of, const Ints& before, const Ints& after) {
        Shape shape = of.shape();
        for (int i = 0; i < shape.rank(); ++i)
            shape.set(i, shape.dim(i) + before.dim(i) + after.dim(i));
        return move(builder, "pad", of, {before, after, fill}, shape);
    };
    for (int i = 0; i < rank; ++i) {
        const Dim n = v.shape().dim(i);
        if (at_least(1, n) == Truth::yes) continue;
        if (steps[i] < 0) {
            starts.set(i, starts.dim(i) + (n - 1) * steps[i]);
            v = move(builder, "flip", v, {Ints{i}}, v.shape());
        }
        const std::int64_t step = std::abs(steps[i]);
        if (step == 1) continue;
        // Each element as a row of `step`, and the last row's filling taken away again.
        Shape split;
        for (int d = 0; d < rank; ++d) {
            split.push_back(v.shape().dim(d));
            if (d == i) split.push_back(1);
        }
        Ints none = Shape::filled(rank + 1, 0);
        Ints after = none;
        after[i + 1] = step - 1;
        Value rows = pad(move(builder, "reshape", v, {}, split), none, after);
        Shape joined = v.shape();
        joined.set(i, n * step);
        rows = move(builder, "reshape", rows, {}, joined);
        Ints cut = Shape::filled(rank, 0);
        cut[i] = 1 - step;
        v = pad(rows, Shape::filled(rank, 0), cut);
    }
    Ints after = Shape::filled(rank, 0);
    for (int i = 0; i < rank; ++i) after.set(i, x.dim(i) - starts.dim(i) - v.shape().dim(i));
    return pad(v, starts, after);
}

Value build_blit(ProgramBuilder& builder, std::span<const Value> in, const InferArgs& args) {
    if (in[1].shape().count() == Dim(0)) return in[0];
    const Shape x = in[0].shape();  // a copy: values move while operations are added
    const Ints starts = args.attrs.list(0);
    const Ints steps = args.attrs.list(1);
    const Value there = builder.constant(true, {DType::boolean, in[1].shape()});
    return select(spread(builder, there, x, starts, steps, false),
                  spread(builder, in[1], x, starts, steps, 0), in[0]);
}

// ---- stack

TensorSpec infer_stack(const InferArgs& args) {
    const TensorSpec& first = *args.inputs[0];
    const std::int64_t axis = args.attrs.integer(0);
    Shape wide = first.shape;
    wide.push_back(1);
    if (axis < 0) throw IndexError(fmt::format("stack: axis {} is negative", axis));
    (void)ensure_new_axis("stack", axis, first.shape);
    for (const TensorSpec* spec : args.inputs) {
        if (spec->dtype != first.dtype)
            throw DTypeError(fmt::format("stack: operands have different types: {} and {}",
                                         first.str(), spec->str()));
        if (spec->shape == first.shape) continue;
        throw ShapeError(fmt::format("stack: {} and {} differ in shape", first.str(), spec->str()),
                         first.shape.str(), spec->shape.str());
    }
    const auto count = static_cast<std::int64_t>(args.inputs.size());
    std::rotate(wide.begin() + axis, wide.end() - 1, wide.end());
    wide[static_cast<int>(axis)] = count;
    return {first.dtype, wide};
}

Value build_stack(ProgramBuilder& builder, std::span<const Value> in, const InferArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    Shape wide = in[0].shape();
    wide.push_back(1);
    std::rotate(wide.begin() + axis, wide.end() - 1, wide.end());
    std::vector<Value> parts;
    for (const Value& x : in) parts.push_back(move(builder, "reshape", x, {}, wide));
    const Attribute attrs[] = {axis};
    return builder.op("concat", parts, attrs);
}

// ---- gradients

Gradients take_along_axis_gradient(const GradientArgs& g) {
    const int axis = static_cast<int>(g.call.attrs.integer(0));
    return {scattered(zeros_like(g[0]), g.cotangent(), g[1], axis, Scatter::add), {}};
}

/// Of several updates of one position the last one stays.
Gradients set_gradient(const GradientArgs& g, int axis) {
    const Value untouched = scattered(g.cotangent(), zeros_like(g[1]), g[2], axis, Scatter::set);
    const Value number = positions(g.builder, g[1].shape(), axis, i64);
    const TensorSpec counts{i64, g[0].shape()};
    const Value last =
        scattered(g.builder.constant(std::int64_t{-1}, counts), number, g[2], axis, Scatter::set);
    const Value stays = eq(take_along_axis(last, g[2], axis), number);
    const Value there = take_along_axis(g.cotangent(), g[2], axis);
    return {untouched, select(stays, there, zeros_like(there))};
}

/// Each factor gets the product of the others of its position, which holds beside zeros too.
Gradients mul_gradient(const GradientArgs& g, int axis) {
    const DType dtype = g[0].dtype();
    const Value zero = constant_like(g[0], Scalar(0).as(dtype));
    const Value one = constant_like(g[0], Scalar(1).as(dtype));
    const Value is_zero = eq(g[1], zero);
    const Value factors = select(is_zero, one, g[1]);
    const Value ones = g.builder.constant(Scalar(1).as(dtype), g[0].spec());
    const Value zeros_there = take_along_axis(
        scattered(zeros_like(g[0]), cast(is_zero, dtype), g[2], axis, Scatter::add), g[2], axis);
    const Value product =
        take_along_axis(scattered(g[0], factors, g[2], axis, Scatter::mul), g[2], axis);
    const Value others = select(is_zero, select(eq(zeros_there, one), product, zero),
                                select(eq(zeros_there, zero), product / factors, zero));
    return {g.cotangent() * conjugate(scattered(ones, g[1], g[2], axis, Scatter::mul)),
            take_along_axis(g.cotangent(), g[2], axis) * conjugate(others)};
}

/// Those that are the smallest, or largest, of their position share it alike.
Gradients choice_gradient(const GradientArgs& g, int axis) {
    const DType dtype = g[0].dtype();
    const Value kept = cast(eq(g[0], g.result), dtype);
    const Value chosen = cast(eq(g[1], take_along_axis(g.result, g[2], axis)), dtype);
    const Value share = g.cotangent() / scattered(kept, chosen, g[2], axis, Scatter::add);
    return {kept * share, chosen * take_along_axis(share, g[2], axis)};
}

Gradients scatter_gradient(const GradientArgs& g) {
    const int axis = static_cast<int>(g.call.attrs.integer(0));
    std::vector<Value> out;
    switch (static_cast<Scatter>(g.call.attrs.integer(1))) {
        case Scatter::set: out = set_gradient(g, axis); break;
        case Scatter::add: out = {g.cotangent(), take_along_axis(g.cotangent(), g[2], axis)}; break;
        case Scatter::mul: out = mul_gradient(g, axis); break;
        case Scatter::min:
        case Scatter::max: out = choice_gradient(g, axis); break;
    }
    out.push_back({});
    return out;
}

Gradients dynamic_slice_gradient(const GradientArgs& g) {
    return {dynamic_update_slice(zeros_like(g[0]), g.cotangent(), g[1]), {}};
}
Gradients dynamic_update_slice_gradient(const GradientArgs& g) {
    const Value operands[] = {g.cotangent(), g[2]};
    const Attribute sizes[] = {Ints(g[1].shape())};
    return {dynamic_update_slice(g.cotangent(), zeros_like(g[1]), g[2]),
            g.builder.op("dynamic_slice", operands, sizes),
            {}};
}

}  // namespace

std::vector<OpDef> placing() {
    return {
        {
            .name = "take_along_axis",
            .doc = "For every position, the element of the first operand at the same position but "
                   "along an axis, where a tensor of integers says; negative ones count from the "
                   "end.",
            .edge = "A position outside the axis is an execution error that names it. A tensor of "
                    "rank 0 has no axis: an error. Bits are taken as they are.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held,
            .dtypes = kIntegers,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_take_along_axis,
            .evaluate = evaluate_take_along_axis,
            .gradient = take_along_axis_gradient,
            .sample = {.low = -2, .high = 1},
            .cases = {{{{4, 3}, {2, 3}}, {std::int64_t{0}}},
                      {{{2, 5}, {2, 7}}, {std::int64_t{1}}},
                      {{{2, 3, 4}, {2, 6, 4}}, {std::int64_t{1}}},
                      {{{2}, {1}}, {std::int64_t{0}}},
                      {{{3}, {0}}, {std::int64_t{0}}},
                      {{{0, 3}, {0, 2}}, {std::int64_t{1}}}},
        },
        {
            .name = "scatter",
            .doc = "The first operand with updates put along an axis where a tensor of integers "
                   "says, or added, multiplied, or taken as minimum or maximum; negative positions "
                   "count from the end.",
            .edge = "A position that comes several times is updated in order: the last one is set. "
                    "Integers wrap. f16, bf16 and f32 are computed in f64 and rounded once. min "
                    "and max are NaN where one is, and -0 is smaller than 0. A position outside "
                    "the axis is an execution error that names it.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::keep_if_held,
            .dtypes = kIntegers,
            .attrs = {{"axis", AttrKind::integer}, {"mode", AttrKind::choice, kScatterNames}},
            .infer = infer_scatter,
            .evaluate = evaluate_scatter,
            .gradient = scatter_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-6},
            .sample = {.low = -2, .high = 1},
            .cases = {{{{4, 3}, {6, 3}, {6, 3}}, {std::int64_t{0}, std::string("set")}},
                      {{{2, 5}, {2, 9}, {2, 9}}, {std::int64_t{1}, std::string("add")}},
                      {{{2, 3, 4}, {2, 6, 4}, {2, 6, 4}}, {std::int64_t{1}, std::string("mul")}},
                      {{{5}, {9}, {9}}, {std::int64_t{0}, std::string("min")}},
                      {{{5}, {9}, {9}}, {std::int64_t{0}, std::string("max")}},
                      {{{2}, {1}, {1}}, {std::int64_t{0}, std::string("set")}},
                      {{{3}, {0}, {0}}, {std::int64_t{0}, std::string("add")}},
                      {{{0, 3}, {0, 2}, {0, 2}}, {std::int64_t{1}, std::string("set")}}},
        },
        {
            .name = "dynamic_slice",
            .doc = "A box of the first operand, whose sizes are given and whose first position is "
                   "a tensor of integers, one a dimension.",
            .edge = "A negative position counts from the end; then each is brought to where the "
                    "whole box lies inside.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held,
            .dtypes = kIntegers,
            .attrs = {{"sizes", AttrKind::ints}},
            .infer = infer_dynamic_slice,
            .evaluate = evaluate_dynamic_slice,
            .gradient = dynamic_slice_gradient,
            .sample = {.low = -3, .high = 6},
            .cases = {{{{4, 6}, {2}}, {Ints{2, 3}}},
                      {{{7}, {1}}, {Ints{3}}},
                      {{{2, 3, 4}, {3}}, {Ints{2, 1, 4}}},
                      {{{}, {0}}, {Ints{}}},
                      {{{3, 4}, {2}}, {Ints{0, 2}}},
                      {{{0, 2}, {2}}, {Ints{0, 1}}}},
        },
        {
            .name = "dynamic_update_slice",
            .doc = "The first operand with the second put into a box of it, whose first position "
                   "is a tensor of integers, one a dimension.",
            .edge = "A negative position counts from the end; then each is brought to where the "
                    "whole box lies inside.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::keep_if_held | Trait::updates,
            .dtypes = kIntegers,
            .infer = infer_dynamic_update_slice,
            .evaluate = evaluate_dynamic_update_slice,
            .gradient = dynamic_update_slice_gradient,
            .sample = {.low = -3, .high = 6},
            .cases = {{{{4, 6}, {2, 3}, {2}}, {}},
                      {{{7}, {3}, {1}}, {}},
                      {{{2, 3, 4}, {2, 1, 4}, {3}}, {}},
                      {{{}, {}, {0}}, {}},
                      {{{3, 4}, {0, 2}, {2}}, {}},
                      {{{0, 2}, {0, 1}, {2}}, {}}},
        },
        {
            .name = "blit",
            .doc = "The first operand with the second put into it: from a position on, and every "
                   "so many steps along each dimension.",
            .edge = "Nothing may lie outside. A negative step goes backwards. Of nothing to be put "
                    "the first operand.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::promotes,
            .attrs = {{"starts", AttrKind::ints}, {"steps", AttrKind::ints}},
            .infer = infer_blit,
            .implementations = {{.name = "select", .build = build_blit}},
            .cases = {{{{4, 6}, {2, 3}}, {Ints{1, 2}, Ints{1, 1}}},
                      {{{9}, {3}}, {Ints{1}, Ints{3}}},
                      {{{9}, {3}}, {Ints{8}, Ints{-4}}},
                      {{{5, 7}, {3, 2}}, {Ints{0, 6}, Ints{2, -3}}},
                      {{{}, {}}, {Ints{}, Ints{}}},
                      {{{1}, {1}}, {Ints{0}, Ints{1}}},
                      {{{3}, {0}}, {Ints{0}, Ints{1}}},
                      {{{0, 2}, {0, 1}}, {Ints{0, 1}, Ints{1, 1}}}},
        },
        {
            .name = "stack",
            .doc = "Tensors joined along a new axis.",
            .edge = "Bits are taken as they are.",
            .min_inputs = 1,
            .max_inputs = -1,
            .traits = Trait::promotes,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_stack,
            .implementations = {{.name = "concat", .build = build_stack}},
            .cases = {{{{2, 3}, {2, 3}}, {std::int64_t{0}}},
                      {{{2, 3}, {2, 3}, {2, 3}}, {std::int64_t{1}}},
                      {{{2, 3}, {2, 3}}, {std::int64_t{2}}},
                      {{{}, {}}, {std::int64_t{0}}},
                      {{{4}}, {std::int64_t{1}}},
                      {{{0, 2}, {0, 2}}, {std::int64_t{1}}}},
        },
    };
}

}  // namespace lazuli::ops
