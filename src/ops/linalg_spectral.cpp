// Singular values and eigenvalues.

#include <fmt/format.h>

#include "ops/linalg.h"
#include "ops/linalg_gradient.h"
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

// ---- gradients
//
// They are those of the vectors with the phases they have, so that any function of them may be
// differentiated. Vectors of equal values, which are any of a plane, have none: what depends on
// them gets infinity or NaN. What depends on the values alone does not.

bool has_no_elements(const Value& x) { return equal(x.shape().count(), 0) == Truth::yes; }

/// With W = V^H dA V, V changes by V times W / (column's value - row's value) off the diagonal.
Gradients eigh_gradient(const GradientArgs& g) {
    if (has_no_elements(g[0])) return {zeros_like(g[0])};
    const DType dtype = g[0].dtype();
    const Value vectors = part_of(g, 1);
    const Value& to_values = g.cotangents[0];
    Value to_vectors = g.cotangents[1];
    Value left;
    if (to_values.defined()) left = with_columns_times(vectors, to_values);
    if (to_vectors.defined()) {
        Value inside = matmul(adjoint(vectors), to_vectors);
        if (is_complex(dtype)) {
            to_vectors = before_turning(to_vectors, vectors, -imag(diagonal_of(inside)));
            inside = matmul(adjoint(vectors), to_vectors);
        }
        const Value values = part_of(g, 0);
        inside = inside * narrowed(over_differences(values, constant_like(values, 1)), dtype);
        const Value turned = matmul(vectors, inside);
        left = left.defined() ? left + turned : turned;
    }
    return {to_lower(matmul(left, adjoint(vectors)))};
}

/// With P = U^H dA V, U changes by U times (P S + S P^H) / (column's s^2 - row's s^2) off the
/// diagonal, V by V times (S P + P^H S) / the same; and by what of dA V / S and dA^H U / S lies
/// outside of them, which takes singular values that are not 0.
Gradients svd_gradient(const GradientArgs& g) {
    if (has_no_elements(g[0])) return {zeros_like(g[0])};
    const DType dtype = g[0].dtype();
    const Shape shape = g[0].shape();
    const Dim m = shape.dim(shape.rank() - 2);
    const Dim n = shape.dim(shape.rank() - 1);
    const Value u = part_of(g, 0);
    const Value s = part_of(g, 1);
    const Value vh = part_of(g, 2);
    Value left;  // of Vh
    if (g.cotangents[1].defined()) left = with_columns_times(u, g.cotangents[1]);
    if (!g.cotangents[0].defined() && !g.cotangents[2].defined()) return {matmul(left, vh)};

    Value to_u = g.cotangents[0].defined() ? g.cotangents[0] : zeros_like(u);
    const Value to_vh = g.cotangents[2].defined() ? g.cotangents[2] : zeros_like(vh);
    Value by_u = matmul(adjoint(u), to_u);
    const Value by_v = matmul(to_vh, adjoint(vh));
    if (is_complex(dtype)) {
        to_u = before_turning(to_u, u, imag(diagonal_of(by_v)) - imag(diagonal_of(by_u)));
        by_u = matmul(adjoint(u), to_u);
    }
    const int rows = shape.rank() - 2;
    const Value sums = with_axis(s, rows) + with_axis(s, rows + 1);
    const Value over_gaps = narrowed(over_differences(s, sums), dtype);
    Value inside = with_columns_times((by_u - adjoint(by_u)) * over_gaps, s) +
                   with_rows_times((adjoint(by_v) - by_v) * over_gaps, s);
    // Columns of U and V turn against each other with the imaginary part of P's diagonal.
    if (is_complex(dtype))
        inside = inside + diagonal_matrix(times_i(imag(diagonal_of(by_u)) / s, dtype));
    const Value turned = matmul(u, inside);
    left = left.defined() ? left + turned : turned;
    if (at_least(n, m) != Truth::yes)
        left = left + with_columns_times(to_u - matmul(u, by_u), reciprocal(s));
    Value flow = matmul(left, vh);
    if (at_least(m, n) != Truth::yes)
        flow = flow + matmul(with_columns_times(u, reciprocal(s)), to_vh - matmul(by_v, vh));
    return {flow};
}

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
            .gradient = svd_gradient,
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
            .gradient = eigh_gradient,
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
