#pragma once

/// @file
/// Operations as free functions and operators. Each records a node and returns at once; bad
/// arguments throw at the call.

#include "lazuli/tensor.h"

namespace lazuli {

#define LAZULI_DEFAULT(...) = __VA_ARGS__
#define LAZULI_OPERAND const Operand&
#define LAZULI_PARAMS(...) (const Operand& x __VA_OPT__(, ) __VA_ARGS__)
#define LAZULI_OP(name, params, args) Tensor name LAZULI_PARAMS params;
#define LAZULI_OP_OWN(name, params, args) Tensor name LAZULI_PARAMS params;
#include "lazuli/ops.inc"
#undef LAZULI_DEFAULT
#undef LAZULI_OPERAND
#undef LAZULI_PARAMS
#undef LAZULI_OP
#undef LAZULI_OP_OWN

/// Tensors joined along an axis.
Tensor concat(std::span<const Tensor> tensors, Axis axis = 0);
/// Tensors joined along an axis.
inline Tensor concat(std::initializer_list<Tensor> tensors, Axis axis = 0) {
    return concat(std::span<const Tensor>(tensors.begin(), tensors.size()), axis);
}
/// Tensors joined along a new axis.
Tensor stack(std::span<const Tensor> tensors, Axis axis = 0);
/// Tensors joined along a new axis.
inline Tensor stack(std::initializer_list<Tensor> tensors, Axis axis = 0) {
    return stack(std::span<const Tensor>(tensors.begin(), tensors.size()), axis);
}
/// Sums of products of elements, by a letter for each axis: `einsum("ij,jk->ik", {a, b})` is a
/// product of matrices. See the op in docs/ops.md.
Tensor einsum(std::string_view subscripts, std::span<const Tensor> tensors);
/// Sums of products of elements, by a letter for each axis.
inline Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> tensors) {
    return einsum(subscripts, std::span<const Tensor>(tensors.begin(), tensors.size()));
}
/// The largest elements along an axis, or the smallest.
struct TopK {
    Tensor values;   ///< The elements, the foremost first.
    Tensor indices;  ///< Their positions along the axis; i64.
};
/// The `k` largest elements along an axis, or the smallest, with their positions: see argtopk.
TopK topk(const Tensor& x, std::int64_t k, Axis axis = -1, bool largest = true);
/// Positions of the elements that are not 0, row-major: one tensor of i64 a dimension. How many
/// there are depends on the values, so this evaluates. ArgumentError for a tensor of rank 0.
std::vector<Tensor> nonzero(const Tensor& x);
/// The different elements of a tensor.
struct Unique {
    Tensor values;   ///< Each once, ascending; every NaN is one, behind all numbers.
    Tensor inverse;  ///< For each element of the tensor the position of its value; i64, lazy.
    Tensor counts;   ///< How often each value is there; i64, lazy.
};
/// The different elements of a tensor, whatever its shape. How many there are depends on the
/// values, so this evaluates. 0 and -0 are one value. DTypeError for complex numbers.
Unique unique(const Tensor& x);
/// The position along an axis: 0, 1, 2, ...
Tensor iota(Shape shape, Axis axis = 0, DType dtype = DType::i64);
/// A host function that was registered by name.
Tensor custom_call(std::string_view target, std::span<const Tensor> inputs, TensorSpec result);
/// Any op by its name, with attributes in the order of its record.
Tensor call(std::string_view op, std::span<const Tensor> inputs,
            std::span<const Attribute> attributes = {}, const TensorSpec* wanted = nullptr);
/// Records the operations of a program on tensors, one a parameter, and returns its results, lazy
/// as any.
std::vector<Tensor> record(const Program& program, std::span<const Tensor> params);
/// The second operand's element where the condition holds, else the third's: `select` under numpy's
/// name.
Tensor where(const Operand& condition, const Operand& x, const Operand& y);
/// Quotient of two elements, rounded down: `floor_divide` under a shorter name.
inline Tensor floor_div(const Operand& x, const Operand& y) { return floor_divide(x, y); }
/// What the division of two elements, rounded down, leaves: `rem` under numpy's name.
inline Tensor mod(const Operand& x, const Operand& y) { return rem(x, y); }
/// The last dimensions in reverse order: a matrix transposed.
inline Tensor transpose(const Tensor& x) { return x.transpose(); }
/// Two axes exchanged.
inline Tensor transpose(const Tensor& x, Axis a, Axis b) { return x.transpose(a, b); }

/// An operand pair of which at least one is a tensor.
template <class A, class B>
concept TensorPair =
    (std::derived_from<std::remove_cvref_t<A>, Tensor> && std::constructible_from<Operand, B>) ||
    (std::derived_from<std::remove_cvref_t<B>, Tensor> && std::constructible_from<Operand, A>);

#define LAZULI_OPERATOR(symbol, name)                                          \
    template <class A, class B>                                                \
        requires TensorPair<A, B>                                              \
    Tensor operator symbol(A&& a, B&& b) {                                     \
        return name(Operand(std::forward<A>(a)), Operand(std::forward<B>(b))); \
    }
/// Sum.
LAZULI_OPERATOR(+, add)
/// Difference.
LAZULI_OPERATOR(-, sub)
/// Product, element by element.
LAZULI_OPERATOR(*, mul)
/// Quotient.
LAZULI_OPERATOR(/, div)
/// Whether elements are equal.
LAZULI_OPERATOR(==, eq)
/// Whether elements differ.
LAZULI_OPERATOR(!=, ne)
/// Whether elements are less.
LAZULI_OPERATOR(<, lt)
/// Whether elements are at most.
LAZULI_OPERATOR(<=, le)
/// Whether elements are greater.
LAZULI_OPERATOR(>, gt)
/// Whether elements are at least.
LAZULI_OPERATOR(>=, ge)
#undef LAZULI_OPERATOR

/// Negation.
inline Tensor operator-(const Tensor& x) { return neg(x); }
/// Negation.
inline Tensor operator-(Tensor&& x) { return neg(std::move(x)); }
/// Adds in place: the handle refers to the sum from now on.
inline Tensor& operator+=(Tensor& x, const Operand& y) { return x = add(std::move(x), y); }
/// Subtracts.
inline Tensor& operator-=(Tensor& x, const Operand& y) { return x = sub(std::move(x), y); }
/// Multiplies.
inline Tensor& operator*=(Tensor& x, const Operand& y) { return x = mul(std::move(x), y); }
/// Divides.
inline Tensor& operator/=(Tensor& x, const Operand& y) { return x = div(std::move(x), y); }

}  // namespace lazuli
