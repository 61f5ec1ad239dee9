// Factorisations that end after a known number of steps: Cholesky and QR.

#include <fmt/format.h>

#include "ops/linalg.h"
#include "ops/linalg_gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_cholesky(const InferArgs& args) {
    require_square(args, 0);
    return *args.inputs[0];
}

std::vector<TensorSpec> results_of_qr(const InferArgs& args) {
    require_matrix(args, 0);
    const TensorSpec& a = *args.inputs[0];
    const int rank = a.shape.rank();
    const Dim m = a.shape.dim(rank - 2);
    const Dim n = a.shape.dim(rank - 1);
    const Dim k = min(m, n);
    return {{a.dtype, with_matrix(a.shape, m, k)}, {a.dtype, with_matrix(a.shape, k, n)}};
}

TensorSpec infer_qr(const InferArgs& args) { return bundle_spec(results_of_qr(args)); }

// ---- gradients

/// With M = L^-1 dA L^-H, L changes by L times the lower half of M.
Gradients cholesky_gradient(const GradientArgs& g) {
    const Value& l = g.result;
    const Triangle flipped{.lower = true, .transposed = true};
    const Value inside = lower_half(matmul(adjoint(l), g.cotangent()));
    const Value left = triangular_solve(conjugate(l), inside, flipped);
    return {to_lower(turned_over(triangular_solve(l, turned_over(left), flipped)))};
}

/// Q and R of independent columns, which R is square for. With W = Q^H dA R^-1, R changes by T R,
/// where T is the upper triangle of W + W^H with half of its diagonal, and Q by dA R^-1 - Q T. What
/// is not given is no value.
Value tall_qr_gradient(const Value& q, const Value& r, const Value& to_q, const Value& to_r) {
    Value inside;
    if (to_r.defined()) inside = matmul(to_r, adjoint(r));
    if (to_q.defined()) {
        const Value from_q = matmul(adjoint(q), to_q);
        inside = inside.defined() ? inside - from_q : -from_q;
    }
    const Value half = lower_half(adjoint(inside));
    const Value within = matmul(q, half + adjoint(half));
    return over_adjoint(to_q.defined() ? to_q + within : within, r);
}

/// Columns beyond the square R are Q^H times those of the matrix.
Gradients qr_gradient(const GradientArgs& g) {
    const Shape shape = g[0].shape();
    const int columns = shape.rank() - 1;
    const Dim n = shape.dim(columns);
    const Dim k = min(shape.dim(columns - 1), n);
    const Value q = part_of(g, 0);
    const Value r = part_of(g, 1);
    Value to_q = g.cotangents[0];
    Value to_r = g.cotangents[1];
    if (equal(k, n) == Truth::yes) return {tall_qr_gradient(q, r, to_q, to_r)};
    Value behind;
    if (to_r.defined()) {
        const Value to_rest = part_of_axis(to_r, columns, k, n - k);
        const Value from_rest = matmul(part_of_axis(g[0], columns, k, n - k), adjoint(to_rest));
        to_q = to_q.defined() ? to_q + from_rest : from_rest;
        to_r = part_of_axis(to_r, columns, 0, k);
        behind = matmul(q, to_rest);
    } else {
        behind = zeros_like(part_of_axis(g[0], columns, k, n - k));
    }
    const Value parts[] = {tall_qr_gradient(q, part_of_axis(r, columns, 0, k), to_q, to_r), behind};
    return {joined(parts, columns)};
}

}  // namespace

void cholesky_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                      std::int64_t end) {
    const Shape& shape = args.spec->shape;
    const std::int64_t n = shape[shape.rank() - 1];
    if (n == 0) return;
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * n * n, n, n);
            T* out = args.result<T>() + batch * n * n;
            mirror_lower(n, a);
            if (!all_finite(a)) {
                fill_nan(out, n * n);
                continue;
            }
            if (const std::int64_t failed = routines.cholesky(n, a.data()); failed > 0)
                fail_at(args, batch,
                        fmt::format("is not positive definite (pivot {})", failed - 1));
            for (std::int64_t j = 1; j < n; ++j)
                std::fill_n(a.begin() + j * n, j, C(0));  // above the diagonal
            rows_of(a, n, n, out);
        }
    });
}

void qr_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
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
            T* q_out = bundle_part<T>(args, layout, 0) + batch * m * k;
            T* r_out = bundle_part<T>(args, layout, 1) + batch * k * n;
            if (!all_finite(a)) {
                fill_nan(q_out, m * k);
                fill_nan(r_out, k * n);
                continue;
            }
            std::vector<C> q(static_cast<std::size_t>(m * k));
            std::vector<C> r(static_cast<std::size_t>(k * n));
            if (routines.qr(m, n, a.data(), q.data(), r.data()) != 0)
                fail_at(args, batch, "has no factors that could be found");
            // The diagonal of R is made real and not below 0.
            for (std::int64_t i = 0; i < k; ++i) {
                C& diagonal = r[static_cast<std::size_t>(i + i * k)];
                const C phase = phase_of(&diagonal, 1);
                for (std::int64_t j = i; j < n; ++j)
                    r[static_cast<std::size_t>(i + j * k)] *= conjugate(phase);
                diagonal = C(std::abs(diagonal));
                for (std::int64_t j = 0; j < m; ++j)
                    q[static_cast<std::size_t>(j + i * m)] *= phase;
            }
            rows_of(q, m, k, q_out);
            rows_of(r, k, n, r_out);
        }
    });
}

std::vector<OpDef> linalg_factor() {
    return {
        {
            .name = "cholesky",
            .doc = "The lower triangular matrix, of positive diagonal, that gives each Hermitian "
                   "matrix when multiplied by its own adjoint.",
            .edge = "Only the lower triangle and the real parts of the diagonal are read. A matrix "
                    "that is not positive definite is an ExecutionError that names it and the "
                    "pivot. One that holds NaN or infinity there gives NaN everywhere. Of 0 x 0 "
                    "nothing.",
            .traits = Trait::keep_if_held | Trait::to_float | Trait::sensitive,
            .dtypes = kLinear,
            .infer = infer_cholesky,
            .evaluate = evaluate_linear<cholesky_batches>,
            .gradient = cholesky_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -1, .high = 1, .diagonal = 2, .edges = false},
            .cases = {{{{2, 4, 4}}, {}},
                      {{{5, 5}}, {}},
                      {{{1, 1}}, {}},
                      {{{0, 0}}, {}},
                      {{{0, 3, 3}}, {}},
                      {{{2, 3, 2, 2}}, {}}},
        },
        {
            .name = "qr",
            .doc = "Q, whose columns are orthonormal, and the upper triangular R whose product is "
                   "each matrix: as many columns of Q and rows of R as the smaller side has.",
            .edge = "The diagonal of R is real and not below 0, which makes both unique where the "
                    "columns are independent. A matrix that holds NaN or infinity gives NaN "
                    "everywhere. Of a matrix without elements, parts without elements.",
            .traits = Trait::keep_if_held | Trait::to_float | Trait::sensitive,
            .dtypes = kLinear,
            .infer = infer_qr,
            .results = results_of_qr,
            .evaluate = evaluate_linear<qr_batches>,
            .gradient = qr_gradient,
            .tolerance = {.ulps = 64, .absolute = 2e-5},
            .sample = {.low = -1, .high = 1, .diagonal = 2, .edges = false},
            .cases = {{{{2, 4, 4}}, {}},
                      {{{5, 3}}, {}},
                      {{{3, 5}}, {}},
                      {{{1, 1}}, {}},
                      {{{0, 0}}, {}},
                      {{{0, 3, 2}}, {}},
                      {{{3, 0}}, {}}},
        },
    };
}

}  // namespace lazuli::ops
