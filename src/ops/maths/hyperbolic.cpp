#include <algorithm>
#include <array>

#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

namespace {

/// (e^2x - 1) / (e^2x + 1). Both sides of the quotient are three quarters of that: the lower one
/// is then 1.5 where x is small, in the upper half of its binade, and rounds by less.
Term tanh_single(Term x) {
    constexpr double k = 0.75;
    const Term twice = abs(x + x);
    const Term cut = at_most(twice, 20.0);  // 1 from here on
    const Term shifted = rounded_product(cut, kLog2E);
    const Term r = fma(shifted - format_of(x.dtype).rounder, -format_of(x.dtype).ln2, cut);
    std::array<double, kExpm1.size()> c;
    std::transform(kExpm1.begin(), kExpm1.end(), c.begin(), [](double v) { return k * v; });
    const Term small = fma(r, k, r * r * polynomial(r, c));  // k (e^r - 1)
    // 2^n (e^r - 1) + 2^n - 1
    const Term power = power_of_two(shifted);
    const Term grown = fma(small, power, fma(power, k, number(x, -k)));
    return copysign(grown / (grown + 2 * k), x);
}

/// The same with the quotient's remainder put back.
Term tanh_double(Term x) {
    const Term grown = expm1_within(at_most(abs(x + x), 44.0));
    const Pair below = two_sum(grown, number(x, 2.0));
    const Term inverse = 1.0 / below.high;
    const Term quotient = grown * inverse;
    const Term left = fma(-quotient, below.low, fma(-quotient, below.high, grown));
    return copysign(fma(left, inverse, quotient), x);
}

}  // namespace

std::optional<Term> expand_tanh(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return x.dtype == DType::f32 ? tanh_single(x) : tanh_double(x);
}

std::optional<Term> expand_sinh(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        // Of half of e^x - 1, which is not infinite before the result is.
        const Term half = expm1_within(at_most(abs(x), 711.0), 1);
        const Term rest = half / fma(half, 2.0, number(x, 1.0));
        const Term out = copysign(select(half < kInf, half + rest, half), x);
        return select(abs(x) < 0x1p-28, x, out);  // half a denormal is not one
    });
}

std::optional<Term> expand_cosh(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term half = exp_of(at_most(abs(x), 711.0), number(x, 0.0), 1);
        return half + 0.25 / half;
    });
}

namespace {

// From here on the square of a number does not count, or is infinite.
constexpr double kHuge = 0x1p500;

/// log(1 + small), or log(2 huge) where that is meant.
Term log_of_root(Term huge, Term small) {
    const Term is_huge = huge > kHuge;
    const Term one = select(is_huge, number(huge, 1.0), number(huge, 0.0));
    const Term out = log1p_within(select(is_huge, huge, small), one);
    return select(huge < kInf, out, huge);
}

}  // namespace

std::optional<Term> expand_asinh(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term size = abs(x);
        const Term square = size * size;
        const Term more = square / (sqrt(square + 1.0) + 1.0);
        return copysign(log_of_root(size, size + more), x);
    });
}

std::optional<Term> expand_acosh(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term above = x - 1.0;
        const Term root = sqrt(fma(above, above, above + above));
        return select(x < 1.0, number(x, kNaN), log_of_root(x, above + root));
    });
}

std::optional<Term> expand_atanh(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term size = abs(x);
        const Term twice = size + size;
        const Term grown = twice + twice * size / (1.0 - size);
        const Term log = with_edges_of_log(grown + 1.0, log1p_within(grown));
        return select(size > 1.0, number(x, kNaN), copysign(log * 0.5, x));
    });
}

}  // namespace lazuli::ops
