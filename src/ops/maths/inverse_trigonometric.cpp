#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

namespace {

// pi is the sum of two doubles.
constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kPiLow = 0x1.1a62633145c07p-53;

/// pi, or a part of it that is a power of two, less x.
Term pi_less(double part, Term x) { return part * kPi - (x - part * kPiLow); }

/// The angle of the point (x, y), neither below 0.
Term angle(Term y, Term x) {
    const Term steep = x < y;
    // Nothing here may become infinite.
    const Term larger = select(steep, y, x);
    const Term unit = select(larger > 0x1p1000, number(x, 0x1p-4), number(x, 1.0));
    const Term high = larger * unit;
    const Term low = select(steep, x, y) * unit;
    // Beyond an eighth of pi it is counted from pi / 4.
    const Term middle = (high * 0.41421356237309503 < low) | (low == kInf);
    const Term difference = select(low == high, number(x, 0.0), low - high);
    const Term below = select(middle, low + high, select(high == 0.0, number(x, 1.0), high));
    const Term t = select(middle, difference, low) / below;
    const Term z = t * t;
    const Term small = fma(t * z, polynomial(z, kAtan64), t);
    const Term flat = select(middle, number(x, kPi / 4) + (small + kPiLow / 4), small);
    return select(steep, pi_less(0.5, flat), flat);
}

/// asin(r) for r up to 0.5, whose square is given.
Term asin_small(Term r, Term square) { return fma(r * square, polynomial(square, kAsin64), r); }

}  // namespace

std::optional<Term> expand_atan(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0],
                     [](Term x) { return copysign(angle(abs(x), number(x, 1.0)), x); });
}

std::optional<Term> expand_atan2(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    const Term y = cast(operands[0], DType::f64);
    const Term x = cast(operands[1], DType::f64);
    const Term right = angle(abs(y), abs(x));
    const Term out = select(bitcast(x, DType::i64) < 0, pi_less(1, right), right);  // of -0 too
    return cast(copysign(out, y), operands[0].dtype);
}

std::optional<Term> expand_asin(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term size = abs(x);
        const Term far = size > 0.5;
        const Term z = select(far, (1.0 - size) * 0.5, x * x);
        const Term r = select(far, sqrt(z), size);
        // pi / 2 - 2 r ..., the low part of pi / 2 among what is small.
        const Term low = select(far, number(x, -kPiLow / 4), number(x, 0.0));
        const Term small = r + fma(r * z, polynomial(z, kAsin64), low);
        return copysign(select(far, kPi / 2 - (small + small), small), x);
    });
}

std::optional<Term> expand_acos(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], [](Term x) {
        const Term size = abs(x);
        const Term far = size > 0.5;
        const Term z = select(far, (1.0 - size) * 0.5, x * x);
        const Term small = asin_small(select(far, sqrt(z), x), z);
        const Term twice = small + small;
        return select(far, select(x < 0.0, pi_less(1, twice), twice), pi_less(0.5, small));
    });
}

}  // namespace lazuli::ops
