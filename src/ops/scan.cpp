// Scans: what a reduction has come to at every position of a line.

#include <cmath>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/lines.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

enum : int { kAxis, kReverse };

TensorSpec infer_summing(const InferArgs& args) {
    (void)checked_axis(args, kAxis);
    return {summed_type(args.inputs[0]->dtype), args.inputs[0]->shape};
}

TensorSpec infer_choosing(const InferArgs& args) {
    (void)checked_axis(args, kAxis);
    return *args.inputs[0];
}

/// Calls f(at, first) for the positions of each line, in the order in which it is scanned.
template <class F>
void for_each_scanned(const EvalArgs& args, F&& f) {
    const Lines lines = lines_of(args.spec->shape, args.attrs.integer(kAxis));
    for (std::int64_t i = 0; i < lines.count(); ++i) {
        for (std::int64_t k = 0; k < lines.size; ++k) {
            const std::int64_t position = args.attrs.boolean(kReverse) ? lines.size - 1 - k : k;
            f(lines.begin(i) + position * lines.inner, k == 0);
        }
    }
}

template <bool Product>
void evaluate_summing(const EvalArgs& args) {
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        const T* in = args.inputs[0].as<T>();
        constexpr bool whole = std::is_integral_v<T>;
        using Total = std::conditional_t<whole, std::uint64_t, Compute<T>>;
        Total total{};
        for_each_scanned(args, [&](std::int64_t at, bool first) {
            const auto element = static_cast<Total>(in[at]);
            total = first ? element : Product ? total * element : total + element;
            if constexpr (whole) {
                args.result<std::uint64_t>()[at] = total;  // i64 and u64 have the same bits
            } else {
                args.result<T>()[at] = convert<T>(total);
            }
        });
    });
}

/// Whether `b` takes the place of `a`: a NaN does and stays, and +0 is larger than -0.
template <bool Largest, class T>
bool replaces(T b, T a) {
    if constexpr (is_real_float_v<T>) {
        const auto x = static_cast<double>(a);
        const auto y = static_cast<double>(b);
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
        if (x == 0 && y == 0) return std::signbit(Largest ? x : y);
        return Largest ? x < y : y < x;
    } else {
        return Largest ? a < b : b < a;
    }
}

template <bool Largest>
void evaluate_choosing(const EvalArgs& args) {
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            T best{};
            for_each_scanned(args, [&](std::int64_t at, bool first) {
                const T element = args.inputs[0].as<T>()[at];
                if (first || replaces<Largest>(element, best)) best = element;
                args.result<T>()[at] = best;
            });
        }
    });
}

std::vector<AttrDef> scan_attrs() {
    return {{"axis", AttrKind::integer}, {"reverse", AttrKind::boolean}};
}

std::vector<Case> scan_cases() {
    return {
        {{{7}}, {std::int64_t{0}, false}},
        {{{7}}, {std::int64_t{0}, true}},
        {{{2, 3, 4}}, {std::int64_t{1}, false}},
        {{{2, 3, 4}}, {std::int64_t{2}, true}},
        {{{5, 3}}, {std::int64_t{0}, true}},
        {{{1}}, {std::int64_t{0}, false}},
        {{{0}}, {std::int64_t{0}, false}},
        {{{3, 0}}, {std::int64_t{0}, true}},
        {{{2, 1, 2, 1, 3, 1, 2}}, {std::int64_t{4}, false}},
    };
}

// ---- gradients

struct Along {
    explicit Along(const GradientArgs& g)
        : axis(static_cast<int>(g.call.attrs.integer(0))), reverse(g.call.attrs.boolean(1)) {}
    int axis;
    bool reverse;
};

Gradients cumsum_gradient(const GradientArgs& g) {
    const Along along(g);
    return {cumsum(g.cotangent(), along.axis, !along.reverse)};
}

/// Products that an element is part of, divided by it. Behind a zero all are 0; the first zero
/// itself gets the products without it, which end at the next one.
Gradients cumprod_gradient(const GradientArgs& g) {
    const Along along(g);
    const Value zero = constant_like(g[0], Scalar(0).as(g[0].dtype()));
    const Value one = constant_like(g[0], Scalar(1).as(g[0].dtype()));
    const Value is_zero = eq(g[0], zero);
    const Value zeros = cumsum(cast(is_zero, i64), along.axis, along.reverse);
    const Value before = eq(zeros, constant_like(zeros, 0));
    const Value behind_one = eq(zeros, constant_like(zeros, 1));
    const Value first = logical_and(is_zero, behind_one);
    const Value without = cumprod(select(first, one, g[0]), along.axis, along.reverse);
    const auto flow = [&](const Value& where, const Value& product) {
        const Value each = select(where, g.cotangent() * conjugate(product), zero);
        return cumsum(each, along.axis, !along.reverse);
    };
    const Value divided = flow(before, g.result) / conjugate(select(is_zero, one, g[0]));
    return {select(before, divided, select(first, flow(behind_one, without), zero))};
}

/// Each goes to the last element that was the largest, or smallest, so far.
Gradients choosing_gradient(const GradientArgs& g) {
    const Along along(g);
    const Value position = positions(g.builder, g[0].shape(), along.axis, i64);
    const Value decides = eq(g[0], g.result);
    const Value last = number_of(g.builder, g[0].shape().dim(along.axis), i64);
    const Value where =
        along.reverse
            ? cummin(select(decides, position, last - 1.0), along.axis, true)
            : cummax(select(decides, position, constant_like(position, 0)), along.axis, false);
    return {scattered(zeros_like(g[0]), g.cotangent(), where, along.axis, Scatter::add)};
}

}  // namespace

std::vector<OpDef> scan() {
    constexpr DTypeSet ordered = kReal | DTypeSet{DType::boolean};
    return {
        {
            .name = "cumsum",
            .doc = "Sums of the elements along an axis up to each position, or from each position "
                   "on where `reverse`; bool and small integers are summed in 64 bits.",
            .edge = "Integers wrap. f16, bf16 and f32 are summed in f64 and rounded once. NaN "
                    "stays from where it comes. A tensor of rank 0 has no axis: an error.",
            .traits = Trait::keep_if_held,
            .attrs = scan_attrs(),
            .infer = infer_summing,
            .evaluate = evaluate_summing<false>,
            .reduction = {.combine = "add"},
            .gradient = cumsum_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-6},
            .cases = scan_cases(),
        },
        {
            .name = "cumprod",
            .doc = "Products of the elements along an axis up to each position, or from each "
                   "position on where `reverse`; bool and small integers are multiplied in 64 "
                   "bits.",
            .edge = "Integers wrap. f16, bf16 and f32 are multiplied in f64 and rounded once. NaN "
                    "stays from where it comes. A tensor of rank 0 has no axis: an error.",
            .traits = Trait::keep_if_held,
            .attrs = scan_attrs(),
            .infer = infer_summing,
            .evaluate = evaluate_summing<true>,
            .reduction = {.combine = "mul"},
            .gradient = cumprod_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-6},
            .cases = scan_cases(),
        },
        {
            .name = "cummax",
            .doc = "The largest element along an axis up to each position, or from each position "
                   "on where `reverse`.",
            .edge = "NaN stays from where it comes. +0 is larger than -0. A tensor of rank 0 has "
                    "no axis: an error.",
            .traits = Trait::keep_if_held,
            .dtypes = ordered,
            .attrs = scan_attrs(),
            .infer = infer_choosing,
            .evaluate = evaluate_choosing<true>,
            .gradient = choosing_gradient,
            .cases = scan_cases(),
        },
        {
            .name = "cummin",
            .doc = "The smallest element along an axis up to each position, or from each position "
                   "on where `reverse`.",
            .edge = "NaN stays from where it comes. -0 is smaller than +0. A tensor of rank 0 has "
                    "no axis: an error.",
            .traits = Trait::keep_if_held,
            .dtypes = ordered,
            .attrs = scan_attrs(),
            .infer = infer_choosing,
            .evaluate = evaluate_choosing<false>,
            .gradient = choosing_gradient,
            .cases = scan_cases(),
        },
    };
}

}  // namespace lazuli::ops
