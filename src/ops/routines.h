#pragma once

// What linear algebra is made of: factorisations of one matrix. There are two makes of each: plain
// ones of ours, which say what is meant (linalg_plain.cpp), and LAPACK's (src/lapack).
//
// Matrices lie column by column, without gaps: element (i, j) of m rows is a[i + j * m]. A routine
// returns 0, or 1 + the number of the pivot that stopped it; -1 where it did not converge.

#include <complex>
#include <cstdint>

namespace lazuli::ops {

template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
    using type = T;
};
/// The type of the absolute value of a T.
template <class T>
using Real = typename RealOf<T>::type;

/// Which triangle a triangular matrix is, and how it is read.
struct Triangle {
    bool lower = true;
    bool transposed = false;     // without conjugation
    bool unit_diagonal = false;  // its diagonal is taken as ones
};

template <class T>
struct Routines {
    /// L of the Hermitian n x n matrix whose lower triangle `a` has, in place. What stands above is
    /// left.
    std::int64_t (*cholesky)(std::int64_t n, T* a);
    /// L (of unit diagonal) and U in place, rows exchanged: row i with row pivots[i] - 1, in order.
    /// A pivot of 0 does not stop it: the first is returned, and U has it.
    std::int64_t (*lu)(std::int64_t n, T* a, std::int32_t* pivots);
    /// Solves for `columns` right-hand sides in place, by what `lu` made.
    void (*lu_solve)(std::int64_t n, std::int64_t columns, const T* a, const std::int32_t* pivots,
                     T* b);
    /// Solves by substitution, in place. The diagonal has no 0.
    void (*triangular_solve)(const Triangle& triangle, std::int64_t n, std::int64_t columns,
                             const T* a, T* b);
    /// q is m x k, r is k x n, where k is the smaller of m and n; `a` is used up. Signs are as they
    /// come.
    std::int64_t (*qr)(std::int64_t m, std::int64_t n, T* a, T* q, T* r);
    /// u is m x k, s has k values that do not grow, vh is k x n; `a` is used up. Phases are as they
    /// come.
    std::int64_t (*svd)(std::int64_t m, std::int64_t n, T* a, T* u, Real<T>* s, T* vh);
    /// Eigenvalues that do not fall, and eigenvectors as columns in place of `a`, whose lower
    /// triangle is read. Phases are as they come.
    std::int64_t (*eigh)(std::int64_t n, T* a, Real<T>* values);
};

/// The plain ones.
const Routines<double>& plain_routines(const double*);
const Routines<std::complex<double>>& plain_routines(const std::complex<double>*);

}  // namespace lazuli::ops
