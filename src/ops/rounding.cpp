// Integers near numbers, quotients that are integers and what they leave, and kinds of numbers.

#include <cmath>
#include <limits>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

#define LAZULI_ROUNDING(Name, function)          \
    struct Name {                                \
        template <class T>                       \
        T operator()(T a) const {                \
            if constexpr (std::is_integral_v<T>) \
                return a;                        \
            else                                 \
                return std::function(a);         \
        }                                        \
    };
LAZULI_ROUNDING(Floor, floor)
LAZULI_ROUNDING(Ceil, ceil)
LAZULI_ROUNDING(Trunc, trunc)
LAZULI_ROUNDING(Round, nearbyint)  // ties to even, as nobody changes the rounding mode
#undef LAZULI_ROUNDING

struct Sign {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a)) return a;
        }
        return static_cast<T>(static_cast<int>(a > T{0}) - static_cast<int>(a < T{0}));
    }
};
struct Square {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(a));
        else
            return a * a;
    }
};
struct Reciprocal {
    template <class T>
    T operator()(T a) const {
        return T{1} / a;
    }
};

struct FloorDivide {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0) return T{0};
            if constexpr (std::is_signed_v<T>) {
                if (b == -1) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
                const T quotient = static_cast<T>(a / b);
                return static_cast<T>(quotient - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0));
            } else {
                return static_cast<T>(a / b);
            }
        } else {
            if (std::isinf(a) && b != 0) return std::numeric_limits<T>::quiet_NaN();
            // The quotient may have been rounded up to an integer: then something is missing.
            const T quotient = std::floor(a / b);
            const T left = std::isinf(b) ? a : std::fma(-quotient, b, a);
            return b != 0 && left != 0 && (left < 0) != (b < 0) ? quotient - 1 : quotient;
        }
    }
};

struct Fmod {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T{0};
            return static_cast<T>(a % b);
        } else {
            return std::fmod(a, b);
        }
    }
};
struct Rem {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T{0};
            const T left = static_cast<T>(a % b);
            return left != 0 && (left < 0) != (b < 0) ? static_cast<T>(left + b) : left;
        } else {
            const T left = std::fmod(a, b);
            if (left == 0) return std::copysign(left, b);
            return (left < 0) != (b < 0) ? left + b : left;
        }
    }
};

struct IsNan {
    template <class T>
    bool operator()(T a) const {
        return a != a;
    }
};
struct IsInf {
    template <class T>
    bool operator()(T a) const {
        return std::fabs(a) == std::numeric_limits<T>::infinity();
    }
};
struct IsFinite {
    template <class T>
    bool operator()(T a) const {
        return std::fabs(a) < std::numeric_limits<T>::infinity();
    }
};

// ---- in primitives

bool is_real(Term x) { return kind(x.dtype) == Kind::floating; }

std::optional<Term> expand_floor(std::span<const Term> x) {
    return is_real(x[0]) ? floor(x[0]) : x[0];
}
std::optional<Term> expand_ceil(std::span<const Term> x) {
    return is_real(x[0]) ? -floor(-x[0]) : x[0];
}
std::optional<Term> expand_trunc(std::span<const Term> x) {
    return is_real(x[0]) ? copysign(floor(abs(x[0])), x[0]) : x[0];
}
std::optional<Term> expand_round(std::span<const Term> x) {
    if (!is_real(x[0])) return x[0];
    // Numbers from here on are integers; added to smaller ones, it leaves no bits behind the point.
    const double whole = x[0].dtype == DType::f64 ? 0x1p52 : 0x1p23;
    const Term size = abs(x[0]);
    return copysign(select(size < whole, (size + whole) - whole, size), x[0]);
}
std::optional<Term> expand_sign(std::span<const Term> x) {
    Term zero = number(x[0], 0);
    if (is_real(x[0])) zero = select(x[0] != x[0], x[0], zero);  // NaN stays
    const Term positive = select(x[0] > 0, number(x[0], 1), zero);
    if (kUnsigned.contains(x[0].dtype)) return positive;
    return select(x[0] < 0, number(x[0], -1), positive);
}
std::optional<Term> expand_square(std::span<const Term> x) { return x[0] * x[0]; }
std::optional<Term> expand_reciprocal(std::span<const Term> x) { return 1.0 / x[0]; }
std::optional<Term> expand_isnan(std::span<const Term> x) { return x[0] != x[0]; }
std::optional<Term> expand_isinf(std::span<const Term> x) {
    return abs(x[0]) == std::numeric_limits<double>::infinity();
}
std::optional<Term> expand_isfinite(std::span<const Term> x) {
    return abs(x[0]) < std::numeric_limits<double>::infinity();
}
std::optional<Term> expand_floor_divide(std::span<const Term> x) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    if (is_real(x[0])) {
        const Term quotient = floor(x[0] / x[1]);
        const Term left = select(abs(x[1]) == inf, x[0], fma(-quotient, x[1], x[0]));
        const Term beyond = (x[1] != 0) & (left != 0) & (left == left) & ((left < 0) ^ (x[1] < 0));
        const Term nan = number(x[0], std::numeric_limits<double>::quiet_NaN());
        return select((abs(x[0]) == inf) & (x[1] != 0), nan,
                      select(beyond, quotient - 1, quotient));
    }
    if (size_of(x[0].dtype) == 8) return quotient(x[0], x[1]);
    // A double holds both; their quotient is not rounded across an integer.
    const Term by_zero = x[1] == 0;
    const Term a = cast(x[0], DType::f64);
    const Term b = cast(select(by_zero, number(x[1], 1), x[1]), DType::f64);
    // By way of 64 bits: the lowest number / -1 wraps.
    const Term quotient = cast(cast(floor(a / b), DType::i64), x[0].dtype);
    return select(by_zero, number(x[0], 0), quotient);
}

std::optional<Term> expand_rem(std::span<const Term> x) {
    if (!is_real(x[0])) {
        const Term left = x[0] - *expand_floor_divide(x) * x[1];
        return select(x[1] == 0, number(x[0], 0), left);
    }
    const Term left = fmod(x[0], x[1]);
    const Term moved = select((left < 0) ^ (x[1] < 0), left + x[1], left);
    return select(left == 0, copysign(left, x[1]), moved);
}

std::optional<Term> expand_fmod(std::span<const Term> x) {
    if (is_real(x[0])) return std::nullopt;  // a primitive
    const Term left = *expand_rem(x);
    if (kUnsigned.contains(x[0].dtype)) return left;
    return select((left != 0) & ((x[0] < 0) ^ (x[1] < 0)), left - x[1], left);
}

TensorSpec infer_kind(const InferArgs& args) { return {DType::boolean, args.inputs[0]->shape}; }

constexpr Trait kArithmetic = Trait::elementwise | Trait::same_type | Trait::promotes;

Gradients square_gradient(const GradientArgs& g) { return {g.cotangent() * g[0] * 2.0}; }
Gradients reciprocal_gradient(const GradientArgs& g) {
    return {-g.cotangent() * g.result * g.result};
}
Gradients fmod_gradient(const GradientArgs& g) {
    return {g.cotangent(), -g.cotangent() * trunc(g[0] / g[1])};
}
Gradients rem_gradient(const GradientArgs& g) {
    return {g.cotangent(), -g.cotangent() * floor_divide(g[0], g[1])};
}

OpDef unary(std::string_view name, std::string_view doc, std::string_view edge, DTypeSet types,
            void (*evaluate)(const EvalArgs&), std::optional<Term> (*expand)(std::span<const Term>),
            Gradients (*gradient)(const GradientArgs&) = nullptr) {
    return {
        .name = name,
        .doc = doc,
        .edge = edge,
        .traits = gradient != nullptr ? kArithmetic : kArithmetic | Trait::no_gradient,
        .dtypes = types,
        .evaluate = evaluate,
        .expand = expand,
        .gradient = gradient,
    };
}

OpDef is_kind(std::string_view name, std::string_view doc, std::string_view edge,
              void (*evaluate)(const EvalArgs&),
              std::optional<Term> (*expand)(std::span<const Term>)) {
    return {
        .name = name,
        .doc = doc,
        .edge = edge,
        .traits = Trait::elementwise,
        .dtypes = kFloating,
        .infer = infer_kind,
        .evaluate = evaluate,
        .expand = expand,
    };
}

}  // namespace

std::vector<OpDef> rounding() {
    constexpr std::string_view kept = "inf and NaN stay; -0 stays -0. Integers stay as they are.";
    OpDef floor = unary("floor", "The largest integer that is not greater than each element.", kept,
                        kReal, evaluate_elementwise<kReal, 1, Floor>, expand_floor);
    floor.primitive = Primitive::floor;
    OpDef reciprocal =
        unary("reciprocal", "1 over each element.", "reciprocal(0) is inf, reciprocal(-0) is -inf.",
              kFloating, evaluate_elementwise<kFloating, 1, Reciprocal>, expand_reciprocal,
              reciprocal_gradient);
    reciprocal.traits = kArithmetic | Trait::to_float;
    return {
        floor,
        unary("ceil", "The smallest integer that is not less than each element.", kept, kReal,
              evaluate_elementwise<kReal, 1, Ceil>, expand_ceil),
        unary("trunc", "Each element without what stands behind the point.", kept, kReal,
              evaluate_elementwise<kReal, 1, Trunc>, expand_trunc),
        unary("round",
              "The integer nearest to each element; of two that are as near, the even one.", kept,
              kReal, evaluate_elementwise<kReal, 1, Round>, expand_round),
        unary("sign", "1 for an element above 0, -1 for one below, else 0.",
              "NaN stays; of -0 it is 0.", kReal, evaluate_elementwise<kReal, 1, Sign>,
              expand_sign),
        unary("square", "Each element times itself.", "Integers wrap.", kReal,
              evaluate_elementwise<kReal, 1, Square>, expand_square, square_gradient),
        reciprocal,
        {
            .name = "floor_divide",
            .doc = "Quotient of two elements, rounded down.",
            .edge = "Integers divided by 0 give 0, and the lowest one by -1 itself (wraps). Of "
                    "reals x / 0 is inf or NaN, inf by another number NaN, -1 by inf -1.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic | Trait::no_gradient,
            .dtypes = kReal,
            .evaluate = evaluate_elementwise<kReal, 2, FloorDivide>,
            .primitive = Primitive::quotient,
            .expand = expand_floor_divide,
            .tolerance = {.ulps = 1},
        },
        {
            .name = "fmod",
            .doc = "What the division of two elements to an integer leaves, with the first one's "
                   "sign; exact.",
            .edge = "Integers by 0 leave 0. Of reals NaN where the first is infinite or the second "
                    "0; x by inf is x.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kReal,
            .evaluate = evaluate_elementwise<kReal, 2, Fmod>,
            .primitive = Primitive::fmod,
            .expand = expand_fmod,
            .gradient = fmod_gradient,
        },
        {
            .name = "rem",
            .doc = "What the division of two elements, rounded down, leaves: it has the second "
                   "one's sign.",
            .edge = "Integers by 0 leave 0; reals NaN, as an infinite first one does.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kReal,
            .evaluate = evaluate_elementwise<kReal, 2, Rem>,
            .expand = expand_rem,
            .gradient = rem_gradient,
            .tolerance = {.ulps = 1},
        },
        is_kind("isnan", "Whether each element is NaN.", "inf is not NaN.",
                evaluate_elementwise<kFloating, 1, IsNan>, expand_isnan),
        is_kind("isinf", "Whether each element is infinite.", "Both infinities are; NaN is not.",
                evaluate_elementwise<kFloating, 1, IsInf>, expand_isinf),
        is_kind("isfinite", "Whether each element is a finite number.",
                "NaN and both infinities are not.", evaluate_elementwise<kFloating, 1, IsFinite>,
                expand_isfinite),
    };
}

}  // namespace lazuli::ops
