#pragma once

/// @file
/// Functions of single elements, written down once in terms of a few primitive ones. Whoever runs
/// kernels computes what stands here, operation by operation, so that all get the same bits.

#include <cstdint>
#include <span>

#include "lazuli/dtype.h"
#include "lazuli/scalar.h"

namespace lazuli {

/// The functions of elements that code generators know. An elementwise op is one of them, or is
/// expressed in them (`OpDef::expand`), or is called as a function of numbers.
enum class Primitive : std::uint8_t {
    none,         ///< Not a primitive.
    add,          ///< a + b.
    sub,          ///< a - b.
    mul,          ///< a * b.
    div,          ///< a / b.
    fma,          ///< a * b + c, rounded once.
    neg,          ///< -a.
    abs,          ///< |a|.
    sqrt,         ///< The square root.
    maximum,      ///< The larger; NaN wins.
    minimum,      ///< The smaller; NaN wins.
    copysign,     ///< The magnitude of a with the sign of b.
    scale2,       ///< a * 2^floor(b), rounded once.
    eq,           ///< a == b.
    ne,           ///< a != b.
    lt,           ///< a < b.
    le,           ///< a <= b.
    gt,           ///< a > b.
    ge,           ///< a >= b.
    select,       ///< b where a holds, else c.
    cast,         ///< The value in another type.
    bitcast,      ///< The bits as another type.
    copy,         ///< a.
    shift_left,   ///< Bits moved up.
    shift_right,  ///< Bits moved down; the sign stays.
    floor,        ///< The largest integer that is not greater.
    bit_and,      ///< The bits that both have.
    bit_or,       ///< The bits that either has.
    bit_xor,      ///< The bits that one of them has.
    quotient,     ///< Of integers: a / b, rounded down; 0 where b is.
    fmod,         ///< a - n * b for an integer n, with the sign of a.
};

class TermBuilder;

/// An element under computation.
struct Term {
    TermBuilder* builder = nullptr;  ///< Where it is computed.
    std::uint32_t id = 0;            ///< Its number there.
    DType dtype = DType::f32;        ///< Its type.
};

/// Takes down operations on elements.
class TermBuilder {
   public:
    virtual ~TermBuilder() = default;
    /// A primitive of elements. `dtype` is the result's.
    virtual Term apply(Primitive primitive, DType dtype, std::span<const Term> operands) = 0;
    /// A number.
    virtual Term constant(const Scalar& value, DType dtype) = 0;
};

/// @name Writing expressions of elements
/// A number beside an element gets its type.
/// @{
Term operator+(Term a, Term b);          ///< The sum.
Term operator-(Term a, Term b);          ///< The difference.
Term operator*(Term a, Term b);          ///< The product.
Term operator/(Term a, Term b);          ///< The quotient.
Term operator-(Term a);                  ///< The negative.
Term operator+(Term a, Scalar b);        ///< The sum.
Term operator-(Term a, Scalar b);        ///< The difference.
Term operator-(Scalar a, Term b);        ///< The difference.
Term operator*(Term a, Scalar b);        ///< The product.
Term operator/(Scalar a, Term b);        ///< The quotient.
Term operator<(Term a, Term b);          ///< Whether it is less.
Term operator<(Term a, Scalar b);        ///< Whether it is less.
Term operator>(Term a, Scalar b);        ///< Whether it is greater.
Term operator>=(Term a, Scalar b);       ///< Whether it is at least that.
Term operator==(Term a, Term b);         ///< Whether it is equal.
Term operator==(Term a, Scalar b);       ///< Whether it is equal.
Term operator!=(Term a, Term b);         ///< Whether it differs.
Term operator!=(Term a, Scalar b);       ///< Whether it differs.
Term operator&(Term a, Term b);          ///< The bits that both have.
Term operator&(Term a, Scalar b);        ///< The bits that both have.
Term operator|(Term a, Term b);          ///< The bits that either has.
Term operator^(Term a, Term b);          ///< The bits that one of them has.
Term operator^(Term a, Scalar b);        ///< The bits that one of them has.
Term fma(Term a, Term b, Term c);        ///< a * b + c, rounded once.
Term fma(Term a, Scalar b, Term c);      ///< a * b + c, rounded once.
Term fma(Term a, Term b, Scalar c);      ///< a * b + c, rounded once.
Term abs(Term a);                        ///< The magnitude.
Term sqrt(Term a);                       ///< The square root.
Term floor(Term a);                      ///< Rounded down.
Term quotient(Term a, Term b);           ///< Of integers, rounded down.
Term fmod(Term a, Term b);               ///< What division leaves, with the sign of a.
Term copysign(Term a, Term b);           ///< The magnitude of a, the sign of b.
Term scale2(Term a, Term b);             ///< a * 2^floor(b).
Term select(Term when, Term a, Term b);  ///< a where `when` holds, else b.
Term cast(Term a, DType dtype);          ///< The value in another type.
Term bitcast(Term a, DType dtype);       ///< The bits as another type.
Term shift_left(Term a, Scalar count);   ///< Bits moved up.
Term shift_right(Term a, Scalar count);  ///< Bits moved down; the sign stays.
Term number(Term like, Scalar value);    ///< A number of the type of `like`.
/// c[0] + c[1]*x + c[2]*x^2 + ..., by Horner's rule with fused steps.
Term polynomial(Term x, std::span<const double> coefficients);
/// @}

}  // namespace lazuli
