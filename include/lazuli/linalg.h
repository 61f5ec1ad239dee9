#pragma once

/// @file
/// Linear algebra. Matrices are the last two dimensions; all before them is a batch, and each
/// matrix of it is computed on its own. Elements are f32, f64, c64 or c128; integers and bool
/// become f32. Each function records, and returns at once: a matrix that is singular, or not
/// positive definite, is an ExecutionError where a value is asked for.

#include "lazuli/tensor.h"

namespace lazuli::linalg {

/// The factors of `qr`.
struct Qr {
    Tensor q;  ///< Orthonormal columns: [..., m, k], where k is the smaller of m and n.
    Tensor r;  ///< Upper triangular, the diagonal real and not below 0: [..., k, n].
};

/// The factors of `svd`.
struct Svd {
    Tensor u;   ///< Orthonormal columns: [..., m, k], where k is the smaller of m and n.
    Tensor s;   ///< Singular values, real, that do not grow: [..., k].
    Tensor vh;  ///< Orthonormal rows: [..., k, n].
};

/// What `eigh` finds.
struct Eigh {
    Tensor values;   ///< Eigenvalues, real, that do not fall: [..., n].
    Tensor vectors;  ///< Eigenvectors of unit length, a column each: [..., n, n].
};

/// How `triangular_solve` reads its matrix.
struct Triangular {
    bool lower = true;           ///< Whether the lower triangle is read, else the upper one.
    bool transposed = false;     ///< Whether it is transposed; complex numbers stay as they are.
    bool unit_diagonal = false;  ///< Whether the diagonal is taken as ones, and not read.
};

/// The lower triangular L of positive diagonal for which L times its adjoint is the matrix. Only
/// the lower triangle is read.
Tensor cholesky(const Tensor& x);
/// Q and R, whose product is the matrix. The diagonal of R is real and not below 0.
Qr qr(const Tensor& x);
/// U, S and Vh: the matrix is U times the diagonal matrix of S times Vh. Of each column of U, the
/// first element whose modulus is at least 0.9 of the largest is real and positive.
Svd svd(const Tensor& x);
/// Singular values, that do not grow.
Tensor svdvals(const Tensor& x);
/// Eigenvalues and eigenvectors of a Hermitian matrix, of which only the lower triangle is read. Of
/// each vector, the first element whose modulus is at least 0.9 of the largest is real and
/// positive.
Eigh eigh(const Tensor& x);
/// Eigenvalues of a Hermitian matrix, that do not fall.
Tensor eigvalsh(const Tensor& x);
/// What the matrix must be multiplied by to give `b`: a vector where b has rank 1, else matrices.
/// Batches broadcast.
Tensor solve(const Tensor& a, const Tensor& b);
/// The same for a triangular matrix.
Tensor triangular_solve(const Tensor& a, const Tensor& b, Triangular triangle = {});
/// The inverse.
Tensor inv(const Tensor& x);
/// The determinant: [...].
Tensor det(const Tensor& x);
/// The shortest x for which a times x comes closest to `b`: a vector where b has rank 1, else
/// matrices. Singular values of at most `rcond` times the largest count as 0; where it is negative,
/// of at most the type's epsilon times the larger side.
Tensor lstsq(const Tensor& a, const Tensor& b, double rcond = -1);

}  // namespace lazuli::linalg
