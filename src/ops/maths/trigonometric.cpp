#include <algorithm>
#include <array>

#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

namespace {

// pi/2 is their sum.
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
constexpr double kHalfPiLowest = -0x1.f1976b7ed8fbcp-110;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

/// An angle as quarter turns and a rest of at most pi/4.
struct Turned {
    Term quarters;  ///< An integer; its lowest two bits count.
    Term rest;
};

/// 1 / (2 pi) from its 25th bit on, 29 bits each. Times a float each product is exact.
constexpr std::array kTurn = {0x1.b72722p-25,   0x1.529fc26p-54,  0x1.57d1f53p-82,
                              0x1.377036cp-112, 0x1.8a5664fp-140, 0x1.0e41078p-172};

/// For floats from 2^46 on, as doubles. Of 1 / (2 pi) only the bits count that give neither whole
/// turns nor next to nothing: 116 of them, which begin at one of three places.
Turned reduce_huge(Term x) {
    const Term size = abs(x);
    const Term second = size >= 0x1p75;
    const Term third = size >= 0x1p104;
    std::array<Term, 4> part;
    for (std::size_t i = 0; i < 4; ++i) {
        const Term bits = select(second, number(x, kTurn[i + 1]), number(x, kTurn[i]));
        part[i] = x * select(third, number(x, kTurn[i + 2]), bits);
    }
    const Pair turns = two_sum(part[0] - floor(part[0]), part[1] - floor(part[1]));
    const Term shifted = rounded_product(turns.high, 4.0);
    const Term n = shifted - format_of(x.dtype).rounder;
    const Pair rest = two_sum(fma(n, -0.25, turns.high), part[2]);
    constexpr double turn = 4 * kHalfPi;
    const Term low = rest.low + (turns.low + part[3]);
    return {bitcast(shifted, DType::i64), fma(rest.high, turn, low * turn)};
}

/// A float, computed in double: exact enough for all of them. So is the rest.
Turned reduce_single(Term x) {
    const Term wide = cast(x, DType::f64);
    const Term shifted = rounded_product(wide, kTwoOverPi);
    const Term n = shifted - format_of(DType::f64).rounder;
    const Term rest = fma(n, -kHalfPiLow, fma(n, -kHalfPi, wide));
    const Turned far = reduce_huge(wide);
    const Term huge = abs(wide) >= 0x1p46;
    const Term quarters = select(huge, far.quarters, bitcast(shifted, DType::i64));
    return {quarters, select(huge, far.rest, rest)};
}

/// The sine of an angle that is `ahead` quarter turns more.
Term sin_single(Term x, int ahead) {
    const auto [wide_quarters, rest] = reduce_single(x);
    const Term quarters = cast(wide_quarters, DType::i32);
    const Term r = cast(rest, DType::f32);
    const Term z = r * r;
    const Term sine = copysign(fma(r * z, polynomial(z, kSin), r), r);  // -0 of -0
    const Term cosine = fma(z * z, polynomial(z, kCos), fma(z, -0.5, number(z, 1.0)));
    const Term q = ahead == 0 ? quarters : quarters + ahead;
    const Term value = select((q & 1) == 0, sine, cosine);
    return bitcast(bitcast(value, DType::i32) ^ shift_left(q & 2, 30), DType::f32);
}

// ---- f64

/// The same as a pair.
struct TurnedPair {
    Term quarters;
    Pair rest;
};

/// Up to 2^43.
TurnedPair reduce_near(Term x) {
    const Term shifted = rounded_product(x, kTwoOverPi);
    const Term n = shifted - format_of(DType::f64).rounder;
    // The first step is exact: what is left is a multiple of 2^-53 and less than 1.
    const Term first = fma(n, -kHalfPi, x);
    const Pair second = two_product(n, number(x, -kHalfPiLow));
    const Pair sum = two_sum(first, second.high);
    const Term low = fma(n, -kHalfPiLowest, second.low + sum.low);
    return {bitcast(shifted, DType::i64), fast_two_sum(sum.high, low)};
}

/// 0, then 1 / (2 pi) as pieces of 26 bits, all times 2^200 lest the last ones vanish.
constexpr std::array<double, 46> kPieces = {
    0x0.0p+0,
    0x1.45f306p+197,
    0x1.b93910p+172,
    0x1.529fc2p+146,
    0x1.d5f47dp+120,
    0x1.34ddc0p+94,
    0x1.b6c52bp+69,
    0x1.93c439p+42,
    0x1.07f940p+12,
    0x1.63abdep-10,
    0x1.778ac3p-35,
    0x1.b923718000000p-61,
    0x1.4849bap-87,
    0x1.7003248000000p-113,
    0x1.77504ep-141,
    0x1.1921cfp-166,
    0x1.c3bd638000000p-191,
    0x1.62534ep-219,
    0x1.f74410p-245,
    0x1.afa9758000000p-269,
    0x1.68909dp-295,
    0x1.9c7026p-322,
    0x1.68befc8000000p-347,
    0x1.3991d0p-378,
    0x1.8e60d4p-400,
    0x1.9cfa4ep-425,
    0x1.08bf17p-451,
    0x1.efc9418000000p-477,
    0x1.63ff128000000p-503,
    0x1.ffef028000000p-529,
    0x1.301fdep-555,
    0x1.788c5a8000000p-581,
    0x1.414da38000000p-607,
    0x1.b69b3fp-633,
    0x1.9e4f96p-659,
    0x1.36e9e8p-687,
    0x1.8fd9a7p-712,
    0x1.2ff5168000000p-737,
    0x1.d49eebp-764,
    0x1.faf97cp-792,
    0x1.7b3d04p-818,
    0x1.9cfbc5p-841,
    0x1.4a4ba9p-868,
    0x1.5fdafd8000000p-893,
    0x1.1f8d5cp-922,
    0x1.085603p-946,
};

/// The eight pieces that count for an angle: those before give whole turns, those behind less than
/// 2^-130. They are moved to the front by 32, 16, 8, 4, 2 and 1 places, as the exponent says.
std::array<Term, 8> pieces_for(Term x) {
    const Term bits = bitcast(abs(x), DType::i64);
    const Term exponent = cast(shift_right(bits, 52) - 1023, DType::f64);
    // floor((exponent - 26) / 26); the half keeps it away from integers.
    const Term count = floor((exponent - 25.5) * (1.0 / 26));
    const Term places = bitcast(count + format_of(DType::f64).rounder, DType::i64);
    std::array<Term, kPieces.size()> piece;
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = number(x, kPieces[i]);
    for (std::size_t step = 32; step > 0; step /= 2) {
        const Term moves = (places & static_cast<std::int64_t>(step)) != 0;
        // What later steps may still bring to the front; no exponent needs more than 38 places.
        const std::size_t wanted = 8 + (step == 32 ? 38 - 32 : step - 1);
        for (std::size_t i = 0; i < wanted; ++i)
            piece[i] = select(moves, piece[i + step], piece[i]);
    }
    std::array<Term, 8> out;
    std::copy_n(piece.begin(), out.size(), out.begin());
    return out;
}

/// From 2^43 on. With the angle in two halves of 27 and 26 bits, all products are exact.
TurnedPair reduce_far(Term x) {
    const Term scaled = x * 0x1p-200;
    const Term high = bitcast(bitcast(scaled, DType::i64) & -(std::int64_t{1} << 26), DType::f64);
    const Term low = scaled - high;
    const auto piece = pieces_for(x);
    std::array<Term, 8> a;  // a[i] is a multiple of 2^-26i below 2^(78-26i)
    std::array<Term, 8> b;  // b[i] one of 2^-26(i+1) below 2^(51-26i)
    for (std::size_t i = 0; i < 8; ++i) {
        if (i > 0) a[i] = high * piece[i];
        if (i < 7) b[i] = low * piece[i];
    }
    const auto fraction = [](Term t) { return t - floor(t); };
    // Exact: multiples of 2^-52 below 2.
    const Term turns =
        fraction(fraction(a[1]) + fraction(b[0])) + fraction(fraction(a[2]) + fraction(b[1]));
    const Pair third = two_sum(a[3], b[2]);  // below 1.5
    const Term shifted = rounded_product(turns + third.high, 4.0);
    const Term first = fma(shifted - format_of(DType::f64).rounder, -0.25, turns);
    // Whatever cancels here, 2^-120 of a turn is kept.
    const Pair sum = two_sum(first, third.high);
    const Pair fourth = two_sum(a[4], b[3]);
    const Pair more = two_sum(sum.high, fourth.high);
    const Pair fifth = two_sum(a[5], b[4]);
    const Pair less = two_sum(sum.low + third.low, fifth.high);
    const Pair total = two_sum(more.high, less.high);
    const Term least =
        (less.low + (more.low + fourth.low)) + ((a[6] + b[5]) + (fifth.low + (a[7] + b[6])));
    const Pair rest = fast_two_sum(total.high, total.low + least);
    const Pair turn{number(x, 4 * kHalfPi), number(x, 4 * kHalfPiLow)};
    return {bitcast(shifted, DType::i64), rest * turn};
}

TurnedPair reduce_double(Term x) {
    const TurnedPair near = reduce_near(x);
    const TurnedPair far = reduce_far(x);
    const Term is_far = abs(x) >= 0x1p43;
    return {select(is_far, far.quarters, near.quarters),
            {select(is_far, far.rest.high, near.rest.high),
             select(is_far, far.rest.low, near.rest.low)}};
}

struct SinCos {
    Pair sine, cosine;  ///< The sum of each is it.
};

/// Of an angle up to pi / 4.
SinCos sin_cos(Pair angle) {
    const Term r = angle.high;
    const Term z = r * r;
    const Term half = z * 0.5;
    const Term whole = 1.0 - half;
    const Term lost = (1.0 - whole) - half;
    return {{r, fma(r * z, polynomial(z, kSin64), angle.low)},
            {whole, fma(z * z, polynomial(z, kCos64), fma(-r, angle.low, lost))}};
}

Pair choose(Term when, Pair a, Pair b) {
    return {select(when, a.high, b.high), select(when, a.low, b.low)};
}

Term sin_double(Term x, int ahead) {
    const auto [quarters, rest] = reduce_double(x);
    const SinCos both = sin_cos(rest);
    const Term q = ahead == 0 ? quarters : quarters + ahead;
    const Pair parts = choose((q & 1) == 0, both.sine, both.cosine);
    const Term value = parts.high + parts.low;
    const Term out = bitcast(bitcast(value, DType::i64) ^ shift_left(q & 2, 62), DType::f64);
    return ahead == 0 ? select(x == 0.0, x, out) : out;  // -0 of -0
}

Term tan_of(Term x, Term quarters, Pair rest) {
    const SinCos both = sin_cos(rest);
    const Term even = (quarters & 1) == 0;
    const Pair sine = fast_two_sum(both.sine.high, both.sine.low);
    const Pair cosine = fast_two_sum(both.cosine.high, both.cosine.low);
    const Pair above = choose(even, sine, cosine);
    const Pair below = choose(even, cosine, sine);
    const Term inverse = 1.0 / below.high;
    const Term quotient = above.high * inverse;
    const Term left = fma(-quotient, below.low, fma(-quotient, below.high, above.high)) + above.low;
    const Term tangent = fma(left, inverse, quotient);
    return select(x == 0.0, x, select(even, tangent, -tangent));  // -0 of -0
}

}  // namespace

std::optional<Term> expand_sin(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return x.dtype == DType::f32 ? sin_single(x, 0) : sin_double(x, 0);
}

std::optional<Term> expand_cos(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return x.dtype == DType::f32 ? sin_single(x, 1) : sin_double(x, 1);
}

std::optional<Term> expand_tan(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    if (x.dtype == DType::f64) {
        const auto [quarters, rest] = reduce_double(x);
        return tan_of(x, quarters, rest);
    }
    const auto [quarters, rest] = reduce_single(x);
    return cast(tan_of(cast(x, DType::f64), quarters, {rest, number(rest, 0.0)}), DType::f32);
}

}  // namespace lazuli::ops
