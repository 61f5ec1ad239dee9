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

}  // namespace lazuli::ops
