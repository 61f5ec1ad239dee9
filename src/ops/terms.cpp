#include "lazuli/terms.h"

namespace lazuli {

namespace {

Term apply(Primitive primitive, DType dtype, std::initializer_list<Term> operands) {
    return operands.begin()->builder->apply(primitive, dtype,
                                            std::span(operands.begin(), operands.size()));
}

}  // namespace

Term number(Term like, Scalar value) { return like.builder->constant(value, like.dtype); }

Term operator+(Term a, Term b) { return apply(Primitive::add, a.dtype, {a, b}); }
Term operator-(Term a, Term b) { return apply(Primitive::sub, a.dtype, {a, b}); }
Term operator*(Term a, Term b) { return apply(Primitive::mul, a.dtype, {a, b}); }
Term operator/(Term a, Term b) { return apply(Primitive::div, a.dtype, {a, b}); }
Term operator-(Term a) { return apply(Primitive::neg, a.dtype, {a}); }
Term operator+(Term a, Scalar b) { return a + number(a, b); }
Term operator-(Term a, Scalar b) { return a - number(a, b); }
Term operator-(Scalar a, Term b) { return number(b, a) - b; }
Term operator*(Term a, Scalar b) { return a * number(a, b); }
Term operator/(Scalar a, Term b) { return number(b, a) / b; }
Term operator<(Term a, Term b) { return apply(Primitive::lt, DType::boolean, {a, b}); }
Term operator<(Term a, Scalar b) { return a < number(a, b); }
Term operator>(Term a, Scalar b) { return apply(Primitive::gt, DType::boolean, {a, number(a, b)}); }
Term operator>=(Term a, Scalar b) {
    return apply(Primitive::ge, DType::boolean, {a, number(a, b)});
}
Term operator==(Term a, Term b) { return apply(Primitive::eq, DType::boolean, {a, b}); }
Term operator==(Term a, Scalar b) { return a == number(a, b); }
Term operator!=(Term a, Term b) { return apply(Primitive::ne, DType::boolean, {a, b}); }
Term operator!=(Term a, Scalar b) { return a != number(a, b); }
Term operator&(Term a, Term b) { return apply(Primitive::bit_and, a.dtype, {a, b}); }
Term operator&(Term a, Scalar b) { return a & number(a, b); }
Term operator|(Term a, Term b) { return apply(Primitive::bit_or, a.dtype, {a, b}); }
Term operator^(Term a, Term b) { return apply(Primitive::bit_xor, a.dtype, {a, b}); }
Term operator^(Term a, Scalar b) { return a ^ number(a, b); }
Term fma(Term a, Term b, Term c) { return apply(Primitive::fma, a.dtype, {a, b, c}); }
Term fma(Term a, Scalar b, Term c) { return fma(a, number(a, b), c); }
Term fma(Term a, Term b, Scalar c) { return fma(a, b, number(a, c)); }
Term abs(Term a) { return apply(Primitive::abs, a.dtype, {a}); }
Term sqrt(Term a) { return apply(Primitive::sqrt, a.dtype, {a}); }
Term floor(Term a) { return apply(Primitive::floor, a.dtype, {a}); }
Term quotient(Term a, Term b) { return apply(Primitive::quotient, a.dtype, {a, b}); }
Term fmod(Term a, Term b) { return apply(Primitive::fmod, a.dtype, {a, b}); }
Term copysign(Term a, Term b) { return apply(Primitive::copysign, a.dtype, {a, b}); }
Term scale2(Term a, Term b) { return apply(Primitive::scale2, a.dtype, {a, b}); }
Term select(Term when, Term a, Term b) { return apply(Primitive::select, a.dtype, {when, a, b}); }
Term cast(Term a, DType dtype) { return apply(Primitive::cast, dtype, {a}); }
Term bitcast(Term a, DType dtype) { return apply(Primitive::bitcast, dtype, {a}); }
Term shift_left(Term a, Scalar count) {
    return apply(Primitive::shift_left, a.dtype, {a, number(a, count)});
}
Term shift_right(Term a, Scalar count) {
    return apply(Primitive::shift_right, a.dtype, {a, number(a, count)});
}

Term polynomial(Term x, std::span<const double> coefficients) {
    Term out = number(x, coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) out = fma(out, x, coefficients[i]);
    return out;
}

}  // namespace lazuli
