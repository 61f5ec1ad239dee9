#include "ops/maths.h"
#include "ops/maths/parts.h"
#include "ops/maths/polynomials.h"

namespace lazuli::ops {

namespace {

/// log x of a number above 0 and below infinity.
Term log_within(Term x) {
    const Logarithmic parts = split(x);
    return log_of_parts(parts.f, parts.e);
}

/// lgamma of a double.
Term lgamma_double(Term x) {
    const Term size = abs(x);
    const Term below = x < 0.0;
    // Below 0.75 it is found at 1 + |x|: gamma(1 + x) is x gamma(x), and
    // gamma(1 + a) gamma(-a) is -pi / sin(pi a).
    const Term moved = x < 0.75;
    const Term y = select(moved, size + 1.0, x);
    // Up to 8.25, gamma(y) = (y - 1) gamma(y - 1) leads to z from 0.75 to 2.25.
    const Term near = y < 8.25;
    Term z = y;
    Term product = number(x, 1.0);
    for (int step = 0; step < 6; ++step) {
        const Term above = z >= 2.25;
        const Term less = z - 1.0;
        product = select(above, product * less, product);
        z = select(above, less, z);
    }
    const Term log = log_within(select(near, product, y));
    const Term at_z = (z - 1.0) * (z - 2.0) * polynomial(z - 1.5, kLgamma64);
    // Stirling's formula; (log(2 pi) - 1) / 2 stands outside.
    const Term inverse = 1.0 / y;
    const Term rest =
        fma(inverse, polynomial(inverse * inverse, kStirling64), 0x1.acfe390c97d69p-2);
    const Term far = fma(y - 0.5, log - 1.0, rest);
    const Term at_y = select(near, log + at_z, far);
    // |sin(pi a)| / pi, with a's distance to the nearest integer.
    const Term whole = floor(size + 0.5);
    const Term r = abs(size - whole);
    const Term square = r * r;
    const Term sine = fma(r * square, polynomial(square, kSinPi64), r);
    const Term factor = log_within(select(below, sine, size));
    const Term out = select(moved, select(below, -at_y, at_y) - factor, at_y);
    const Term pole = (x < 0.75) & (floor(x) == x);  // and -inf
    const Term infinite = pole | (size == kInf);
    return select(infinite, number(x, kInf), select(x != x, x, out));
}

}  // namespace

std::optional<Term> expand_lgamma(std::span<const Term> operands) {
    if (!is_expanded(operands[0].dtype)) return std::nullopt;
    return by_double(operands[0], lgamma_double);
}

}  // namespace lazuli::ops
