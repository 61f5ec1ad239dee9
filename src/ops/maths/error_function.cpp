#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

namespace {

Term erf_single(Term x) {
    const Term square = x * x;
    const Term near_zero = fma(x, polynomial(square, kErf), x);
    // Beyond 3.92 the nearest float is 1.
    const Term size = abs(x);
    const Term far = 1.0 - exp_within(polynomial(at_most(size, 4.0), kLogErfc));
    return copysign(select(size < 0.9375, near_zero, far), x);
}

/// erfc(x) of a double from 0.4 to 28.
Term erfc_far(Term x) {
    // A polynomial in (x - 2) / (x + 2), which stays below 1 however large x is, over x + 2; as a
    // pair, since more roundings follow.
    const Pair below = two_sum(x, number(x, 2.0));
    const Term inverse = 1.0 / below.high;
    const auto divided = [&](Term above, Term low) {
        const Term quotient = above * inverse;
        const Term left = fma(-quotient, below.low, fma(-quotient, below.high, above));
        return Pair{quotient, (left + low) * inverse};
    };
    const Pair fraction = divided(x - 2.0, number(x, 0.0));
    const Term t = fraction.high + fraction.low;
    const Term lost = (fraction.high - t) + fraction.low;
    const Pair last = two_product(t, polynomial(t, std::span(kErfc64).subspan(1)));
    const Pair sum = two_sum(number(x, kErfc64[0]), last.high);
    const Term slope = fma(t, 2 * kErfc64[2], number(x, kErfc64[1]));  // roughly
    const Term low = fma(lost, slope, polynomial(t, kErfc64Low) + last.low);
    const Pair scaled = divided(sum.high, sum.low + low);
    // Times e^(-x^2), whose mantissa is 1 + p.
    const Pair square = two_product(x, x);
    const Reduced by = reduce_ln2(-square.high);
    const Term less = fma(by.n, -format_of(x.dtype).ln2_low, -square.low);
    const Term r = by.first + less;
    const Term p = by.first + fma(r * r, expm1_rest(r), less);
    return scale2(scaled.high + fma(scaled.high, p, scaled.low), by.n);
}

Term erf_double(Term x) {
    const Term near_zero = fma(x, polynomial(x * x, kErf64), x);
    const Term size = abs(x);
    // Beyond 5.93 the nearest double is 1.
    const Term far = 1.0 - erfc_far(at_least(at_most(size, 6.0), 1.0));
    return copysign(select(size < 1.0, near_zero, far), x);
}

/// erfinv of a double to 30 bits, between -1 and 1.
Term erfinv_near(Term x) {
    // x times a polynomial in w = -log(1 - x^2), or in its root where it is large.
    const Term size = abs(x);
    const Logarithmic parts = split((1.0 - size) * (size + 1.0));
    const Term w = -log_of_parts(parts.f, parts.e);
    const Term root = sqrt(at_least(w, 5.0));
    return x * select(w < 5.0, polynomial(at_most(w, 5.0), kErfinv), polynomial(root, kErfinvFar));
}

/// One step of Newton's, of third order, from there.
Term erfinv_double(Term x) {
    const Term size = abs(x);
    const Term t = erfinv_near(size);
    // 1 - size is exact where it is small, and so is erfc.
    const Term erf = fma(t, polynomial(t * t, kErf64), t);
    const Term erfc = erfc_far(at_least(t, 0.45));
    const Term too_much = select(size < 0.5, erf - size, (1.0 - size) - erfc);
    const Term slope = exp_within(-(t * t)) * 0x1.20dd750429b6dp+0;  // 2 / sqrt(pi)
    const Term by = too_much / slope;
    return copysign(t - by / fma(t, by, 1.0), x);
}

}  // namespace

std::optional<Term> expand_erfinv(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    const Term out =
        x.dtype == DType::f64 ? erfinv_double(x) : cast(erfinv_near(cast(x, DType::f64)), x.dtype);
    const Term size = abs(x);
    const Term end = select(size == 1.0, copysign(number(x, kInf), x), number(x, kNaN));
    return select(size < 1.0, out, end);
}

std::optional<Term> expand_erf(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return x.dtype == DType::f32 ? erf_single(x) : erf_double(x);
}

std::optional<Term> expand_erfc(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term size = abs(x);
        const Term far = erfc_far(at_least(at_most(size, 28.0), 0.4));
        const Term near_zero = 1.0 - fma(x, polynomial(x * x, kErf64), x);
        return select(size < 0.4, near_zero, select(x < 0.0, 2.0 - far, far));
    });
}

}  // namespace lazuli::ops
