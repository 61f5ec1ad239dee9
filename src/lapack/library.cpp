#include "lapack/library.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <mutex>
#include <vector>

using lazuli::ops::Real;
using lazuli::ops::Routines;
using lazuli::ops::Triangle;
using C64 = std::complex<float>;
using C128 = std::complex<double>;

// Fortran's conventions: arguments by address, and the length of each text behind all of them.
extern "C" {
#define LAZULI_LAPACK_NAMES(p, T, Q)                                                          \
    void p##potrf_(const char*, const int*, T*, const int*, int*, std::size_t);               \
    void p##getrf_(const int*, const int*, T*, const int*, int*, int*);                       \
    void p##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, \
                   const int*, int*, std::size_t);                                            \
    void p##trtrs_(const char*, const char*, const char*, const int*, const int*, const T*,   \
                   const int*, T*, const int*, int*, std::size_t, std::size_t, std::size_t);  \
    void p##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);         \
    void Q(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
LAZULI_LAPACK_NAMES(s, float, sorgqr_)
LAZULI_LAPACK_NAMES(d, double, dorgqr_)
LAZULI_LAPACK_NAMES(c, C64, cungqr_)
LAZULI_LAPACK_NAMES(z, C128, zungqr_)
#undef LAZULI_LAPACK_NAMES
#define LAZULI_LAPACK_REAL(p, T)                                                                   \
    void p##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*,    \
                   const int*, T*, const int*, int*, int*, std::size_t);                           \
    void p##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, \
                   const int*, int*, std::size_t, std::size_t);
LAZULI_LAPACK_REAL(s, float)
LAZULI_LAPACK_REAL(d, double)
#undef LAZULI_LAPACK_REAL
#define LAZULI_LAPACK_COMPLEX(p, T, R)                                                           \
    void p##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,  \
                   const int*, T*, const int*, R*, int*, int*, std::size_t);                     \
    void p##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*, \
                   const int*, int*, const int*, int*, std::size_t, std::size_t);
LAZULI_LAPACK_COMPLEX(c, C64, float)
LAZULI_LAPACK_COMPLEX(z, C128, double)
#undef LAZULI_LAPACK_COMPLEX
// Only OpenBLAS has them.
int openblas_get_num_threads() __attribute__((weak));
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_parallel() __attribute__((weak));
}

namespace {

/// The functions of one element type by one name each.
template <class T>
struct Names;
#define LAZULI_LAPACK_TABLE(p, T, Q, E)          \
    template <>                                  \
    struct Names<T> {                            \
        static constexpr auto potrf = p##potrf_; \
        static constexpr auto getrf = p##getrf_; \
        static constexpr auto getrs = p##getrs_; \
        static constexpr auto trtrs = p##trtrs_; \
        static constexpr auto geqrf = p##geqrf_; \
        static constexpr auto make_q = Q;        \
        static constexpr auto gesdd = p##gesdd_; \
        static constexpr auto eigen = E;         \
    };
LAZULI_LAPACK_TABLE(s, float, sorgqr_, ssyevd_)
LAZULI_LAPACK_TABLE(d, double, dorgqr_, dsyevd_)
LAZULI_LAPACK_TABLE(c, C64, cungqr_, cheevd_)
LAZULI_LAPACK_TABLE(z, C128, zungqr_, zheevd_)
#undef LAZULI_LAPACK_TABLE

template <class T>
constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

int narrow(std::int64_t n) { return static_cast<int>(n); }
/// A size that the library gives as the first element of a work array. A float may have rounded it
/// down.
template <class T>
std::vector<T> work_of(const T& asked) {
    const auto size = static_cast<double>(std::real(asked));
    return std::vector<T>(static_cast<std::size_t>(size * 1.0001) + 1);
}
template <class T>
int length(const std::vector<T>& v) {
    return static_cast<int>(std::min<std::size_t>(v.size(), INT_MAX));
}

template <class T>
std::int64_t cholesky(std::int64_t size, T* a) {
    const int n = narrow(size);
    int info = 0;
    Names<T>::potrf("L", &n, a, &n, &info, 1);
    return info;
}

template <class T>
std::int64_t lu(std::int64_t size, T* a, std::int32_t* pivots) {
    const int n = narrow(size);
    int info = 0;
    Names<T>::getrf(&n, &n, a, &n, pivots, &info);
    return info;
}

template <class T>
void lu_solve(std::int64_t size, std::int64_t columns, const T* a, const std::int32_t* pivots,
              T* b) {
    const int n = narrow(size);
    const int right = narrow(columns);
    int info = 0;
    Names<T>::getrs("N", &n, &right, a, &n, pivots, b, &n, &info, 1);
}

template <class T>
void triangular_solve(const Triangle& triangle, std::int64_t size, std::int64_t columns, const T* a,
                      T* b) {
    const int n = narrow(size);
    const int right = narrow(columns);
    int info = 0;
    Names<T>::trtrs(triangle.lower ? "L" : "U", triangle.transposed ? "T" : "N",
                    triangle.unit_diagonal ? "U" : "N", &n, &right, a, &n, b, &n, &info, 1, 1, 1);
}

template <class T>
std::int64_t qr(std::int64_t rows, std::int64_t columns, T* a, T* q, T* r) {
    const int m = narrow(rows);
    const int n = narrow(columns);
    const int k = std::min(m, n);
    const int ask = -1;
    int info = 0;
    std::vector<T> tau(static_cast<std::size_t>(k));
    T asked{};
    Names<T>::geqrf(&m, &n, a, &m, tau.data(), &asked, &ask, &info);
    std::vector<T> work = work_of(asked);
    int room = length(work);
    Names<T>::geqrf(&m, &n, a, &m, tau.data(), work.data(), &room, &info);
    if (info != 0) return -1;
    for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < k; ++i) r[i + j * k] = i <= j ? a[i + j * rows] : T(0);
    }
    std::copy(a, a + rows * k, q);
    Names<T>::make_q(&m, &k, &k, q, &m, tau.data(), &asked, &ask, &info);
    work = work_of(asked);
    room = length(work);
    Names<T>::make_q(&m, &k, &k, q, &m, tau.data(), work.data(), &room, &info);
    return info == 0 ? 0 : -1;
}

template <class T>
std::int64_t svd(std::int64_t rows, std::int64_t columns, T* a, T* u, Real<T>* s, T* vh) {
    const int m = narrow(rows);
    const int n = narrow(columns);
    const int k = std::min(m, n);
    const std::int64_t most = std::max(rows, columns);
    int info = 0;
    std::vector<int> integers(static_cast<std::size_t>(8 * k));
    std::vector<Real<T>> reals;
    if constexpr (kIsComplex<T>) {
        const std::int64_t by_size = std::max<std::int64_t>(5 * k + 7, 2 * most + 2 * k + 1);
        reals.resize(static_cast<std::size_t>(k * by_size));
    }
    const auto call = [&](T* work, int room) {
        if constexpr (kIsComplex<T>) {
            Names<T>::gesdd("S", &m, &n, a, &m, s, u, &m, vh, &k, work, &room, reals.data(),
                            integers.data(), &info, 1);
        } else {
            Names<T>::gesdd("S", &m, &n, a, &m, s, u, &m, vh, &k, work, &room, integers.data(),
                            &info, 1);
        }
    };
    T asked{};
    call(&asked, -1);
    std::vector<T> work = work_of(asked);
    call(work.data(), length(work));
    return info == 0 ? 0 : -1;
}

template <class T>
std::int64_t eigh(std::int64_t size, T* a, Real<T>* values) {
    const int n = narrow(size);
    int info = 0;
    std::vector<int> integers(1);
    std::vector<Real<T>> reals(1);
    const auto call = [&](T* work, int room, int real_room, int integer_room) {
        if constexpr (kIsComplex<T>) {
            Names<T>::eigen("V", "L", &n, a, &n, values, work, &room, reals.data(), &real_room,
                            integers.data(), &integer_room, &info, 1, 1);
        } else {
            (void)real_room;
            Names<T>::eigen("V", "L", &n, a, &n, values, work, &room, integers.data(),
                            &integer_room, &info, 1, 1);
        }
    };
    T asked{};
    call(&asked, -1, -1, -1);
    std::vector<T> work = work_of(asked);
    reals = work_of(reals[0]);
    integers.resize(static_cast<std::size_t>(std::max(integers[0], 1)));
    call(work.data(), length(work), length(reals), length(integers));
    return info == 0 ? 0 : -1;
}

template <class T>
constexpr Routines<T> kRoutines{cholesky<T>, lu<T>,  lu_solve<T>, triangular_solve<T>,
                                qr<T>,       svd<T>, eigh<T>};

std::mutex callers_mutex;
int callers = 0;
int threads_before = 0;

}  // namespace

const LazuliLapack* lazuli_lapack() {
    // An OpenBLAS that was built without threads takes no care of those that call it: two at once
    // spoil each other's work.
    if (openblas_get_parallel != nullptr && openblas_get_parallel() == 0) return nullptr;
    static constexpr LazuliLapack tables{&kRoutines<float>, &kRoutines<double>, &kRoutines<C64>,
                                         &kRoutines<C128>};
    return &tables;
}

void lazuli_lapack_begin() {
    if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
    const std::scoped_lock lock(callers_mutex);
    if (callers++ > 0) return;
    threads_before = openblas_get_num_threads();
    if (threads_before != 1) openblas_set_num_threads(1);
}

void lazuli_lapack_end() {
    if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
    const std::scoped_lock lock(callers_mutex);
    if (--callers == 0 && threads_before != 1) openblas_set_num_threads(threads_before);
}
