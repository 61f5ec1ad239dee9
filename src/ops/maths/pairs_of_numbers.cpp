// Functions of two numbers that are not powers or angles.

#include <numbers>

#include "ops/maths.h"
#include "ops/maths/parts.h"

namespace lazuli::ops {

namespace {

Term extreme(Primitive which, Term a, Term b) {
    const Term operands[] = {a, b};
    return a.builder->apply(which, a.dtype, operands);
}

/// The larger or smaller of two, or the one that is a number.
std::optional<Term> extreme_number(Primitive which, std::span<const Term> x) {
    const Term both = extreme(which, x[0], x[1]);
    if (kind(x[0].dtype) != Kind::floating) return both;
    return select(x[0] != x[0], x[1], select(x[1] != x[1], x[0], both));
}

}  // namespace

std::optional<Term> expand_fmax(std::span<const Term> operands) {
    return extreme_number(Primitive::maximum, operands);
}
std::optional<Term> expand_fmin(std::span<const Term> operands) {
    return extreme_number(Primitive::minimum, operands);
}

std::optional<Term> expand_hypot(std::span<const Term> operands) {
    const DType dtype = operands[0].dtype;
    if (!is_expanded(dtype)) return std::nullopt;
    const Term a = abs(operands[0]);
    const Term b = abs(operands[1]);
    const Term infinite = (a == kInf) | (b == kInf);
    if (dtype == DType::f32) {
        // The squares of floats are doubles, and far from the ends of their range.
        const Term x = cast(a, DType::f64);
        const Term y = cast(b, DType::f64);
        return select(infinite, number(a, kInf), cast(sqrt(fma(x, x, y * y)), dtype));
    }
    const Term large = extreme(Primitive::maximum, a, b);
    const Term small = extreme(Primitive::minimum, a, b);
    const Term ratio = small / large;
    // sqrt(1 + r^2) is 1 + r * r / (1 + sqrt(1 + r^2)): what is rounded is added to the larger one.
    const Term out = fma(small, ratio / (sqrt(fma(ratio, ratio, 1.0)) + 1.0), large);
    return select(infinite, number(a, kInf), select(large == 0.0, large, out));
}

std::optional<Term> expand_logaddexp(std::span<const Term> operands) {
    const Term a = operands[0];
    const Term b = operands[1];
    if (!is_expanded(a.dtype)) return std::nullopt;
    const Term lower = at_least(-abs(a - b), format_of(a.dtype).exp_low);
    const Term out = extreme(Primitive::maximum, a, b) + log1p_within(exp_within(lower));
    // Equal infinities have no difference.
    return select(a == b, a + std::numbers::ln2, out);
}

}  // namespace lazuli::ops
