// Systems of linear equations: solutions, inverses, determinants, least squares.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/linalg.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_solve(const InferArgs& args) {
    require_square(args, 0);
    require_system(args);
    return *args.inputs[1];
}

TensorSpec infer_square(const InferArgs& args) {
    require_square(args, 0);
    return *args.inputs[0];
}

TensorSpec infer_det(const InferArgs& args) {
    require_square(args, 0);
    const TensorSpec& a = *args.inputs[0];
    Shape shape;
    for (int i = 0; i < a.shape.rank() - 2; ++i) shape.push_back(a.shape.dim(i));
    return {a.dtype, shape};
}

TensorSpec infer_lstsq(const InferArgs& args) {
    require_system(args);
    const Shape& a = args.inputs[0]->shape;
    const Shape& b = args.inputs[1]->shape;
    return {args.inputs[0]->dtype, with_matrix(b, a.dim(a.rank() - 1), b.dim(b.rank() - 1))};
}

/// The sizes of a system: m rows, n unknowns, `columns` right-hand sides.
struct System {
    std::int64_t m, n, columns;
    explicit System(const EvalArgs& args) {
        const Shape& a = args.inputs[0].spec->shape;
        const Shape& b = args.inputs.back().spec->shape;
        m = a[a.rank() - 2];
        n = a[a.rank() - 1];
        columns = b[b.rank() - 1];
    }
};

std::string singular(std::int64_t failed) {
    return fmt::format("is singular (pivot {} is 0)", failed - 1);
}

/// Solves a x = b for a square matrix.
template <class C>
void solve_square(const EvalArgs& args, const Routines<C>& routines, std::int64_t batch,
                  std::int64_t n, std::int64_t columns, std::vector<C>& a, std::vector<C>& b) {
    std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
    if (const std::int64_t failed = routines.lu(n, a.data(), pivots.data()); failed > 0)
        fail_at(args, batch, singular(failed));
    routines.lu_solve(n, columns, a.data(), pivots.data(), b.data());
}

}  // namespace

void solve_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                   std::int64_t end) {
    const System s(args);
    if (s.n == 0) return;
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * s.n * s.n, s.n, s.n);
            const std::int64_t at = batch * s.n * s.columns;
            std::vector<C> b = columns_of<C>(args.inputs[1].as<T>() + at, s.n, s.columns);
            if (!all_finite(a)) {
                fill_nan(args.result<T>() + at, s.n * s.columns);
                continue;
            }
            solve_square(args, routines, batch, s.n, s.columns, a, b);
            rows_of(b, s.n, s.columns, args.result<T>() + at);
        }
    });
}

void triangular_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                        std::int64_t end) {
    const System s(args);
    const Triangle triangle{args.attrs.boolean(0), args.attrs.boolean(1), args.attrs.boolean(2)};
    if (s.n == 0) return;
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * s.n * s.n, s.n, s.n);
            const std::int64_t at = batch * s.n * s.columns;
            std::vector<C> b = columns_of<C>(args.inputs[1].as<T>() + at, s.n, s.columns);
            // What is not read counts for nothing.
            for (std::int64_t j = 0; j < s.n; ++j) {
                for (std::int64_t i = 0; i < s.n; ++i) {
                    C& x = a[static_cast<std::size_t>(i + j * s.n)];
                    if (triangle.lower ? i < j : i > j) x = C(0);
                    if (triangle.unit_diagonal && i == j) x = C(1);
                }
            }
            if (!all_finite(a)) {
                fill_nan(args.result<T>() + at, s.n * s.columns);
                continue;
            }
            for (std::int64_t i = 0; i < s.n; ++i) {
                if (a[static_cast<std::size_t>(i + i * s.n)] == C(0))
                    fail_at(args, batch, singular(i + 1));
            }
            routines.triangular_solve(triangle, s.n, s.columns, a.data(), b.data());
            rows_of(b, s.n, s.columns, args.result<T>() + at);
        }
    });
}

void inv_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                 std::int64_t end) {
    const std::int64_t n = System(args).n;
    if (n == 0) return;
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * n * n, n, n);
            T* out = args.result<T>() + batch * n * n;
            if (!all_finite(a)) {
                fill_nan(out, n * n);
                continue;
            }
            std::vector<C> ones(static_cast<std::size_t>(n * n));
            for (std::int64_t i = 0; i < n; ++i) ones[static_cast<std::size_t>(i + i * n)] = 1;
            solve_square(args, routines, batch, n, n, a, ones);
            rows_of(ones, n, n, out);
        }
    });
}

void det_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                 std::int64_t end) {
    const std::int64_t n = System(args).n;
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * n * n, n, n);
            T* out = args.result<T>() + batch;
            if (!all_finite(a)) {
                fill_nan(out, 1);
                continue;
            }
            std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
            if (n > 0 && routines.lu(n, a.data(), pivots.data()) > 0) {
                *out = T{};  // a pivot is 0
                continue;
            }
            // The product of the pivots; each exchange of rows changes its sign. Powers of two are
            // counted apart, so that it overflows only where the result does.
            Compute<T> product(1);
            std::int64_t power = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                product *= static_cast<Compute<T>>(a[static_cast<std::size_t>(i + i * n)]);
                if (pivots[static_cast<std::size_t>(i)] != i + 1) product = -product;
                int here = 0;
                (void)std::frexp(std::abs(product), &here);
                product *= std::ldexp(1.0, -here);
                power += here;
            }
            const auto last = static_cast<int>(std::clamp<std::int64_t>(power, -5000, 5000));
            // In two steps: a power of two beyond the largest number may still be due.
            product *= std::ldexp(1.0, std::clamp(last, -1000, 1000));
            product *= std::ldexp(1.0, last - std::clamp(last, -1000, 1000));
            *out = convert<T>(product);
        }
    });
}

void lstsq_batches(const EvalArgs& args, const LapackRoutines* lapack, std::int64_t begin,
                   std::int64_t end) {
    const System s(args);
    const std::int64_t k = std::min(s.m, s.n);
    const double given = args.attrs.real(0);
    with_routines(args, lapack, [&]<class T, class C>(const Routines<C>& routines) {
        const auto epsilon = static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
        const double cut = given >= 0 ? given : epsilon * static_cast<double>(std::max(s.m, s.n));
        for (std::int64_t batch = begin; batch < end; ++batch) {
            T* out = args.result<T>() + batch * s.n * s.columns;
            std::vector<C> x(static_cast<std::size_t>(s.n * s.columns));
            if (k == 0) {
                rows_of(x, s.n, s.columns, out);
                continue;
            }
            std::vector<C> a = columns_of<C>(args.inputs[0].as<T>() + batch * s.m * s.n, s.m, s.n);
            const std::vector<C> b =
                columns_of<C>(args.inputs[1].as<T>() + batch * s.m * s.columns, s.m, s.columns);
            if (!all_finite(a)) {
                fill_nan(out, s.n * s.columns);
                continue;
            }
            std::vector<C> u(static_cast<std::size_t>(s.m * k));
            std::vector<Real<C>> values(static_cast<std::size_t>(k));
            std::vector<C> vh(static_cast<std::size_t>(k * s.n));
            if (routines.svd(s.m, s.n, a.data(), u.data(), values.data(), vh.data()) != 0)
                fail_at(args, batch, "has singular values that did not converge");
            // x = V (U^H b / S), without what is nothing beside the largest.
            const double least = cut * static_cast<double>(values[0]);
            for (std::int64_t c = 0; c < s.columns; ++c) {
                for (std::int64_t r = 0; r < k; ++r) {
                    const Real<C> value = values[static_cast<std::size_t>(r)];
                    if (value == 0 || static_cast<double>(value) <= least) continue;
                    C dot{};
                    for (std::int64_t i = 0; i < s.m; ++i)
                        dot += conjugate(u[static_cast<std::size_t>(i + r * s.m)]) *
                               b[static_cast<std::size_t>(i + c * s.m)];
                    dot /= value;
                    for (std::int64_t j = 0; j < s.n; ++j)
                        x[static_cast<std::size_t>(j + c * s.n)] +=
                            conjugate(vh[static_cast<std::size_t>(r + j * k)]) * dot;
                }
            }
            rows_of(x, s.n, s.columns, out);
        }
    });
}

std::vector<OpDef> linalg_solve() {
    constexpr Trait traits = Trait::keep_if_held | Trait::to_float | Trait::sensitive;
    const Sample invertible{.low = -1, .high = 1, .diagonal = 2, .edges = false};
    return {
        {
            .name = "solve",
            .doc = "What each square matrix must be multiplied by to give the second operand's "
                   "matrix.",
            .edge = "A matrix with a pivot of 0 is an ExecutionError that names it and the pivot. "
                    "One that holds NaN or infinity gives NaN everywhere. Of no unknowns or no "
                    "right-hand sides nothing.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = traits | Trait::promotes,
            .dtypes = kLinear,
            .infer = infer_solve,
            .evaluate = evaluate_linear<solve_batches>,
            .tolerance = {.ulps = 64, .absolute = 2e-5},
            .sample = invertible,
            .cases = {{{{2, 4, 4}, {2, 4, 3}}, {}},
                      {{{5, 5}, {5, 1}}, {}},
                      {{{1, 1}, {1, 2}}, {}},
                      {{{0, 0}, {0, 2}}, {}},
                      {{{3, 3}, {3, 0}}, {}},
                      {{{0, 3, 3}, {0, 3, 2}}, {}}},
        },
        {
            .name = "triangular_solve",
            .doc = "What each triangular matrix, or its transpose, must be multiplied by to give "
                   "the second operand's matrix.",
            .edge = "The other triangle is not read, nor the diagonal where it is taken as ones; "
                    "the transpose does not conjugate. A 0 on the diagonal is an ExecutionError "
                    "that names the matrix and the pivot. A matrix that holds NaN or infinity "
                    "where it is read gives NaN everywhere. Of no unknowns nothing.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = traits | Trait::promotes,
            .dtypes = kLinear,
            .attrs = {{"lower", AttrKind::boolean},
                      {"transposed", AttrKind::boolean},
                      {"unit_diagonal", AttrKind::boolean}},
            .infer = infer_solve,
            .evaluate = evaluate_linear<triangular_batches>,
            .tolerance = {.ulps = 64, .absolute = 2e-5},
            .sample = invertible,
            .cases = {{{{2, 4, 4}, {2, 4, 3}}, {true, false, false}},
                      {{{5, 5}, {5, 2}}, {false, false, false}},
                      {{{5, 5}, {5, 2}}, {true, true, false}},
                      {{{5, 5}, {5, 2}}, {false, true, false}},
                      {{{3, 3}, {3, 2}}, {true, false, true}},
                      {{{3, 3}, {3, 2}}, {false, true, true}},
                      {{{1, 1}, {1, 1}}, {true, false, false}},
                      {{{0, 0}, {0, 1}}, {true, false, false}},
                      {{{0, 2, 2}, {0, 2, 1}}, {true, false, false}}},
        },
        {
            .name = "inv",
            .doc = "The inverse of each square matrix.",
            .edge = "A matrix with a pivot of 0 is an ExecutionError that names it and the pivot. "
                    "One that holds NaN or infinity gives NaN everywhere. Of 0 x 0 nothing.",
            .traits = traits,
            .dtypes = kLinear,
            .infer = infer_square,
            .evaluate = evaluate_linear<inv_batches>,
            .tolerance = {.ulps = 64, .absolute = 2e-5},
            .sample = invertible,
            .cases = {{{{2, 4, 4}}, {}},
                      {{{5, 5}}, {}},
                      {{{1, 1}}, {}},
                      {{{0, 0}}, {}},
                      {{{0, 3, 3}}, {}}},
        },
        {
            .name = "det",
            .doc = "The determinant of each square matrix.",
            .edge = "Of 0 x 0 it is 1; of a singular matrix 0, or what rounding leaves. Of a "
                    "matrix that holds NaN or infinity NaN.",
            .traits = traits,
            .dtypes = kLinear,
            .infer = infer_det,
            .evaluate = evaluate_linear<det_batches>,
            .tolerance = {.ulps = 64, .absolute = 1e-4},
            .sample = {.low = -1, .high = 1, .edges = false},
            .cases = {{{{2, 4, 4}}, {}},
                      {{{5, 5}}, {}},
                      {{{1, 1}}, {}},
                      {{{0, 0}}, {}},
                      {{{2, 0, 0}}, {}},
                      {{{0, 3, 3}}, {}}},
        },
        {
            .name = "lstsq",
            .doc = "The shortest of those matrices whose product with each matrix comes closest to "
                   "the second operand's, column by column.",
            .edge = "Singular values of at most `rcond` times the largest count as 0; a negative "
                    "`rcond` is the type's epsilon times the larger side. A matrix that holds NaN "
                    "or infinity gives NaN everywhere. Of no rows zeros, of no unknowns nothing.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = traits | Trait::promotes,
            .dtypes = kLinear,
            .attrs = {{"rcond", AttrKind::real}},
            .infer = infer_lstsq,
            .evaluate = evaluate_linear<lstsq_batches>,
            .tolerance = {.ulps = 64, .absolute = 5e-5},
            .sample = invertible,
            .cases = {{{{2, 5, 3}, {2, 5, 2}}, {-1.0}},
                      {{{3, 5}, {3, 2}}, {-1.0}},
                      {{{4, 4}, {4, 1}}, {-1.0}},
                      {{{1, 1}, {1, 1}}, {-1.0}},
                      {{{0, 3}, {0, 2}}, {-1.0}},
                      {{{3, 0}, {3, 2}}, {-1.0}},
                      {{{0, 3, 2}, {0, 3, 1}}, {-1.0}}},
        },
    };
}

}  // namespace lazuli::ops
