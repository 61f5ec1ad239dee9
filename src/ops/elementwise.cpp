#include <algorithm>
#include <cmath>
#include <complex>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

struct Add {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(wide(a) + wide(b));
        return a + b;
    }
};
struct Sub {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(wide(a) - wide(b));
        return a - b;
    }
};
struct Mul {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(wide(a) * wide(b));
        return a * b;
    }
};
struct Div {
    template <class T>
    T operator()(T a, T b) const {
        return a / b;
    }
};
// NaN wins over any number; of two zeros, +0 is the larger.
struct Maximum {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
            if (a == b) return std::signbit(a) ? b : a;
        }
        return a < b ? b : a;
    }
};
struct Minimum {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
            if (a == b) return std::signbit(a) ? a : b;
        }
        return b < a ? b : a;
    }
};
struct Neg {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - wide(a));
        return -a;
    }
};
struct Abs {
    template <class T>
    auto operator()(T a) const {
        if constexpr (is_complex_v<T>) {
            return std::hypot(a.real(), a.imag());
        } else if constexpr (std::is_unsigned_v<T>) {
            return a;
        } else if constexpr (std::is_integral_v<T>) {
            return a < 0 ? static_cast<T>(0 - wide(a)) : a;
        } else {
            return std::fabs(a);
        }
    }
};

struct CopySign {
    template <class T>
    T operator()(T a, T b) const {
        return std::copysign(a, b);
    }
};
struct Scale2 {
    template <class T>
    T operator()(T a, T b) const {
        if (std::isnan(b)) return b;
        // What processors do.
        if (std::isinf(b) && std::isnan(a)) return b > 0 ? b : T{0};
        if (std::isinf(b)) return a * (b > 0 ? b : T{0});
        // Beyond these every finite number but 0 becomes inf or 0.
        return std::ldexp(a, static_cast<int>(std::floor(std::clamp<T>(b, -5000, 5000))));
    }
};

/// In the type itself: computed in a wider one and rounded again it would be rounded twice.
void evaluate_fma(const EvalArgs& args) {
    const Shape& shape = args.spec->shape;
    const std::int64_t count = shape.numel();
    std::vector<std::int64_t> offsets[3];
    for (std::size_t k = 0; k < 3; ++k)
        offsets[k] = broadcast_offsets(args.inputs[k].spec->shape, shape);
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (is_real_float_v<T>) {
            using Wide = std::conditional_t<is_small_float_v<T>, double, T>;
            T* out = args.result<T>();
            for (std::int64_t i = 0; i < count; ++i) {
                const auto at = [&](std::size_t k) {
                    return static_cast<Wide>(
                        args.inputs[k]
                            .as<T>()[offsets[k].empty() ? i
                                                        : offsets[k][static_cast<std::size_t>(i)]]);
                };
                out[i] = convert<T>(std::fma(at(0), at(1), at(2)));
            }
        } else {
            throw InternalError("an element type that inference should have refused");
        }
    });
}

constexpr DTypeSet kFloatComplex = kFloating | kComplex;

TensorSpec infer_abs(const InferArgs& args) {
    return {real_part(args.inputs[0]->dtype), args.inputs[0]->shape};
}

constexpr Trait kArithmetic = Trait::elementwise | Trait::same_type | Trait::promotes;

// ---- gradients

Gradients add_gradient(const GradientArgs& g) { return {g.cotangent(), g.cotangent()}; }
Gradients sub_gradient(const GradientArgs& g) { return {g.cotangent(), -g.cotangent()}; }
Gradients mul_gradient(const GradientArgs& g) { return {through(g, g[1]), through(g, g[0])}; }
Gradients div_gradient(const GradientArgs& g) {
    return {g.cotangent() / conjugate(g[1]), -through(g, g.result / g[1])};
}
Gradients maximum_gradient(const GradientArgs& g) {
    return shared_by(g, gt(g[0], g[1]), lt(g[0], g[1]));
}
Gradients minimum_gradient(const GradientArgs& g) {
    return shared_by(g, lt(g[0], g[1]), gt(g[0], g[1]));
}
Gradients neg_gradient(const GradientArgs& g) { return {-g.cotangent()}; }
Gradients abs_gradient(const GradientArgs& g) {
    if (!is_complex(g[0].dtype())) return {g.cotangent() * sign(g[0])};
    // At 0 nothing flows back: dividing by 1 there leaves 0.
    const Value zero = constant_like(g.result, 0);
    const Value length = select(eq(g.result, zero), constant_like(g.result, 1), g.result);
    return {g[0] * cast(g.cotangent() / length, g[0].dtype())};
}
Gradients fma_gradient(const GradientArgs& g) {
    return {g.cotangent() * g[1], g.cotangent() * g[0], g.cotangent()};
}
Gradients copysign_gradient(const GradientArgs& g) {
    return {g.cotangent() * sign(g[0]) * copysign(constant_like(g[1], 1), g[1]), {}};
}
Gradients scale2_gradient(const GradientArgs& g) { return {scale2(g.cotangent(), g[1]), {}}; }

}  // namespace

std::vector<OpDef> elementwise() {
    return {
        {
            .name = "add",
            .doc = "Sum of two tensors, element by element.",
            .edge = "Integers wrap. inf + -inf is NaN; -0 + -0 is -0.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kNumeric,
            .evaluate = evaluate_elementwise<kNumeric, 2, Add>,
            .primitive = Primitive::add,
            .gradient = add_gradient,
        },
        {
            .name = "sub",
            .doc = "Difference of two tensors, element by element.",
            .edge = "Integers wrap, unsigned ones too. inf - inf is NaN.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kNumeric,
            .evaluate = evaluate_elementwise<kNumeric, 2, Sub>,
            .primitive = Primitive::sub,
            .gradient = sub_gradient,
        },
        {
            .name = "mul",
            .doc = "Product of two tensors, element by element.",
            .edge =
                "Integers wrap. 0 * inf is NaN; the sign of a zero follows the operands' signs.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kNumeric,
            .evaluate = evaluate_elementwise<kNumeric, 2, Mul>,
            .primitive = Primitive::mul,
            .gradient = mul_gradient,
            .tolerance = {.ulps = 4},
        },
        {
            .name = "div",
            .doc = "Quotient of two tensors, element by element; integers are divided as the "
                   "default float.",
            .edge = "x / 0 is inf with the operands' signs, 0 / 0 is NaN. Integer division by zero "
                    "is therefore inf or NaN of type f32.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloatComplex,
            .evaluate = evaluate_elementwise<kFloatComplex, 2, Div>,
            .primitive = Primitive::div,
            .gradient = div_gradient,
            .tolerance = {.ulps = 8},
        },
        {
            .name = "maximum",
            .doc = "The larger of two elements.",
            .edge = "NaN if either is NaN. +0 is larger than -0.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kReal,
            .evaluate = evaluate_elementwise<kReal, 2, Maximum>,
            .primitive = Primitive::maximum,
            .gradient = maximum_gradient,
        },
        {
            .name = "minimum",
            .doc = "The smaller of two elements.",
            .edge = "NaN if either is NaN. -0 is smaller than +0.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kReal,
            .evaluate = evaluate_elementwise<kReal, 2, Minimum>,
            .primitive = Primitive::minimum,
            .gradient = minimum_gradient,
        },
        {
            .name = "neg",
            .doc = "Each element with its sign changed.",
            .edge = "Integers wrap: the lowest value stays, unsigned values become 2^n - x. The "
                    "sign of zero and NaN changes.",
            .traits = kArithmetic,
            .dtypes = kNumeric,
            .evaluate = evaluate_elementwise<kNumeric, 1, Neg>,
            .primitive = Primitive::neg,
            .gradient = neg_gradient,
        },
        {
            .name = "abs",
            .doc = "Magnitude of each element; of a complex element its modulus, as a real.",
            .edge = "The lowest signed integer stays as it is (wraps). abs(-0) is 0; a complex "
                    "element with an infinite part gives inf.",
            .traits = Trait::elementwise,
            .dtypes = kNumeric,
            .infer = infer_abs,
            .evaluate = evaluate_elementwise<kNumeric, 1, Abs>,
            .primitive = Primitive::abs,
            .gradient = abs_gradient,
            .tolerance = {.ulps = 2},
        },
        {
            .name = "fma",
            .doc = "The product of two elements plus a third, rounded once.",
            .edge = "0 * inf and inf - inf are NaN. f16 and bf16 are computed in f64.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .evaluate = evaluate_fma,
            .primitive = Primitive::fma,
            .gradient = fma_gradient,
            .tolerance = {.ulps = 1},
        },
        {
            .name = "copysign",
            .doc = "The magnitude of the first element with the sign of the second.",
            .edge =
                "The sign of a zero counts, and that of a NaN, which depends on how the NaN came "
                "about.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .evaluate = evaluate_elementwise<kFloating, 2, CopySign>,
            .primitive = Primitive::copysign,
            .gradient = copysign_gradient,
        },
        {
            .name = "scale2",
            .doc = "The first element times two to the power of the second, which is rounded down.",
            .edge =
                "Rounds once, denormals too. An infinite power is a factor of inf or 0: 0 times "
                "two to inf is NaN, but NaN becomes inf or 0.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .evaluate = evaluate_elementwise<kFloating, 2, Scale2>,
            .primitive = Primitive::scale2,
            .gradient = scale2_gradient,
        },
    };
}

}  // namespace lazuli::ops
