// Exponentials, logarithms, and what is made of them in one or two steps.

#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

std::optional<Term> expand_exp(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    // Beyond these the result is 0 or inf, as it is at them; NaN is neither less nor greater.
    const Format& f = format_of(x.dtype);
    // What is 0 in any case, as behind a mask, is not computed down to there: results that are no
    // normal numbers cost processors more than a hundred cycles.
    const Term none = x < f.exp_low, zero = number(x, 0.0);
    return select(none, zero, exp_within(at_most(select(none, zero, x), f.exp_high)));
}

std::optional<Term> expand_exp2(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    const Format& f = format_of(x.dtype);
    const bool single = x.dtype == DType::f32;
    const Term cut = at_most(at_least(x, single ? -151 : -1076), single ? 129 : 1025);
    const Term n = rounded_product(cut, 1.0) - f.rounder;
    const Term r = cut - n;
    if (single) return scale2(fma(polynomial(r, kExp2), r, 1.0), n);
    const Term scaled = r * f.ln2;
    const Term low = fma(r, f.ln2_low, fma(r, f.ln2, -scaled));
    return scale2((fma(scaled * scaled, expm1_rest(scaled), low) + scaled) + 1.0, n);
}

std::optional<Term> expand_expm1(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return copysign(expm1_within(at_most(x, format_of(x.dtype).exp_high)), x);  // -0 of -0
}

std::optional<Term> expand_log(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    const Logarithmic parts = split(x);
    return with_edges_of_log(x, log_of_parts(parts.f, parts.e));
}

std::optional<Term> expand_log1p(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return copysign(with_edges_of_log(x + 1.0, log1p_within(x)), x);  // -0 of -0
}

namespace {

/// A number as the sum of two of the type.
struct Constant {
    double high, low;
};

/// log(x) * factor, where log(2) * factor is `of_two`.
Term scaled_log(Term x, Constant factor, Constant of_two) {
    const auto [f, e] = split(x);
    const Term low = fma(e, of_two.low, log1p_rest(f) * factor.high);
    const Term near = fma(f, factor.high, fma(f, factor.low, low));
    return with_edges_of_log(x, fma(e, of_two.high, near));
}

}  // namespace

std::optional<Term> expand_log2(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    if (x.dtype == DType::f32) return scaled_log(x, {0x1.715476p+0, 0x1.4ae0cp-26}, {1, 0});
    return scaled_log(x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}, {1, 0});
}

std::optional<Term> expand_log10(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    // f32 in f64: in its own type it would be 1.44 ulp off in places.
    const Term wide = x.dtype == DType::f32 ? cast(x, DType::f64) : x;
    const Term out = scaled_log(wide, {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57},
                                {0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59});
    return x.dtype == DType::f32 ? cast(out, DType::f32) : out;
}

std::optional<Term> expand_sigmoid(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    // 1 / (1 + e^-x), or e^x / (1 + e^x): always the exponential that is at most 1. What the
    // quotient lacks is put back, or three roundings would add up.
    const Term e = exp_within(at_least(-abs(x), format_of(x.dtype).exp_low));
    const Term above = select(x < 0.0, e, number(x, 1.0));
    const Pair below = fast_two_sum(number(x, 1.0), e);
    const Term inverse = 1.0 / below.high;
    const Term quotient = above * inverse;
    const Term left = fma(-quotient, below.low, fma(-quotient, below.high, above));
    return fma(left, inverse, quotient);
}

}  // namespace lazuli::ops
