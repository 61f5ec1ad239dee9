// Reductions that are built out of others.

#include <algorithm>
#include <limits>

#include "ops/build.h"
#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/reduction.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

// Attributes of every reduction, and of `var` and `std`.
enum : int { kAxes, kKeepdims, kCorrection };

TensorSpec infer_var(const InferArgs& args) {
    return reduced_spec(args, real_part(args.inputs[0]->dtype));
}
TensorSpec infer_same_type(const InferArgs& args) {
    return reduced_spec(args, args.inputs[0]->dtype);
}
TensorSpec infer_count(const InferArgs& args) { return reduced_spec(args, i64); }

/// How many elements are reduced into one.
Dim count_of(const InferArgs& args) {
    Dim count = 1;
    for (const std::int64_t axis : args.attrs.list(kAxes))
        count = count * args.inputs[0]->shape.dim(static_cast<int>(axis));
    return count;
}

/// Without the axes that were kept for the steps in between.
Value settled(const Value& x, const InferArgs& args) {
    return x.shape() == args.wanted->shape ? x : reshape(x, args.wanted->shape);
}

/// The number of elements less the correction, beside `like`.
Value degrees_of_freedom(const Value& like, const InferArgs& args) {
    const double correction = args.attrs.real(kCorrection);
    const Dim count = count_of(args);
    if (count.is_concrete())
        return constant_like(like, std::max(0.0, static_cast<double>(count.value()) - correction));
    const Value left = number_of(like.builder(), count, f64) - correction;
    return narrowed(maximum(left, constant_like(left, 0)), like.dtype());
}

Value variance(const Value& given, const InferArgs& args) {
    const Axes axes(args.attrs.list(kAxes));
    const Value x = widened(given);
    // Two passes: the mean of the squares less the square of the mean would cancel.
    const Value centred = x - mean(x, axes, true);
    const Value squares =
        is_complex(x.dtype()) ? square(real(centred)) + square(imag(centred)) : square(centred);
    const Value total = sum(squares, axes, args.attrs.boolean(kKeepdims));
    return total / degrees_of_freedom(total, args);
}

Value build_var(ProgramBuilder&, Inputs in, const InferArgs& args) {
    return narrowed(variance(in[0], args), args.wanted->dtype);
}
/// Of elements that are all alike nothing flows back, though the slope of the root is infinite
/// there.
Gradients std_gradient(const GradientArgs& g) {
    const Value y = with_reduced_axes(widened(g.result), g);
    const Value zero = constant_like(y, 0);
    const Value by = select(eq(y, zero), constant_like(y, 1), y) * degrees_of_freedom(y, g.call);
    const Value flow = with_reduced_axes(widened(g.cotangent()), g);
    const Value scale = select(eq(y, zero), zero, flow / by);
    const Value x = widened(g[0]);
    const Value centred = x - mean(x, Axes(g.call.attrs.list(kAxes)), true);
    return {narrowed(centred * narrowed(scale, x.dtype()), g[0].dtype())};
}

Value build_std(ProgramBuilder&, Inputs in, const InferArgs& args) {
    return narrowed(sqrt(variance(in[0], args)), args.wanted->dtype);
}

Value build_logsumexp(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    if (is_empty(args, count_of(args)) || is_empty(args, args.wanted->shape.count()))
        return builder.constant(-inf, *args.wanted);
    const Axes axes(args.attrs.list(kAxes));
    const Value x = widened(in[0]);
    // The largest is taken off, where that leaves a number: inf - inf would be NaN.
    const Value largest = max(x, axes, true);
    const Value shift = select(isfinite(largest), largest, constant_like(x, 0));
    const Value total = log(sum(exp(x - shift), axes, true)) + shift;
    return narrowed(settled(total, args), args.wanted->dtype);
}

Gradients logsumexp_gradient(const GradientArgs& g) {
    if (g[0].shape().count() == Dim(0)) return {{}};
    const Value x = widened(g[0]);
    const Value total = with_reduced_axes(widened(g.result), g);
    // Of infinities: where the total is one, its elements are at no distance from it.
    const Value distance = select(eq(x, total), constant_like(x, 0), x - total);
    const Value flow = with_reduced_axes(widened(g.cotangent()), g);
    return {narrowed(flow * exp(distance), g[0].dtype())};
}

Value build_count_nonzero(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value holds = in[0].dtype() == DType::boolean ? in[0] : cast(in[0], DType::boolean);
    return sum(holds, Axes(args.attrs.list(kAxes)), args.attrs.boolean(kKeepdims));
}

std::vector<AttrDef> var_attrs() {
    std::vector<AttrDef> attrs = reduce_attrs();
    attrs.push_back({"correction", AttrKind::real});
    return attrs;
}

std::vector<Case> var_cases() {
    std::vector<Case> cases = reduce_cases(true);
    for (Case& c : cases) c.attrs.emplace_back(0.0);
    cases.push_back({{{3, 4}}, {Ints{0}, false, 1.0}});
    cases.push_back({{{3, 4}}, {Ints{0, 1}, true, 0.5}});
    return cases;
}

}  // namespace

std::vector<OpDef> statistics() {
    constexpr Trait over_floats = Trait::keep_if_held | Trait::to_float;
    return {
        {
            .name = "var",
            .doc = "Variance over axes (all of them where none are given): the squares of the "
                   "distances to the mean, added and divided by their number less `correction`.",
            .edge = "In two passes. Of complex elements the variance is real. NaN where there is "
                    "no element, or an element is NaN or infinite; a divisor below 0 is 0, and "
                    "gives NaN or inf; inf where the squares leave the range (f16 and bf16: that "
                    "of f32).",
            .traits = over_floats,
            .dtypes = kFloating | kComplex,
            .attrs = var_attrs(),
            .infer = infer_var,
            .implementations = {{.name = "two_pass", .build = build_var}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .cases = var_cases(),
        },
        {
            .name = "std",
            .doc = "Standard deviation over axes (all of them where none are given): the square "
                   "root of `var`.",
            .edge = "As var, squares beyond the range included.",
            .traits = over_floats,
            .dtypes = kFloating | kComplex,
            .attrs = var_attrs(),
            .infer = infer_var,
            .implementations = {{.name = "two_pass", .build = build_std}},
            .gradient = std_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .cases = var_cases(),
        },
        {
            .name = "logsumexp",
            .doc = "Logarithm of the sum of the exponentials over axes (all of them where none are "
                   "given).",
            .edge = "The largest element is subtracted first, so that large values do not "
                    "overflow. -inf of no elements and of -inf alone; inf where an element is inf; "
                    "NaN propagates.",
            .traits = over_floats,
            .dtypes = kFloating,
            .attrs = reduce_attrs(),
            .infer = infer_same_type,
            .implementations = {{.name = "shifted", .build = build_logsumexp}},
            .gradient = logsumexp_gradient,
            .tolerance = {.ulps = 32, .absolute = 1e-6},
            .cases = reduce_cases(true),
        },
        {
            .name = "count_nonzero",
            .doc = "How many elements are not 0 over axes (all of them where none are given), as "
                   "i64.",
            .edge = "Of no elements 0. NaN is not 0, and -0 is.",
            .traits = Trait::keep_if_held,
            .attrs = reduce_attrs(),
            .infer = infer_count,
            .implementations = {{.name = "sum", .build = build_count_nonzero}},
            .sample = {.low = -1, .high = 1},
            .cases = reduce_cases(true),
        },
    };
}

}  // namespace lazuli::ops
