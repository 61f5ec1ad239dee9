// Coefficients come from scripts/fit-polynomials, which prints the errors of the fits; what is left
// over after rounding is measured over all floats by tests/backend/maths.cpp.

#include "ops/maths.h"

#include <array>
#include <limits>

namespace lazuli::ops {

namespace {

constexpr double kLog2E = 1.4426950408889634;
// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
constexpr double kLn2 = 0.6931471805599453;
constexpr double kLn2High = 0.693145751953125;
constexpr double kLn2Low = 1.42860682030941723e-06;
// Adding 1.5 * 2^23 leaves a float no bits behind the point: it rounds to the nearest integer.
constexpr double kRounder = 12582912.0;

constexpr std::array kExp = {1.0,
                             1.0,
                             0.4999999403953552,
                             0.1666651964187622,
                             0.04166839271783829,
                             0.008368750102818012,
                             0.0013814485864713788};
// e^2r for r up to ln 2 / 4: the coefficients above, with powers of two.
constexpr std::array kExpTwice = {1.0,          2.0,          4 * kExp[2], 8 * kExp[3],
                                  16 * kExp[4], 32 * kExp[5], 64 * kExp[6]};
constexpr std::array kTanh = {-0.33333316445350647, 0.13332585990428925, -0.053852278739213943,
                              0.021071558818221092, -0.006274082697927952};
constexpr std::array kLog = {0.3333321213722229,   -0.24999810755252838, 0.20010514557361603,
                             -0.16679958999156952, 0.14004389941692352,  -0.1219114437699318,
                             0.1399075984954834,   -0.12863154709339142};
constexpr std::array kErf = {0.12837916612625122,   -0.3761262595653534,   0.1128358542919159,
                             -0.026853810995817184, 0.0051883249543607235, -0.0008010168094187975,
                             7.85377633292228e-05};
constexpr std::array kLogErfc = {
    0.00017931286129169166, -1.1295371055603027,   -0.6333022713661194,    -0.10832907259464264,
    0.02515101619064808,    -0.004183029755949974, 0.00043692736653611064, -2.1307885617716238e-05};

/// e^x for x between -104 and 89: x is n ln 2 + r, and e^r a polynomial in the small r.
Term exp_within(Term x) {
    const Term n = fma(x, kLog2E, number(x, kRounder)) - kRounder;
    const Term r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
    return scale2(polynomial(r, kExp), n);
}

}  // namespace

std::optional<Term> expand_exp(std::span<const Term> operands) {
    const Term x = operands[0];
    if (x.dtype != DType::f32) return std::nullopt;
    // Beyond these the result is 0 or inf, as it is at them; NaN is neither less nor greater.
    const Term above = select(x < -104.0, number(x, -104.0), x);
    return exp_within(select(above > 89.0, number(x, 89.0), above));
}

std::optional<Term> expand_log(std::span<const Term> operands) {
    const Term x = operands[0];
    if (x.dtype != DType::f32) return std::nullopt;
    // Denormals are brought into the range of normal numbers.
    const Term tiny = x < 1.17549435e-38;
    const Term normal = select(tiny, x * 8388608.0, x);
    // The exponent is counted so that what is left lies between 2/3 and 4/3.
    const Term bits = bitcast(normal, DType::i32);
    const Term exponent = shift_right(bits - 0x3f2aaaab, 23);
    const Term f = bitcast(bits - shift_left(exponent, 23), DType::f32) - 1.0;
    const Term e = cast(exponent, DType::f32) - select(tiny, number(x, 23.0), number(x, 0.0));
    const Term square = f * f;
    const Term tail = fma(polynomial(f, kLog), f, -0.5);
    const Term log1p = fma(square, tail, f);
    const Term out = fma(e, kLn2High, fma(e, kLn2Low, log1p));
    // What has no logarithm, or an infinite one; NaN stays what it is.
    const double inf = std::numeric_limits<double>::infinity();
    const Term proper = select(x < inf, out, x);
    const Term not_zero = select(x == 0.0, number(x, -inf), proper);
    return select(x < 0.0, number(x, std::numeric_limits<double>::quiet_NaN()), not_zero);
}

std::optional<Term> expand_tanh(std::span<const Term> operands) {
    const Term x = operands[0];
    if (x.dtype != DType::f32) return std::nullopt;
    const Term square = x * x;
    const Term near_zero = fma(x * square, polynomial(square, kTanh), x);
    // Beyond 9.02 the nearest float is 1.
    const Term size = abs(x);
    const Term cut = select(size > 9.02, number(x, 9.02), size);
    // e^2x with a coarser remainder than exp has: what it lacks is lost in 1 - 2 / (e^2x + 1).
    const Term n = fma(cut, 2 * kLog2E, number(x, kRounder)) - kRounder;
    const Term r = fma(n, -kLn2 / 2, cut);
    // The power of two does not wait for the polynomial.
    const Term power = scale2(number(x, 1.0), n);
    const Term far = 1.0 - 2.0 / fma(polynomial(r, kExpTwice), power, 1.0);
    return copysign(select(size < 0.55, near_zero, far), x);  // -0 of -0
}

std::optional<Term> expand_erf(std::span<const Term> operands) {
    const Term x = operands[0];
    if (x.dtype != DType::f32) return std::nullopt;
    const Term square = x * x;
    const Term near_zero = fma(x, polynomial(square, kErf), x);
    // Beyond 3.92 the nearest float is 1.
    const Term size = abs(x);
    const Term cut = select(size > 4.0, number(x, 4.0), size);
    const Term far = 1.0 - exp_within(polynomial(cut, kLogErfc));
    return copysign(select(size < 0.9375, near_zero, far), x);
}

}  // namespace lazuli::ops
