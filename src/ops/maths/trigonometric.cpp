#include <array>

#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

namespace {

// pi/2 is their sum.
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
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

/// A float, computed in double: exact enough for all of them.
Turned reduce_single(Term x) {
    const Term wide = cast(x, DType::f64);
    const Term shifted = rounded_product(wide, kTwoOverPi);
    const Term n = shifted - format_of(DType::f64).rounder;
    const Term rest = fma(n, -kHalfPiLow, fma(n, -kHalfPi, wide));
    const Turned far = reduce_huge(wide);
    const Term huge = abs(wide) >= 0x1p46;
    const Term quarters = select(huge, far.quarters, bitcast(shifted, DType::i64));
    return {cast(quarters, DType::i32), cast(select(huge, far.rest, rest), DType::f32)};
}

/// The sine of an angle that is `ahead` quarter turns more.
Term sin_single(Term x, int ahead) {
    const auto [quarters, r] = reduce_single(x);
    const Term z = r * r;
    const Term sine = copysign(fma(r * z, polynomial(z, kSin), r), r);  // -0 of -0
    const Term cosine = fma(z * z, polynomial(z, kCos), fma(z, -0.5, number(z, 1.0)));
    const Term q = ahead == 0 ? quarters : quarters + ahead;
    const Term value = select((q & 1) == 0, sine, cosine);
    return bitcast(bitcast(value, DType::i32) ^ shift_left(q & 2, 30), DType::f32);
}

}  // namespace

std::optional<Term> expand_sin(std::span<const Term> operands) {
    if (operands[0].dtype != DType::f32) return std::nullopt;
    return sin_single(operands[0], 0);
}

std::optional<Term> expand_cos(std::span<const Term> operands) {
    if (operands[0].dtype != DType::f32) return std::nullopt;
    return sin_single(operands[0], 1);
}

}  // namespace lazuli::ops
