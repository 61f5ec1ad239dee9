// Functions of elements that come up less often.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/maths.h"
#include "ops/table.h"
#include "ops/values.h"

namespace lazuli::ops {

namespace {

/// Newton's steps, of third order, from what holds far out or near 0.
double erfinv(double x) {
    const double size = std::fabs(x);
    if (!(size < 1)) {
        if (size == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (x == 0) return x;
    // Winitzki's approximation, good to 2 parts in 1000.
    constexpr double a = 0.147;
    const double log = std::log1p(-size * size);
    const double half = 2 / (std::numbers::pi * a) + log / 2;
    double t = std::sqrt(std::sqrt(half * half - log / a) - half);
    if (size < 1e-3) t = size / std::numbers::inv_sqrtpi / 2;
    for (int step = 0; step < 3; ++step) {
        // 1 - size is exact where it is small, and so is erfc.
        const double too_much = size < 0.5 ? std::erf(t) - size : (1 - size) - std::erfc(t);
        const double by = too_much / (2 * std::numbers::inv_sqrtpi * std::exp(-t * t));
        t -= by / (1 + t * by);
    }
    return std::copysign(t, x);
}

struct Erfinv {
    double operator()(double a) const { return erfinv(a); }
};
struct Lgamma {
    double operator()(double a) const {
        int sign = 0;  // std::lgamma has a global one
        return ::lgamma_r(a, &sign);
    }
};
struct Logaddexp {
    double operator()(double a, double b) const {
        if (a == b) return a + std::numbers::ln2;  // infinities too
        return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
    }
};
struct Hypot {
    double operator()(double a, double b) const { return std::hypot(a, b); }
};
struct Fmax {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a)) return b;
            if (std::isnan(b)) return a;
            if (a == b) return std::signbit(a) ? b : a;
        }
        return a < b ? b : a;
    }
};
struct Fmin {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a)) return b;
            if (std::isnan(b)) return a;
            if (a == b) return std::signbit(a) ? a : b;
        }
        return b < a ? b : a;
    }
};

// ---- bits

TensorSpec infer_popcount(const InferArgs& args) { return {u8, args.inputs[0]->shape}; }

void evaluate_popcount(const EvalArgs& args) {
    const std::int64_t count = args.spec->shape.numel();
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            for (std::int64_t i = 0; i < count; ++i) {
                const T v = args.inputs[0].as<T>()[i];
                const std::uint64_t size = v < 0 ? 0 - wide(v) : wide(v);
                args.result<std::uint8_t>()[i] = static_cast<std::uint8_t>(std::popcount(size));
            }
        }
    });
}

DType unsigned_of(DType dtype) {
    constexpr DType types[] = {u8, u16, u32, u64};
    return types[std::countr_zero(size_of(dtype))];
}

std::optional<Term> expand_popcount(std::span<const Term> x) {
    Term v = x[0];
    if (info(v.dtype).is_signed) v = bitcast(abs(v), unsigned_of(v.dtype));
    // Sums of neighbours: of bits, of pairs, of fours, ...
    const auto width = static_cast<std::int64_t>(8 * size_of(v.dtype));
    const auto bits = [&](std::uint64_t pattern) { return Scalar(pattern).as(v.dtype); };
    const auto down = [&](Term t, std::int64_t by) { return shift_right(t, Scalar(by)); };
    v = v - (down(v, 1) & bits(0x5555555555555555));
    v = (v & bits(0x3333333333333333)) + (down(v, 2) & bits(0x3333333333333333));
    v = (v + down(v, 4)) & bits(0x0f0f0f0f0f0f0f0f);
    for (std::int64_t by = 8; by < width; by *= 2) v = v + down(v, by);
    return cast(v & bits(0x7f), u8);
}

// ---- out of other ops

using Inputs = std::span<const Value>;

Value build_clamp(ProgramBuilder&, Inputs in, const InferArgs&) {
    return minimum(maximum(in[0], in[1]), in[2]);
}

/// The signed integers whose bits a float's are.
DType bits_of(DType dtype) { return size_of(dtype) == 2 ? i16 : size_of(dtype) == 4 ? i32 : i64; }

Value build_nextafter(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Shape& shape = args.wanted->shape;
    const auto spread = [&](const Value& v) {
        return v.shape() == shape ? v : broadcast_to(v, shape);
    };
    const Value x = spread(in[0]);
    const Value y = spread(in[1]);
    const Value zero = constant_like(x, 0);
    // As integers, numbers of one sign are in order of their size.
    const Value number = bitcast(x, bits_of(x.dtype()));
    const Value one = constant_like(number, 1);
    const Value grows = eq(lt(x, y), gt(x, zero));
    const Value beside = bitcast(select(grows, number + one, number - one), x.dtype());
    const Value smallest = broadcast_to(bitcast(one, x.dtype()), shape);
    Value out = select(eq(x, zero), copysign(smallest, y), beside);
    out = select(eq(x, y), y, out);
    return select(logical_or(isnan(x), isnan(y)), x + y, out);
}

constexpr Trait kArithmetic = Trait::elementwise | Trait::same_type | Trait::promotes;

Gradients erfinv_gradient(const GradientArgs& g) {
    return {g.cotangent() * exp(g.result * g.result) / (2 * std::numbers::inv_sqrtpi)};
}
Gradients lgamma_gradient(const GradientArgs& g) { return {g.cotangent() * digamma(g[0])}; }
Gradients logaddexp_gradient(const GradientArgs& g) {
    return {g.cotangent() * sigmoid(g[0] - g[1]), g.cotangent() * sigmoid(g[1] - g[0])};
}
Gradients hypot_gradient(const GradientArgs& g) {
    return {g.cotangent() * (g[0] / g.result), g.cotangent() * (g[1] / g.result)};
}
Gradients fmax_gradient(const GradientArgs& g) {
    return shared_by(g, logical_or(gt(g[0], g[1]), ne(g[1], g[1])),
                     logical_or(lt(g[0], g[1]), ne(g[0], g[0])));
}
Gradients fmin_gradient(const GradientArgs& g) {
    return shared_by(g, logical_or(lt(g[0], g[1]), ne(g[1], g[1])),
                     logical_or(gt(g[0], g[1]), ne(g[0], g[0])));
}
/// An element on a bound counts as inside; bounds in the wrong order leave the upper one.
Gradients clamp_gradient(const GradientArgs& g) {
    const Value none = constant_like(g.cotangent(), 0);
    const Value above = logical_or(gt(g[0], g[2]), gt(g[1], g[2]));
    const Value below = logical_and(lt(g[0], g[1]), logical_not(above));
    const Value inside = logical_not(logical_or(above, below));
    return {select(inside, g.cotangent(), none), select(below, g.cotangent(), none),
            select(above, g.cotangent(), none)};
}

/// A step ahead of the first operand, wherever that is.
Gradients nextafter_gradient(const GradientArgs& g) { return {g.cotangent(), {}}; }

/// By its recurrence to where the asymptotic series holds; below 1/2 mirrored at it.
Value build_digamma(ProgramBuilder&, Inputs in, const InferArgs&) {
    const Value x = widened(in[0]);
    const Value mirrored = lt(x, constant_like(x, 0.5));
    const Value from = select(mirrored, 1.0 - x, x);
    constexpr int kSteps = 10;
    Value steps = 1.0 / from;
    for (int k = 1; k < kSteps; ++k) steps = steps + 1.0 / (from + k);
    const Value z = from + kSteps;
    const Value w = 1.0 / (z * z);
    constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760, 1.0 / 12};
    Value series = constant_like(x, kSeries[6]);
    for (int k = 5; k >= 0; --k) series = series * w + kSeries[k];
    const Value above = log(z) - 0.5 / z - series * w - steps;
    // Where nothing is mirrored any angle will do whose tangent is not 0.
    const Value angle = select(mirrored, x - round(x), constant_like(x, 0.25)) * std::numbers::pi;
    const Value below = above - constant_like(x, std::numbers::pi) / tan(angle);
    const Value out = select(mirrored, below, above);
    const Value pole = constant_like(x, -std::numeric_limits<double>::infinity());
    return narrowed(select(eq(x, constant_like(x, 0)), pole, out), in[0].dtype());
}

OpDef binary(std::string_view name, std::string_view doc, std::string_view edge, DTypeSet types,
             void (*evaluate)(const EvalArgs&),
             std::optional<Term> (*expand)(std::span<const Term>),
             Gradients (*gradient)(const GradientArgs&), Tolerance tolerance = {}) {
    return {
        .name = name,
        .doc = doc,
        .edge = edge,
        .min_inputs = 2,
        .max_inputs = 2,
        .traits = types == kFloating ? kFloatMath : kArithmetic,
        .dtypes = types,
        .evaluate = evaluate,
        .expand = expand,
        .gradient = gradient,
        .tolerance = tolerance,
    };
}

}  // namespace

std::vector<OpDef> elementwise_more() {
    return {
        {
            .name = "erfinv",
            .doc = "Number whose error function each element is.",
            .edge = "erfinv(1) is inf, erfinv(-1) is -inf, erfinv(-0) is -0; beyond 1 and below -1 "
                    "NaN.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .evaluate = evaluate_elementwise<kFloating, 1, Erfinv>,
            .expand = expand_erfinv,
            .gradient = erfinv_gradient,
            .tolerance = {.ulps = 4},
            .sample = {.low = -1, .high = 1},
        },
        {
            .name = "lgamma",
            .doc = "Logarithm of the magnitude of the gamma function of each element.",
            .edge = "inf at 0, -0, the negative integers, inf and -inf; lgamma(1) and lgamma(2) "
                    "are 0. Near the zeros below -2 the error is one of the terms that cancel "
                    "there, not of the result.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .evaluate = evaluate_elementwise<kFloating, 1, Lgamma>,
            .expand = expand_lgamma,
            .gradient = lgamma_gradient,
            .tolerance = {.ulps = 6, .absolute = 4e-15},
        },
        {
            .name = "digamma",
            .doc = "Derivative of the logarithm of the gamma function of each element.",
            .edge = "-inf at 0; inf or -inf, or far from 0, at the negative integers; digamma(inf) "
                    "is inf.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "series", .build = build_digamma}},
            .tolerance = {.ulps = 16, .absolute = 4e-7},
            .sample = {.low = 0.1, .high = 8},
        },
        binary("logaddexp", "Logarithm of the sum of the exponentials of two elements.",
               "inf if either is inf, -inf if both are -inf; NaN propagates.", kFloating,
               evaluate_elementwise<kFloating, 2, Logaddexp>, expand_logaddexp, logaddexp_gradient,
               {.ulps = 4, .absolute = 1e-6}),
        binary("hypot",
               "Square root of the sum of the squares of two elements; the squares do not "
               "overflow.",
               "inf if either is infinite, even beside NaN; else NaN propagates. Never -0.",
               kFloating, evaluate_elementwise<kFloating, 2, Hypot>, expand_hypot, hypot_gradient,
               {.ulps = 4}),
        {
            .name = "nextafter",
            .doc = "The number of the type that follows the first element on the way to the "
                   "second.",
            .edge = "The second where both are equal, be it a zero of the other sign; the smallest "
                    "denormal beside 0; inf beyond the largest number. NaN propagates.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "bits", .build = build_nextafter}},
            .gradient = nextafter_gradient,
        },
        binary("fmax", "The larger of two elements; a number where only one of them is NaN.",
               "NaN if both are NaN. +0 is larger than -0.", kReal,
               evaluate_elementwise<kReal, 2, Fmax>, expand_fmax, fmax_gradient),
        binary("fmin", "The smaller of two elements; a number where only one of them is NaN.",
               "NaN if both are NaN. -0 is smaller than +0.", kReal,
               evaluate_elementwise<kReal, 2, Fmin>, expand_fmin, fmin_gradient),
        {
            .name = "popcount",
            .doc = "How many bits the magnitude of each element has that are 1, as u8.",
            .edge = "As numpy's bitwise_count: of -1 it is 1, of the lowest integer too.",
            .traits = Trait::elementwise,
            .dtypes = kIntegers,
            .infer = infer_popcount,
            .evaluate = evaluate_popcount,
            .expand = expand_popcount,
        },
        {
            .name = "clamp",
            .doc = "The first element, brought between the second and the third.",
            .edge = "NaN if any of the three is NaN; the third where the bounds are in the wrong "
                    "order. Of zeros as maximum and minimum.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = kArithmetic,
            .dtypes = kReal,
            .implementations = {{.name = "minimum_maximum", .build = build_clamp}},
            .gradient = clamp_gradient,
        },
    };
}

}  // namespace lazuli::ops
