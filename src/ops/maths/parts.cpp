#include "ops/maths/parts.h"

#include "lazuli/error.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

const Format& format_of(DType dtype) {
    static const Format single{.bits = DType::i32,
                               .mantissa = 23,
                               .one = 0x3f800000,
                               .rounder = 0x1.8p23,
                               .ln2 = 0x1.62e43p-1,
                               .ln2_low = -0x1.05c61p-29,
                               .smallest = 0x1p-126,
                               .exp_low = -104,
                               .exp_high = 89,
                               .exp = kExp};
    static const Format wide{.bits = DType::i64,
                             .mantissa = 52,
                             .one = 0x3ff0000000000000,
                             .rounder = 0x1.8p52,
                             .ln2 = 0x1.62e42fefa39efp-1,
                             .ln2_low = 0x1.abc9e3b39803fp-56,
                             .smallest = 0x1p-1022,
                             .exp_low = -746,
                             .exp_high = 710,
                             .exp = kExp64};
    if (dtype == DType::f32) return single;
    if (dtype == DType::f64) return wide;
    throw InternalError("an expansion for a type that has none");
}

Pair two_sum(Term a, Term b) {
    const Term high = a + b;
    const Term of_b = high - a;
    return {high, (a - (high - of_b)) + (b - of_b)};
}
Pair fast_two_sum(Term a, Term b) {
    const Term high = a + b;
    return {high, b - (high - a)};
}
Pair two_product(Term a, Term b) {
    const Term high = a * b;
    return {high, fma(a, b, -high)};
}
Pair operator*(Pair a, Pair b) {
    const Pair p = two_product(a.high, b.high);
    return fast_two_sum(p.high, fma(a.high, b.low, fma(a.low, b.high, p.low)));
}
Pair operator+(Pair a, Pair b) {
    const Pair s = two_sum(a.high, b.high);
    return fast_two_sum(s.high, s.low + (a.low + b.low));
}

Term at_most(Term x, double bound) { return select(x > bound, number(x, bound), x); }
Term at_least(Term x, double bound) { return select(x < bound, number(x, bound), x); }

Term power_of_two(Term shifted) {
    const Format& f = format_of(shifted.dtype);
    return bitcast(shift_left(bitcast(shifted, f.bits), f.mantissa) + f.one, shifted.dtype);
}
Term rounded_product(Term x, double factor) {
    return fma(x, factor, number(x, format_of(x.dtype).rounder));
}

// ---- e^x

Reduced reduce_ln2(Term x) {
    const Format& f = format_of(x.dtype);
    const Term shifted = rounded_product(x, kLog2E);
    const Term n = shifted - f.rounder;
    // The first step is exact: what is left has no more bits than fit.
    const Term first = fma(n, -f.ln2, x);
    return {shifted, n, first, fma(n, -f.ln2_low, first)};
}

Term expm1_rest(Term r) {
    return polynomial(
        r, r.dtype == DType::f32 ? std::span<const double>(kExpm1) : format_of(r.dtype).exp);
}

namespace {

Term exp_small(Term r) { return fma(fma(polynomial(r, format_of(r.dtype).exp), r, 1.0), r, 1.0); }

}  // namespace

Term exp_within(Term x) {
    const Reduced by = reduce_ln2(x);
    return scale2(exp_small(by.rest), by.n);
}

Term exp_of(Term x, Term low, int halvings) {
    const Reduced by = reduce_ln2(x);
    const Term n = halvings == 0 ? by.n : by.n - static_cast<double>(halvings);
    return scale2(exp_small(by.rest + low), n);
}

Term expm1_within(Term x, int halvings) {
    const Reduced by = reduce_ln2(at_least(x, x.dtype == DType::f32 ? -20.0 : -40.0));
    // 2^n (e^r - 1) + 2^n - 1, without 2^n, which may not be a number. The larger parts first:
    // their sum is exact where it is small.
    const Term missing = 1.0 - scale2(number(x, 1.0), -by.n);
    const Term tail =
        fma(by.rest * by.rest, expm1_rest(by.rest), by.n * -format_of(x.dtype).ln2_low);
    const Term n = halvings == 0 ? by.n : by.n - static_cast<double>(halvings);
    return scale2((missing + by.first) + tail, n);
}

// ---- log x

namespace {

/// The bits where the mantissa is cut: what is left lies above this number.
std::int64_t lowest_mantissa(DType dtype) {
    return dtype == DType::f32 ? 0x3f2aaaab           // 2/3
                               : 0x3fe6a09e667f3bcd;  // sqrt(1/2)
}

}  // namespace

Logarithmic split(Term x) {
    const Format& f = format_of(x.dtype);
    // Denormals are brought into the range of normal numbers.
    const Term tiny = x < f.smallest;
    const double up = f.mantissa + 1;
    const Term normal = select(tiny, x * (x.dtype == DType::f32 ? 0x1p24 : 0x1p53), x);
    const Term bits = bitcast(normal, f.bits);
    const Term exponent = shift_right(bits - lowest_mantissa(x.dtype), f.mantissa);
    const Term one = bitcast(bits - shift_left(exponent, f.mantissa), x.dtype);
    return {one - 1.0, cast(exponent, x.dtype) - select(tiny, number(x, up), number(x, 0.0))};
}

Term log1p_rest(Term f) {
    if (f.dtype == DType::f32) return f * f * fma(polynomial(f, kLog), f, -0.5);
    // With s = f / (2 + f), log(1 + f) is log((1 + s) / (1 - s)), an odd function.
    const Term s = f / (f + 2.0);
    const Term z = s * s;
    const Term half = f * f * 0.5;
    return fma(s, fma(z, polynomial(z, kLog64), half), -half);
}

Term log_of_parts(Term f, Term e) {
    const Format& format = format_of(f.dtype);
    if (f.dtype == DType::f32) {
        const Term tail = fma(polynomial(f, kLog), f, -0.5);
        return fma(e, format.ln2, fma(e, format.ln2_low, fma(f * f, tail, f)));
    }
    return fma(e, format.ln2, f + fma(e, format.ln2_low, log1p_rest(f)));
}

Term with_edges_of_log(Term x, Term log) {
    const Term proper = select(x < kInf, log, x);  // NaN stays what it is
    const Term not_zero = select(x == 0.0, number(x, -kInf), proper);
    return select(x < 0.0, number(x, kNaN), not_zero);
}

Term log1p_within(Term x) { return log1p_within(x, number(x, 0.0)); }

Term log1p_within(Term x, Term doublings) {
    const Format& format = format_of(x.dtype);
    const Term sum = x + 1.0;
    const Term bits = bitcast(sum, format.bits);
    const Term exponent = shift_right(bits - lowest_mantissa(x.dtype), format.mantissa);
    const Term moved = shift_left(exponent, format.mantissa);
    // (1 + x) / 2^e - 1, rounded once; where 2^-e is no normal number, 1 does not count.
    const Term factor = bitcast(number(moved, format.one) - moved, x.dtype);
    const Term exact = fma(x, factor, factor - 1.0);
    const Term far = bitcast(bits - moved, x.dtype) - 1.0;
    return log_of_parts(select(sum > 0x1p100, far, exact), cast(exponent, x.dtype) + doublings);
}

}  // namespace lazuli::ops
