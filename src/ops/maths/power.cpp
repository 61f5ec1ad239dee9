#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

std::optional<Term> expand_rsqrt(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return 1.0 / sqrt(operands[0]);
}

namespace {

/// |x|^y of floats: log2(x) as a double has all the bits that are needed.
Term pow_single(Term x, Term y) {
    const Term size = cast(abs(x), DType::f64);
    const Format& f = format_of(DType::f64);
    const Term bits = bitcast(size, DType::i64);  // no float is a denormal here
    const Term exponent = shift_right(bits - 0x3fe5555555555555, f.mantissa);
    const Term rest = bitcast(bits - shift_left(exponent, f.mantissa), DType::f64) - 1.0;
    const Term log = fma(rest, polynomial(rest, kLog2Of32), cast(exponent, DType::f64));
    const Term power = cast(y, DType::f64) * log;
    const Term cut = at_most(at_least(power, -200.0), 200.0);
    const Term shifted = rounded_product(cut, 1.0);
    const Term r = cut - (shifted - f.rounder);
    return cast(polynomial(r, kExp2Of32) * power_of_two(shifted), DType::f32);
}

/// The same of doubles, with the logarithm as a pair.
Term pow_double(Term x, Term y) {
    const Format& f = format_of(DType::f64);
    const auto [rest, e] = split(abs(x));
    // s = rest / (2 + rest) as a pair; log(1 + rest) is 2 s + 2/3 s^3 + s^5 (...).
    const Pair below = fast_two_sum(number(x, 2.0), rest);
    const Term inverse = 1.0 / below.high;
    const Term quotient = rest * inverse;
    const Term left = fma(-quotient, below.low, fma(-quotient, below.high, rest));
    const Pair s = fast_two_sum(quotient, left * inverse);
    const Pair z = s * s;
    const Term tail = z.high * polynomial(z.high, kLogTail64);
    // 2/3 = high + low
    const Pair third = fast_two_sum(number(x, 0x1.5555555555555p-1), tail);
    const Pair factor{third.high, third.low + 0x1.5555555555555p-55};
    const Pair cubic = (s * z) * factor;
    const Pair log = fast_two_sum(s.high + s.high, cubic.high);
    const Pair ln{log.high, log.low + (s.low + s.low + cubic.low)};
    // In units of log 2.
    const Pair scale{number(x, 0x1.71547652b82fep+0), number(x, 0x1.777d0ffda0d24p-56)};
    const Pair log2 = ln * scale;
    const Pair sum = fast_two_sum(e, log2.high);  // e is 0 or the larger
    const Pair total = fast_two_sum(sum.high, sum.low + log2.low);
    // y times that, as a pair whose first part is bounded.
    const Term product = y * total.high;
    const Term error = fma(y, total.low, fma(y, total.high, -product));
    const Term power = at_most(at_least(product, -1100.0), 1100.0);
    const Term n = rounded_product(power, 1.0) - f.rounder;
    const Term kept = select(abs(product) < 1100.0, error, number(x, 0.0));
    const Term r = power - n;
    const Term scaled = r * f.ln2;
    const Term low = fma(kept, f.ln2, fma(r, f.ln2_low, fma(r, f.ln2, -scaled)));
    const Term small = fma(scaled * scaled, expm1_rest(scaled), scaled);
    return scale2(fma(low, small, small + low) + 1.0, n);
}

}  // namespace

std::optional<Term> expand_cbrt(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term size = abs(x);
        const auto [f, e] = split(size);
        // The root of the power of two, and of what is left, a number from 0.35 to 2.83.
        const Term third = rounded_product(e, 1.0 / 3) - format_of(DType::f64).rounder;
        const Term a = scale2(f + 1.0, fma(third, -3.0, e));
        // 1 over the root, by Newton's steps; each doubles the number of right bits.
        Term inverse = polynomial(a, kRcbrt64);
        for (int step = 0; step < 3; ++step) {
            const Term missing = fma(-(a * inverse), inverse * inverse, number(a, 1.0));
            inverse = fma(inverse * (1.0 / 3), missing, inverse);
        }
        const Term square = inverse * inverse;
        const Term root = a * square;
        const Pair twice = two_product(root, root);
        const Term missing = fma(-twice.low, root, fma(-twice.high, root, a));
        const Term out = scale2(fma(missing * (1.0 / 3), square, root), third);
        const Term edge = (size == 0.0) | (size == kInf) | (x != x);
        return select(edge, x, copysign(out, x));
    });
}

std::optional<Term> expand_pow(std::span<const Term> operands) {
    const Term x = operands[0];
    const Term y = operands[1];
    if (!is_expanded(x.dtype)) return std::nullopt;
    const Term size = abs(x);
    Term out = x.dtype == DType::f32 ? pow_single(x, y) : pow_double(x, y);
    // 0 and inf, to a power: 0, 1 or inf. A number below 1 in size grows as the power falls.
    const Term zero = number(x, 0.0);
    const Term inf = number(x, kInf);
    const Term extreme = select((size == 0.0) ^ (y < 0.0), zero, inf);
    out = select((size == 0.0) | (size == kInf), extreme, out);
    const Term grows = (size > 1.0) ^ (y < 0.0);
    out = select(abs(y) == kInf, select(grows, inf, zero), out);
    // The sign: negative to the power of an odd integer. From 2^24 (2^53) on all are even.
    const Term whole = floor(y) == y;
    const Term half = y * 0.5;
    const Term odd = whole & (floor(half) != half);
    const Term below = bitcast(x, format_of(x.dtype).bits) < 0;  // -0 too
    out = select(below & odd, -out, out);
    out = select((x < 0.0) & (whole ^ number(whole, true)) & (x != -kInf), number(x, kNaN), out);
    // 1 to any power, any number to the power of 0 and -1 to an infinite power: 1.
    out = select((x != x) | (y != y), x + y, out);
    const Term one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (abs(y) == kInf));
    return select(one, number(x, 1.0), out);
}

}  // namespace lazuli::ops
