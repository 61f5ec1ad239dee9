// Singular values and eigenvalues.

#include <fmt/format.h>

#include "ops/linalg.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

std::vector<TensorSpec> results_of_svd(const InferArgs& args) {
    require_matrix(args, 0);
    const TensorSpec& a = *args.inputs[0];
    const int rank = a.shape.rank();
    const Dim m = a.shape.dim(rank - 2);
    const Dim n = a.shape.dim(rank - 1);
    const Dim k = min(m, n);
    return {{a.dtype, with_matrix(a.shape, m, k)},
            {real_part(a.dtype), with_vector(a.shape, k)},
            {a.dtype, with_matrix(a.shape, k, n)}};
}
TensorSpec infer_svd(const InferArgs& args) { return bundle_spec(results_of_svd(args)); }

std::vector<TensorSpec> results_of_eigh(const InferArgs& args) {
    require_square(args, 0);
    const TensorSpec& a = *args.inputs[0];
    return {{real_part(a.dtype), with_vector(a.shape, a.shape.dim(a.shape.rank() - 1))}, a};
}
TensorSpec infer_eigh(const InferArgs& args) { return bundle_spec(results_of_eigh(args)); }

}  // namespace

void svd_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                 std::int64_t end) {
    const Shape& shape = args.inputs[0].spec->shape;
    const std::int64_t m = shape[shape.rank() - 2];
    const std::int64_t n = shape[shape.rank() - 1];
    const std::int64_t k = std::min(m, n);
    if (k == 0) return;
    const auto layout = bundle_layout(args);
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * m * n, m, n);
            T* u_out = bundle_part<T>(args, layout, 0) + batch * m * k;
            Real<T>* s_out = bundle_part<Real<T>>(args, layout, 1) + batch * k;
            T* vh_out = bundle_part<T>(args, layout, 2) + batch * k * n;
            if (!all_finite(a)) {
                fill_nan(u_out, m * k);
                fill_nan(s_out, k);
                fill_nan(vh_out, k * n);
                continue;
            }
            std::vector<C> u(static_cast<std::size_t>(m * k));
            std::vector<Real<C>> s(static_cast<std::size_t>(k));
            std::vector<C> vh(static_cast<std::size_t>(k * n));
            if (routines.svd(m, n, a.data(), u.data(), s.data(), vh.data()) != 0)
                fail_at(args, batch, "has singular values that did not converge");
            for (std::int64_t c = 0; c < k; ++c) {
                const C phase = phase_of(u.data() + c * m, m);
                for (std::int64_t i = 0; i < m; ++i)
                    u[static_cast<std::size_t>(i + c * m)] *= conjugate(phase);
                for (std::int64_t j = 0; j < n; ++j)
                    vh[static_cast<std::size_t>(c + j * k)] *= phase;
            }
            rows_of(u, m, k, u_out);
            rows_of(s, k, 1, s_out);
            rows_of(vh, k, n, vh_out);
        }
    });
}

void eigh_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                  std::int64_t end) {
    const Shape& shape = args.inputs[0].spec->shape;
    const std::int64_t n = shape[shape.rank() - 1];
    if (n == 0) return;
    const auto layout = bundle_layout(args);
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * n * n, n, n);
            Real<T>* values_out = bundle_part<Real<T>>(args, layout, 0) + batch * n;
            T* vectors_out = bundle_part<T>(args, layout, 1) + batch * n * n;
            mirror_lower(n, a);
            if (!all_finite(a)) {
                fill_nan(values_out, n);
                fill_nan(vectors_out, n * n);
                continue;
            }
            std::vector<Real<C>> values(static_cast<std::size_t>(n));
            if (routines.eigh(n, a.data(), values.data()) != 0)
                fail_at(args, batch, "has eigenvalues that did not converge");
            for (std::int64_t c = 0; c < n; ++c) {
                const C phase = conjugate(phase_of(a.data() + c * n, n));
                for (std::int64_t i = 0; i < n; ++i)
                    a[static_cast<std::size_t>(i + c * n)] *= phase;
            }
            rows_of(values, n, 1, values_out);
            rows_of(a, n, n, vectors_out);
        }
    });
}

std::vector<OpDef> linalg_spectral() {
    constexpr std::string_view kPhase =
        "The first element of a column of U whose modulus is at least 0.9 of the column's largest "
        "is real and positive; so U and Vh are unique where the singular values differ and are not "
        "0. A matrix that holds NaN or infinity gives NaN everywhere. Of a matrix without "
        "elements, "
        "parts without elements, or S of none.";
    return {
        {
            .name = "svd",
            .doc = "U, S and Vh of each matrix, which is U times the diagonal matrix of S times "
                   "Vh: columns of U and rows of Vh are orthonormal, as many as the smaller side "
                   "has, and singular values do not grow.",
            .edge = kPhase,
            .traits = Trait::keep_if_held | Trait::to_float | Trait::sensitive,
            .dtypes = kLinear,
            .infer = infer_svd,
            .results = results_of_svd,
            .evaluate = evaluate_linear<svd_batches>,
            .tolerance = {.ulps = 256, .absolute = 1e-4},
            .sample = {.low = -1, .high = 1, .edges = false},
            .cases = {{{{2, 3, 3}}, {}},
                      {{{5, 3}}, {}},
                      {{{3, 4}}, {}},
                      {{{1, 1}}, {}},
                      {{{0, 0}}, {}},
                      {{{0, 3, 2}}, {}},
                      {{{3, 0}}, {}}},
        },
        {
            .name = "eigh",
            .doc = "Eigenvalues of each Hermitian matrix, which do not fall, and orthonormal "
                   "eigenvectors, a column each.",
            .edge = "Only the lower triangle and the real parts of the diagonal are read. The "
                    "first element of an eigenvector whose modulus is at least 0.9 of its largest "
                    "is real and positive; so vectors are unique where eigenvalues differ. A "
                    "matrix that holds NaN or infinity gives NaN everywhere. Of 0 x 0 nothing.",
            .traits = Trait::keep_if_held | Trait::to_float | Trait::sensitive,
            .dtypes = kLinear,
            .infer = infer_eigh,
            .results = results_of_eigh,
            .evaluate = evaluate_linear<eigh_batches>,
            .tolerance = {.ulps = 256, .absolute = 1e-4},
            .sample = {.low = -1, .high = 1, .edges = false},
            .cases = {{{{2, 3, 3}}, {}},
                      {{{4, 4}}, {}},
                      {{{1, 1}}, {}},
                      {{{0, 0}}, {}},
                      {{{0, 3, 3}}, {}}},
        },
    };
}

}  // namespace lazuli::ops
