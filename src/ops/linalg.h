#pragma once

// What the ops of linear algebra share: matrices are the last two dimensions, all before them is a
// batch, and each matrix is computed on its own by routines (routines.h).

#include <cmath>
#include <cstddef>
#include <vector>

#include "ops/bundle.h"
#include "ops/eval.h"
#include "ops/routines.h"

namespace lazuli::ops {

inline constexpr DTypeSet kLinear{f32, f64, c64, c128};

/// LAPACK's routines by element type.
struct LapackRoutines {
    const Routines<float>* single = nullptr;
    const Routines<double>* twice = nullptr;
    const Routines<std::complex<float>>* complex_single = nullptr;
    const Routines<std::complex<double>>* complex_twice = nullptr;

    const Routines<float>& of(const float*) const { return *single; }
    const Routines<double>& of(const double*) const { return *twice; }
    const Routines<std::complex<float>>& of(const std::complex<float>*) const {
        return *complex_single;
    }
    const Routines<std::complex<double>>& of(const std::complex<double>*) const {
        return *complex_twice;
    }
};

/// Computes the matrices begin .. end of a batch: with LAPACK's routines in the elements' own type,
/// or where there are none with the plain ones in f64. Batches do not know of each other.
using LinearBatches = void (*)(const EvalArgs& args, const LapackRoutines* lapack,
                               std::int64_t begin, std::int64_t end);
/// That of an op of linear algebra, by its name; null for other ops.
LinearBatches linear_batches(std::string_view op);

/// How many matrices an operand of this shape has.
std::int64_t batch_count(const Shape& shape);

void cholesky_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void qr_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void svd_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void eigh_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void solve_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void triangular_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void inv_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void det_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);
void lstsq_batches(const EvalArgs&, const LapackRoutines*, std::int64_t, std::int64_t);

/// The meaning of an op: its batches in order, with plain routines.
template <LinearBatches Batches>
void evaluate_linear(const EvalArgs& args) {
    Batches(args, nullptr, 0, batch_count(args.inputs[0].spec->shape));
}

// ---- inference

/// ShapeError where the operand is no matrix or batch of them.
void require_matrix(const InferArgs& args, int operand);
/// The same where it is not square.
void require_square(const InferArgs& args, int operand);
/// ShapeError where two operands have other batches, or the first has other rows than the second.
void require_system(const InferArgs& args);
/// The operand's shape with other rows and columns.
Shape with_matrix(const Shape& shape, Dim rows, Dim columns);
/// The operand's shape with one dimension in place of rows and columns.
Shape with_vector(const Shape& shape, Dim size);

// ---- one matrix

/// Calls f<T, C>(routines) with the elements' type, and the type that the routines compute in.
template <class F>
void with_routines(const EvalArgs& args, const LapackRoutines* lapack, F&& f) {
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (kLinear.contains(dtype_of<T>())) {
            if (lapack != nullptr) {
                f.template operator()<T, T>(lapack->of(static_cast<const T*>(nullptr)));
            } else {
                using C = Compute<T>;
                f.template operator()<T, C>(plain_routines(static_cast<const C*>(nullptr)));
            }
        } else {
            throw InternalError("an element type that inference should have refused");
        }
    });
}

template <class T>
T conjugate(T x) {
    return x;
}
template <class T>
std::complex<T> conjugate(std::complex<T> x) {
    return std::conj(x);
}
template <class T>
bool is_finite(T x) {
    return std::isfinite(x);
}
template <class T>
bool is_finite(std::complex<T> x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
}

/// A matrix column by column, of rows that lie one behind the other.
template <class C, class T>
std::vector<C> columns_of(const T* rows, std::int64_t m, std::int64_t n) {
    std::vector<C> out(static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j)
            out[static_cast<std::size_t>(i + j * m)] = static_cast<C>(rows[i * n + j]);
    }
    return out;
}
/// The other way.
template <class T, class C>
void rows_of(const std::vector<C>& columns, std::int64_t m, std::int64_t n, T* rows) {
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j)
            rows[i * n + j] = convert<T>(columns[static_cast<std::size_t>(i + j * m)]);
    }
}

template <class C>
bool all_finite(const std::vector<C>& a) {
    for (const C& x : a) {
        if (!is_finite(x)) return false;
    }
    return true;
}
template <class T>
void fill_nan(T* out, std::int64_t count) {
    std::fill(out, out + count, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

/// The Hermitian matrix whose lower triangle and real diagonal `a` has.
template <class C>
void mirror_lower(std::int64_t n, std::vector<C>& a) {
    for (std::int64_t j = 0; j < n; ++j) {
        C& diagonal = a[static_cast<std::size_t>(j + j * n)];
        diagonal = C(std::real(diagonal));
        for (std::int64_t i = j + 1; i < n; ++i)
            a[static_cast<std::size_t>(j + i * n)] =
                conjugate(a[static_cast<std::size_t>(i + j * n)]);
    }
}

/// The number of modulus 1 that a vector is divided by for its phase to be ours: that of its first
/// element whose modulus is at least 0.9 of the largest. 1 for no element but zeros.
template <class C>
C phase_of(const C* x, std::int64_t count) {
    Real<C> most = 0;
    for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
    if (most == 0) return C(1);
    while (std::abs(*x) < Real<C>(0.9) * most) ++x;
    return *x / std::abs(*x);
}

/// ExecutionError that names the matrix of the batch.
[[noreturn]] void fail_at(const EvalArgs& args, std::int64_t batch, const std::string& why);

}  // namespace lazuli::ops
