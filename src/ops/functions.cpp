// Functions of real numbers, and of complex ones where C++ has them. Kernels compute them by the
// expansions in maths/.

#include <cmath>
#include <complex>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/maths.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

struct Pow {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (is_complex_v<T>) {
            if (b == T{}) return T(1);
            if (a == T{}) return b.real() > 0 ? T{} : T(std::nan(""), std::nan(""));
        }
        return std::pow(a, b);
    }
};
struct Exp2 {
    template <class T>
    T operator()(T a) const {
        return std::exp2(a);
    }
};
struct Atan2 {
    template <class T>
    T operator()(T a, T b) const {
        return std::atan2(a, b);
    }
};
struct Rsqrt {
    template <class T>
    T operator()(T a) const {
        return T{1} / std::sqrt(a);
    }
};
struct Sigmoid {
    template <class T>
    T operator()(T a) const {
        if constexpr (is_complex_v<T>) {
            return T{1} / (T{1} + std::exp(-a));
        } else {
            // The exponential that is at most 1: the other one may be infinite.
            const T e = std::exp(-std::fabs(a));
            return (a < 0 ? e : T{1}) / (T{1} + e);
        }
    }
};

#define LAZULI_LIBM(Name, function)  \
    struct Name {                    \
        template <class T>           \
        T operator()(T a) const {    \
            return std::function(a); \
        }                            \
    };
LAZULI_LIBM(Exp, exp)
LAZULI_LIBM(Expm1, expm1)
LAZULI_LIBM(Log, log)
LAZULI_LIBM(Log2, log2)
LAZULI_LIBM(Log10, log10)
LAZULI_LIBM(Log1p, log1p)
LAZULI_LIBM(Sqrt, sqrt)
LAZULI_LIBM(Sin, sin)
LAZULI_LIBM(Cos, cos)
LAZULI_LIBM(Tan, tan)
LAZULI_LIBM(Asin, asin)
LAZULI_LIBM(Acos, acos)
LAZULI_LIBM(Atan, atan)
LAZULI_LIBM(Sinh, sinh)
LAZULI_LIBM(Cosh, cosh)
LAZULI_LIBM(Tanh, tanh)
LAZULI_LIBM(Asinh, asinh)
LAZULI_LIBM(Acosh, acosh)
LAZULI_LIBM(Atanh, atanh)
LAZULI_LIBM(Cbrt, cbrt)
LAZULI_LIBM(Erfc, erfc)
LAZULI_LIBM(Erf, erf)
#undef LAZULI_LIBM

constexpr DTypeSet kFloatComplex = kFloating | kComplex;

/// The gradient of a function of one element: its derivative at an operand, given the result too.
template <auto Derivative>
Gradients by(const GradientArgs& g) {
    return {through(g, Derivative(g[0], g.result))};
}
#define LAZULI_DERIVATIVE(formula) \
    by<[]([[maybe_unused]] const Value& x, [[maybe_unused]] const Value& y) { return formula; }>

Gradients pow_gradient(const GradientArgs& g) {
    const Value zero = constant_like(g[0], Scalar(0).as(g[0].dtype()));
    const Value slope = g[1] * pow(g[0], g[1] - 1.0);
    // A power of 0 is 1 whatever the base; 0 to a power stays 0 however large that is.
    return {through(g, select(eq(g[1], zero), zero, slope)),
            through(g, select(eq(g[0], zero), zero, g.result * log(g[0])))};
}

/// From the origin nothing flows back, where every direction is as good as another.
Gradients atan2_gradient(const GradientArgs& g) {
    const Value distance = hypot(g[0], g[1]);
    const Value length =
        select(eq(distance, constant_like(distance, 0)), constant_like(distance, 1), distance);
    const Value share = g.cotangent() / length;
    return {share * (g[1] / length), -share * (g[0] / length)};
}

/// What most records here share.
OpDef function(std::string_view name, std::string_view doc, std::string_view edge, DTypeSet types,
               void (*evaluate)(const EvalArgs&),
               std::optional<Term> (*expand)(std::span<const Term>),
               Gradients (*gradient)(const GradientArgs&), Tolerance tolerance = {.ulps = 4},
               Sample sample = {}) {
    return {
        .name = name,
        .doc = doc,
        .edge = edge,
        .traits = kFloatMath,
        .dtypes = types,
        .evaluate = evaluate,
        .expand = expand,
        .gradient = gradient,
        .tolerance = tolerance,
        .sample = sample,
    };
}

}  // namespace

std::vector<OpDef> functions() {
    return {
        {
            .name = "pow",
            .doc = "First operand raised to the power of the second, element by element.",
            .edge = "As C's pow: pow(x, 0) is 1 even for NaN, pow(1, y) is 1; a negative base with "
                    "a fractional exponent is NaN.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloatComplex,
            .evaluate = evaluate_elementwise<kFloatComplex, 2, Pow>,
            .expand = expand_pow,
            .gradient = pow_gradient,
            .tolerance = {.ulps = 16},
            .sample = {.low = 0.1, .high = 3},
        },
        {
            .name = "sqrt",
            .doc = "Square root of each element.",
            .edge = "Of a negative real NaN; sqrt(-0) is -0; sqrt(inf) is inf.",
            .traits = kFloatMath,
            .dtypes = kFloatComplex,
            .evaluate = evaluate_elementwise<kFloatComplex, 1, Sqrt>,
            .primitive = Primitive::sqrt,
            .gradient = LAZULI_DERIVATIVE(0.5 / y),
            .tolerance = {.ulps = 2},
            .sample = {.low = 0, .high = 8},
        },
        function("rsqrt", "1 over the square root of each element.",
                 "rsqrt(0) is inf, rsqrt(-0) is -inf; of a negative real NaN; rsqrt(inf) is 0.",
                 kFloating, evaluate_elementwise<kFloating, 1, Rsqrt>, expand_rsqrt,
                 LAZULI_DERIVATIVE(y * y * y * -0.5), {.ulps = 4}, {.low = 0.01, .high = 8}),
        function("cbrt", "Cube root of each element.",
                 "cbrt(-0) is -0; of a negative number negative.", kFloating,
                 evaluate_elementwise<kFloating, 1, Cbrt>, expand_cbrt,
                 LAZULI_DERIVATIVE(1.0 / (y * y * 3.0))),
        function("exp", "e raised to each element.", "exp(-inf) is 0, exp(inf) is inf.",
                 kFloatComplex, evaluate_elementwise<kFloatComplex, 1, Exp>, expand_exp,
                 LAZULI_DERIVATIVE(y)),
        function("exp2", "2 raised to each element.", "exp2(-inf) is 0, exp2(inf) is inf.",
                 kFloating, evaluate_elementwise<kFloating, 1, Exp2>, expand_exp2,
                 LAZULI_DERIVATIVE(y * std::numbers::ln2)),
        function("expm1", "e raised to each element, less 1; exact near 0.",
                 "expm1(-inf) is -1, expm1(inf) is inf, expm1(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Expm1>, expand_expm1,
                 LAZULI_DERIVATIVE(y + 1.0)),
        function("log", "Natural logarithm of each element.",
                 "log(0) is -inf, also of -0; of a negative real NaN; log(inf) is inf.",
                 kFloatComplex, evaluate_elementwise<kFloatComplex, 1, Log>, expand_log,
                 LAZULI_DERIVATIVE(1.0 / x), {.ulps = 4, .absolute = 1e-7},
                 {.low = 0.01, .high = 8}),
        function("log2", "Logarithm of each element to the base 2.",
                 "log2(0) is -inf, also of -0; of a negative number NaN; log2(inf) is inf.",
                 kFloating, evaluate_elementwise<kFloating, 1, Log2>, expand_log2,
                 LAZULI_DERIVATIVE(1.0 / (x * std::numbers::ln2)), {.ulps = 4},
                 {.low = 0.01, .high = 8}),
        function("log10", "Logarithm of each element to the base 10.",
                 "log10(0) is -inf, also of -0; of a negative number NaN; log10(inf) is inf.",
                 kFloating, evaluate_elementwise<kFloating, 1, Log10>, expand_log10,
                 LAZULI_DERIVATIVE(1.0 / (x * std::numbers::ln10)), {.ulps = 4},
                 {.low = 0.01, .high = 8}),
        function("log1p", "Natural logarithm of 1 plus each element; exact near 0.",
                 "log1p(-1) is -inf; below that NaN; log1p(inf) is inf, log1p(-0) is -0.",
                 kFloating, evaluate_elementwise<kFloating, 1, Log1p>, expand_log1p,
                 LAZULI_DERIVATIVE(1.0 / (x + 1.0)), {.ulps = 4}, {.low = -0.9, .high = 8}),
        function("sin", "Sine of each element, an angle in radians.",
                 "Of inf and -inf NaN; sin(-0) is -0. Angles of any size are exact.", kFloating,
                 evaluate_elementwise<kFloating, 1, Sin>, expand_sin, LAZULI_DERIVATIVE(cos(x))),
        function("cos", "Cosine of each element, an angle in radians.",
                 "Of inf and -inf NaN. Angles of any size are exact.", kFloating,
                 evaluate_elementwise<kFloating, 1, Cos>, expand_cos, LAZULI_DERIVATIVE(-sin(x))),
        function("tan", "Tangent of each element, an angle in radians.",
                 "Of inf and -inf NaN; tan(-0) is -0. Angles of any size are exact.", kFloating,
                 evaluate_elementwise<kFloating, 1, Tan>, expand_tan,
                 LAZULI_DERIVATIVE(y * y + 1.0)),
        function("asin", "Angle in radians whose sine each element is.",
                 "NaN beyond 1 and below -1; asin(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Asin>, expand_asin,
                 LAZULI_DERIVATIVE(rsqrt((1.0 - x) * (x + 1.0))), {.ulps = 4},
                 {.low = -1, .high = 1}),
        function("acos", "Angle in radians, from 0 to pi, whose cosine each element is.",
                 "NaN beyond 1 and below -1; acos(1) is 0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Acos>, expand_acos,
                 LAZULI_DERIVATIVE(-rsqrt((1.0 - x) * (x + 1.0))), {.ulps = 4},
                 {.low = -1, .high = 1}),
        function("atan", "Angle in radians whose tangent each element is.",
                 "atan(inf) is pi / 2, atan(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Atan>, expand_atan,
                 LAZULI_DERIVATIVE(1.0 / (x * x + 1.0))),
        {
            .name = "atan2",
            .doc = "Angle in radians of the point whose height is the first element and whose "
                   "distance to the right the second.",
            .edge = "As C's atan2: the signs of zeros count, two infinities lie on a diagonal.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .evaluate = evaluate_elementwise<kFloating, 2, Atan2>,
            .expand = expand_atan2,
            .gradient = atan2_gradient,
            .tolerance = {.ulps = 4},
        },
        function("sinh", "Hyperbolic sine of each element.",
                 "sinh(inf) is inf, sinh(-inf) is -inf, sinh(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Sinh>, expand_sinh, LAZULI_DERIVATIVE(cosh(x))),
        function("cosh", "Hyperbolic cosine of each element.", "cosh(inf) and cosh(-inf) are inf.",
                 kFloating, evaluate_elementwise<kFloating, 1, Cosh>, expand_cosh,
                 LAZULI_DERIVATIVE(sinh(x))),
        function("tanh", "Hyperbolic tangent of each element.",
                 "tanh(inf) is 1, tanh(-inf) is -1, tanh(-0) is -0.", kFloatComplex,
                 evaluate_elementwise<kFloatComplex, 1, Tanh>, expand_tanh,
                 LAZULI_DERIVATIVE(1.0 - y * y)),
        function("asinh", "Number whose hyperbolic sine each element is.",
                 "asinh(inf) is inf, asinh(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Asinh>, expand_asinh,
                 LAZULI_DERIVATIVE(rsqrt(x * x + 1.0))),
        function("acosh", "Number, not below 0, whose hyperbolic cosine each element is.",
                 "NaN below 1; acosh(inf) is inf.", kFloating,
                 evaluate_elementwise<kFloating, 1, Acosh>, expand_acosh,
                 LAZULI_DERIVATIVE(rsqrt((x - 1.0) * (x + 1.0))), {.ulps = 4},
                 {.low = 1, .high = 8}),
        function("atanh", "Number whose hyperbolic tangent each element is.",
                 "NaN beyond 1 and below -1; atanh(1) is inf, atanh(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Atanh>, expand_atanh,
                 LAZULI_DERIVATIVE(1.0 / ((1.0 - x) * (x + 1.0))), {.ulps = 4},
                 {.low = -1, .high = 1}),
        function("sigmoid", "1 / (1 + exp(-x)) of each element.",
                 "sigmoid(inf) is 1, sigmoid(-inf) is 0.", kFloatComplex,
                 evaluate_elementwise<kFloatComplex, 1, Sigmoid>, expand_sigmoid,
                 LAZULI_DERIVATIVE(y * (1.0 - y)), {.ulps = 8}),
        function("erf", "Error function of each element.",
                 "erf(inf) is 1, erf(-inf) is -1, erf(-0) is -0.", kFloating,
                 evaluate_elementwise<kFloating, 1, Erf>, expand_erf,
                 LAZULI_DERIVATIVE(exp(-(x * x)) * (2 * std::numbers::inv_sqrtpi))),
        function("erfc", "1 less the error function of each element; exact far above 0.",
                 "erfc(inf) is 0, erfc(-inf) is 2.", kFloating,
                 evaluate_elementwise<kFloating, 1, Erfc>, expand_erfc,
                 LAZULI_DERIVATIVE(exp(-(x * x)) * (-2 * std::numbers::inv_sqrtpi))),
    };
}

}  // namespace lazuli::ops
