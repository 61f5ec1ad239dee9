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

/// erfc(x) of a double from 1 to 28.
Term erfc_far(Term x) {
    // A polynomial in (x - 2) / (x + 2), which stays below 1 however large x is.
    const Term inverse = 1.0 / (x + 2.0);
    const Term scaled = polynomial((x - 2.0) * inverse, kErfc64) * inverse;
    const Pair square = two_product(x, x);
    return scaled * exp_of(-square.high, -square.low);
}

Term erf_double(Term x) {
    const Term near_zero = fma(x, polynomial(x * x, kErf64), x);
    const Term size = abs(x);
    // Beyond 5.93 the nearest double is 1.
    const Term far = 1.0 - erfc_far(at_least(at_most(size, 6.0), 1.0));
    return copysign(select(size < 1.0, near_zero, far), x);
}

}  // namespace

std::optional<Term> expand_erf(std::span<const Term> operands) {
    const Term x = operands[0];
    if (!is_expanded(x.dtype)) return std::nullopt;
    return x.dtype == DType::f32 ? erf_single(x) : erf_double(x);
}

}  // namespace lazuli::ops
