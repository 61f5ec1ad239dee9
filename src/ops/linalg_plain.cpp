// Factorisations as textbooks have them, in f64 or complex f64. They say what the ops of linear
// algebra mean; nothing here is fast.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/routines.h"

namespace lazuli::ops {

namespace {

using Complex = std::complex<double>;

double conjugate(double x) { return x; }
Complex conjugate(Complex x) { return std::conj(x); }
double real_of(double x) { return x; }
double real_of(Complex x) { return x.real(); }
/// The square of the modulus.
double square(double x) { return x * x; }
double square(Complex x) { return std::norm(x); }

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kSweeps = 60;  // Jacobi's methods need about ten

/// The largest modulus of an element; 0 of none.
template <class T>
double largest(std::int64_t count, const T* a) {
    double out = 0;
    for (std::int64_t i = 0; i < count; ++i) out = std::max(out, std::abs(a[i]));
    return out;
}

/// Multiplies by a power of two that brings the largest modulus near 1, so that squares neither
/// overflow nor vanish. Returns what values are to be multiplied by to have their size again.
template <class T>
double balance(std::int64_t count, T* a) {
    const double size = largest(count, a);
    if (size == 0) return 1;
    const int exponent = std::ilogb(size);
    for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<T, double>) {
            a[i] = std::ldexp(a[i], -exponent);
        } else {
            a[i] = {std::ldexp(a[i].real(), -exponent), std::ldexp(a[i].imag(), -exponent)};
        }
    }
    return std::ldexp(1.0, exponent);
}

// ---- Cholesky and LU

template <class T>
std::int64_t cholesky(std::int64_t n, T* a) {
    for (std::int64_t j = 0; j < n; ++j) {
        double pivot = real_of(a[j + j * n]);
        for (std::int64_t k = 0; k < j; ++k) pivot -= square(a[j + k * n]);
        if (!(pivot > 0)) return j + 1;
        const double diagonal = std::sqrt(pivot);
        a[j + j * n] = diagonal;
        for (std::int64_t i = j + 1; i < n; ++i) {
            T sum = a[i + j * n];
            for (std::int64_t k = 0; k < j; ++k) sum -= a[i + k * n] * conjugate(a[j + k * n]);
            a[i + j * n] = sum / diagonal;
        }
    }
    return 0;
}

template <class T>
std::int64_t lu(std::int64_t n, T* a, std::int32_t* pivots) {
    std::int64_t failed = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t best = j;
        for (std::int64_t i = j + 1; i < n; ++i) {
            if (std::abs(a[i + j * n]) > std::abs(a[best + j * n])) best = i;
        }
        pivots[j] = static_cast<std::int32_t>(best + 1);
        for (std::int64_t k = 0; k < n; ++k) std::swap(a[j + k * n], a[best + k * n]);
        if (a[j + j * n] == T(0)) {
            if (failed == 0) failed = j + 1;
            continue;
        }
        for (std::int64_t i = j + 1; i < n; ++i) {
            a[i + j * n] /= a[j + j * n];
            for (std::int64_t k = j + 1; k < n; ++k) a[i + k * n] -= a[i + j * n] * a[j + k * n];
        }
    }
    return failed;
}

template <class T>
void triangular_solve(const Triangle& triangle, std::int64_t n, std::int64_t columns, const T* a,
                      T* b) {
    const auto at = [&](std::int64_t i, std::int64_t j) {
        return triangle.transposed ? a[j + i * n] : a[i + j * n];
    };
    const bool forward = triangle.lower != triangle.transposed;
    for (std::int64_t c = 0; c < columns; ++c) {
        T* x = b + c * n;
        for (std::int64_t step = 0; step < n; ++step) {
            const std::int64_t i = forward ? step : n - 1 - step;
            T sum = x[i];
            for (std::int64_t k = 0; k < step; ++k) {
                const std::int64_t j = forward ? k : n - 1 - k;
                sum -= at(i, j) * x[j];
            }
            x[i] = triangle.unit_diagonal ? sum : sum / at(i, i);
        }
    }
}

template <class T>
void lu_solve(std::int64_t n, std::int64_t columns, const T* a, const std::int32_t* pivots, T* b) {
    for (std::int64_t c = 0; c < columns; ++c) {
        for (std::int64_t i = 0; i < n; ++i) std::swap(b[i + c * n], b[pivots[i] - 1 + c * n]);
    }
    triangular_solve({.lower = true, .unit_diagonal = true}, n, columns, a, b);
    triangular_solve({.lower = false}, n, columns, a, b);
}

// ---- QR, by reflections

template <class T>
std::int64_t qr(std::int64_t m, std::int64_t n, T* a, T* q, T* r) {
    const std::int64_t k = std::min(m, n);
    const double scale = balance(m * n, a);
    // Reflection j is 1 - 2 v v^H, with v of unit length in rows j and below.
    std::vector<std::vector<T>> reflections;
    const auto reflect = [&](const std::vector<T>& v, std::int64_t from, T* column) {
        if (v.empty()) return;
        T dot{};
        for (std::int64_t i = from; i < m; ++i)
            dot += conjugate(v[static_cast<std::size_t>(i - from)]) * column[i];
        for (std::int64_t i = from; i < m; ++i)
            column[i] -= 2.0 * dot * v[static_cast<std::size_t>(i - from)];
    };
    for (std::int64_t j = 0; j < k; ++j) {
        std::vector<T> v(a + j + j * m, a + m + j * m);
        double length = 0;
        for (const T& x : v) length += square(x);
        length = std::sqrt(length);
        // Away from the element on the diagonal, so that nothing cancels.
        const double head = std::abs(v[0]);
        v[0] += head == 0 ? T(length) : v[0] / head * length;
        double size = 0;
        for (const T& x : v) size += square(x);
        size = std::sqrt(size);
        for (T& x : v) x /= size;
        if (size == 0) v.clear();
        for (std::int64_t c = j; c < n; ++c) reflect(v, j, a + c * m);
        reflections.push_back(std::move(v));
    }
    for (std::int64_t c = 0; c < n; ++c) {
        for (std::int64_t i = 0; i < k; ++i) r[i + c * k] = i <= c ? a[i + c * m] * scale : T(0);
    }
    for (std::int64_t c = 0; c < k; ++c) {
        T* column = q + c * m;
        std::fill(column, column + m, T(0));
        column[c] = 1;
        for (std::int64_t j = k; j-- > 0;)
            reflect(reflections[static_cast<std::size_t>(j)], j, column);
    }
    return 0;
}

// ---- Jacobi's methods

/// The rotation that makes the Hermitian matrix [alpha, gamma; conj(gamma), beta] diagonal: columns
/// p and q become c p - s q' and s p + c q', where q' is q times `turn`.
template <class T>
struct Rotation {
    T turn;
    double c, s;
    Rotation(double alpha, double beta, T gamma) : turn(conjugate(gamma) / std::abs(gamma)) {
        const double zeta = (beta - alpha) / (2 * std::abs(gamma));
        const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        c = 1 / std::hypot(1.0, t);
        s = c * t;
    }
    void apply(std::int64_t n, T* p, T* q) const {
        for (std::int64_t i = 0; i < n; ++i) {
            const T x = p[i];
            const T y = q[i] * turn;
            p[i] = c * x - s * y;
            q[i] = s * x + c * y;
        }
    }
};

template <class T>
std::vector<T> identity(std::int64_t n) {
    std::vector<T> out(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i * n + i)] = 1;
    return out;
}

/// The columns of `a` (m x n) from `first` on, made of unit length and orthogonal to all before
/// them: of no direction of their own.
template <class T>
void complete(std::int64_t m, std::int64_t first, std::int64_t n, T* a) {
    std::int64_t axis = 0;
    for (std::int64_t c = first; c < n; ++c) {
        T* column = a + c * m;
        for (double length = 0; length < 0.5 / std::sqrt(static_cast<double>(m));) {
            std::fill(column, column + m, T(0));
            column[axis++] = 1;
            for (int twice = 0; twice < 2; ++twice) {
                for (std::int64_t j = 0; j < c; ++j) {
                    T dot{};
                    for (std::int64_t i = 0; i < m; ++i) dot += conjugate(a[i + j * m]) * column[i];
                    for (std::int64_t i = 0; i < m; ++i) column[i] -= dot * a[i + j * m];
                }
            }
            length = 0;
            for (std::int64_t i = 0; i < m; ++i) length += square(column[i]);
            length = std::sqrt(length);
            if (length > 0) {
                for (std::int64_t i = 0; i < m; ++i) column[i] /= length;
            }
        }
    }
}

/// One-sided: rotates columns of `a`, which has no fewer rows than columns, until they are
/// orthogonal. Then a v = u s.
template <class T>
std::int64_t tall_svd(std::int64_t m, std::int64_t n, T* a, T* u, double* s, T* v) {
    const double scale = balance(m * n, a);
    std::vector<T> turned = identity<T>(n);
    bool done = n < 2;
    for (int sweep = 0; sweep < kSweeps && !done; ++sweep) {
        done = true;
        for (std::int64_t p = 0; p < n; ++p) {
            for (std::int64_t q = p + 1; q < n; ++q) {
                double alpha = 0;
                double beta = 0;
                T gamma{};
                for (std::int64_t i = 0; i < m; ++i) {
                    alpha += square(a[i + p * m]);
                    beta += square(a[i + q * m]);
                    gamma += conjugate(a[i + p * m]) * a[i + q * m];
                }
                const double size = std::abs(gamma);
                if (size < std::numeric_limits<double>::min() ||
                    size <= kEpsilon * static_cast<double>(m) * std::sqrt(alpha * beta))
                    continue;
                // Columns that are nothing beside the largest have no direction to turn.
                if (std::min(alpha, beta) < kEpsilon * kEpsilon * 1e-4) continue;
                done = false;
                const Rotation<T> rotation(alpha, beta, gamma);
                rotation.apply(m, a + p * m, a + q * m);
                rotation.apply(n, turned.data() + p * n, turned.data() + q * n);
            }
        }
    }
    if (!done) return -1;
    std::vector<double> lengths(static_cast<std::size_t>(n));
    for (std::int64_t c = 0; c < n; ++c) {
        double sum = 0;
        for (std::int64_t i = 0; i < m; ++i) sum += square(a[i + c * m]);
        lengths[static_cast<std::size_t>(c)] = std::sqrt(sum);
    }
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
        return lengths[static_cast<std::size_t>(x)] > lengths[static_cast<std::size_t>(y)];
    });
    std::int64_t directed = n;
    for (std::int64_t c = 0; c < n; ++c) {
        const std::int64_t from = order[static_cast<std::size_t>(c)];
        const double length = lengths[static_cast<std::size_t>(from)];
        s[c] = length * scale;
        std::copy_n(turned.data() + from * n, n, v + c * n);
        // What is nothing beside the largest has lost its direction.
        if (length <=
            kEpsilon * static_cast<double>(m) * lengths[static_cast<std::size_t>(order[0])]) {
            directed = std::min(directed, c);
            continue;
        }
        for (std::int64_t i = 0; i < m; ++i) u[i + c * m] = a[i + from * m] / length;
    }
    complete(m, directed, n, u);
    return 0;
}

template <class T>
std::vector<T> adjoint(std::int64_t m, std::int64_t n, const T* a) {
    std::vector<T> out(static_cast<std::size_t>(m * n));
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i)
            out[static_cast<std::size_t>(j + i * n)] = conjugate(a[i + j * m]);
    }
    return out;
}

template <class T>
std::int64_t svd(std::int64_t m, std::int64_t n, T* a, T* u, double* s, T* vh) {
    const std::int64_t k = std::min(m, n);
    std::vector<T> v(static_cast<std::size_t>(std::max(m, n) * k));
    if (m >= n) {
        const std::int64_t failed = tall_svd(m, n, a, u, s, v.data());
        std::ranges::copy(adjoint(n, n, v.data()), vh);
        return failed;
    }
    // a^H = v s u^H
    std::vector<T> turned = adjoint(m, n, a);
    const std::int64_t failed = tall_svd(n, m, turned.data(), v.data(), s, u);
    std::ranges::copy(adjoint(n, k, v.data()), vh);
    return failed;
}

template <class T>
std::int64_t eigh(std::int64_t n, T* a, double* values) {
    for (std::int64_t j = 0; j < n; ++j) {
        a[j + j * n] = real_of(a[j + j * n]);
        for (std::int64_t i = j + 1; i < n; ++i) a[j + i * n] = conjugate(a[i + j * n]);
    }
    const double scale = balance(n * n, a);
    double size = 0;
    for (std::int64_t i = 0; i < n * n; ++i) size += square(a[i]);
    const double small =
        kEpsilon * std::sqrt(size) / static_cast<double>(std::max<std::int64_t>(n, 1));
    std::vector<T> vectors = identity<T>(n);
    bool done = n < 2;
    for (int sweep = 0; sweep < kSweeps && !done; ++sweep) {
        done = true;
        for (std::int64_t p = 0; p < n; ++p) {
            for (std::int64_t q = p + 1; q < n; ++q) {
                const T gamma = a[p + q * n];
                if (std::abs(gamma) <= small * 0.01) continue;
                done = false;
                const Rotation<T> rotation(real_of(a[p + p * n]), real_of(a[q + q * n]), gamma);
                rotation.apply(n, a + p * n, a + q * n);
                rotation.apply(n, vectors.data() + p * n, vectors.data() + q * n);
                // The same from the left, to rows.
                for (std::int64_t j = 0; j < n; ++j) {
                    const T x = a[p + j * n];
                    const T y = a[q + j * n] * conjugate(rotation.turn);
                    a[p + j * n] = rotation.c * x - rotation.s * y;
                    a[q + j * n] = rotation.s * x + rotation.c * y;
                }
                a[p + q * n] = a[q + p * n] = 0;
            }
        }
    }
    if (!done) return -1;
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
        return real_of(a[x + x * n]) < real_of(a[y + y * n]);
    });
    for (std::int64_t c = 0; c < n; ++c) {
        const std::int64_t from = order[static_cast<std::size_t>(c)];
        values[c] = real_of(a[from + from * n]) * scale;
    }
    for (std::int64_t c = 0; c < n; ++c)
        std::copy_n(vectors.data() + order[static_cast<std::size_t>(c)] * n, n, a + c * n);
    return 0;
}

template <class T>
constexpr Routines<T> kPlain{cholesky<T>, lu<T>,  lu_solve<T>, triangular_solve<T>,
                             qr<T>,       svd<T>, eigh<T>};

}  // namespace

const Routines<double>& plain_routines(const double*) { return kPlain<double>; }
const Routines<Complex>& plain_routines(const Complex*) { return kPlain<Complex>; }

}  // namespace lazuli::ops
