#pragma once

// What the gradients of linear algebra share: products of values whose last two dimensions are
// matrices.

#include <string_view>
#include <vector>

#include "ops/gradient.h"
#include "ops/routines.h"

namespace lazuli::ops {

/// Rows as columns.
Value turned_over(const Value& x);
/// The same, with conjugates.
inline Value adjoint(const Value& x) { return conjugate(turned_over(x)); }

/// Where rows and columns of a matrix of these sizes meet: [rows, columns].
Value on_diagonal(ProgramBuilder& builder, Dim rows, Dim columns);
/// The diagonals: [..., n].
Value diagonal_of(const Value& x);
/// Matrices with these diagonals, and zeros elsewhere.
Value diagonal_matrix(const Value& x);
/// The lower triangle, with half of the diagonal.
Value lower_half(const Value& x);
/// Each column, or row, times a real number: [..., n].
Value with_columns_times(const Value& x, const Value& numbers);
Value with_rows_times(const Value& x, const Value& numbers);
/// A real value times i, in a complex type.
Value times_i(const Value& x, DType dtype);

Value triangular_solve(const Value& a, const Value& b, const Triangle& triangle);
/// x times the inverse of the adjoint of an upper triangular matrix.
Value over_adjoint(const Value& x, const Value& upper);

/// All results of an op of one operand that has several.
std::vector<Value> results_of(std::string_view op, const Value& x);

/// What flows back to a matrix of which an op reads the lower triangle and the real diagonal, and
/// takes the upper triangle as its mirror image: all to where it is read, nothing above. (PyTorch
/// gives half of it to each triangle, which is the same for a matrix that stays Hermitian.)
Value to_lower(const Value& x);

/// From [..., n] to [..., n, n]: 1 over the column's number less the row's, times factors; 0 on the
/// diagonal.
Value over_differences(const Value& numbers, const Value& factors);

/// Columns of complex vectors are turned so that one element of each is real and positive
/// (phase_of): what flows to the columns before that. `turning` says how much the result falls as
/// each is turned, with all that turns with it: the imaginary part of its products with cotangents.
Value before_turning(const Value& cotangent, const Value& columns, const Value& turning);

}  // namespace lazuli::ops
