// Systems of linear equations: solutions, inverses, determinants, least squares.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/linalg.h"
#include "ops/linalg_gradient.h"
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

// ---- gradients

Gradients solve_gradient(const GradientArgs& g) {
    const Value to_b = call("solve", adjoint(g[0]), g.cotangent());
    return {-matmul(to_b, adjoint(g.result)), to_b};
}

/// What is not read gets nothing.
Gradients triangular_solve_gradient(const GradientArgs& g) {
    const Triangle triangle{g.call.attrs.boolean(0), g.call.attrs.boolean(1),
                            g.call.attrs.boolean(2)};
    Triangle back = triangle;
    back.transposed = !triangle.transposed;
    const Value to_b = triangular_solve(conjugate(g[0]), g.cotangent(), back);
    const Value to_matrix = -matmul(to_b, adjoint(g.result));
    const Value to_a = triangle.transposed ? turned_over(to_matrix) : to_matrix;
    const std::int64_t off = triangle.unit_diagonal ? 1 : 0;
    return {triangle.lower ? tril(to_a, -off) : triu(to_a, off), to_b};
}

Gradients inv_gradient(const GradientArgs& g) {
    const Value flipped = adjoint(g.result);
    return {-matmul(matmul(flipped, g.cotangent()), flipped)};
}

/// The determinant changes with each element by its cofactor. Cofactors are the determinant times
/// the inverse's adjoint, of singular matrices too once pivots of 0 are replaced by numbers as
/// small as rounding errors: by det(Q) and R of the QR factors, since a solution with R is exact
/// for a matrix whose diagonal, and so whose determinant, is off by no more than rounding. Many
/// pivots of 0 may leave the type's range, and give infinity or NaN: 6 in f32, 20 in f64.
///
/// The gradient of this one divides by the pivots: where one is 0 that is an ExecutionError, and
/// where one is no more than a rounding error second derivatives are worth nothing.
Gradients det_gradient(const GradientArgs& g) {
    const Shape shape = g[0].shape();
    if (equal(shape.count(), 0) == Truth::yes) return {zeros_like(g[0])};
    const int rank = shape.rank();
    const DType dtype = g[0].dtype();
    const double epsilon = real_part(dtype) == f64 ? std::numeric_limits<double>::epsilon()
                                                   : std::numeric_limits<float>::epsilon();
    const std::vector<Value> factors = results_of("qr", g[0]);
    const Value& q = factors[0];
    const Value pivots = real(diagonal_of(factors[1]));
    const Value zero = constant_like(pivots, 0);
    const Value largest = max(pivots, -1, true);
    const Value small = select(eq(largest, zero), constant_like(largest, 1), largest) * epsilon;
    const Value whole = select(eq(pivots, zero), small, pivots);
    const Value r = factors[1] + diagonal_matrix(narrowed(whole - pivots, dtype));
    const Value size = narrowed(prod(whole, -1, false), dtype) * conjugate(call("det", q));
    const Value scale = with_axis(with_axis(g.cotangent() * size, rank - 2), rank - 1);
    return {over_adjoint(q, r) * scale};
}

/// For the pseudoinverse P, which lstsq multiplies by: x changes by
///     P db - P dA x + P P^H dA^H (b - A x) + (1 - P A) dA^H P^H x.
/// That holds while the rank does not change; of a matrix without full rank, which next to any
/// other has another solution far away, it is the change along matrices of its rank. Singular
/// values that count as 0 are taken for 0.
Gradients lstsq_gradient(const GradientArgs& g) {
    const Value& a = g[0];
    const Value& x = g.result;
    const int columns = x.shape().rank() - 1;
    const Dim count = x.shape().dim(columns);
    // Two right-hand sides are solved for at once.
    const auto both = [&](const Value& matrix, const Value& first, const Value& second) {
        const Value sides[] = {first, second};
        const Value done = call("lstsq", matrix, joined(sides, columns), g.call.attrs.real(0));
        return std::pair(part_of_axis(done, columns, 0, count),
                         part_of_axis(done, columns, count, count));
    };
    const auto [to_b, x_back] = both(adjoint(a), g.cotangent(), x);
    const auto [within, reached] = both(a, to_b, matmul(a, g.cotangent()));
    const Value rest = g[1] - matmul(a, x);
    return {matmul(rest, adjoint(within)) - matmul(to_b, adjoint(x)) +
                matmul(x_back, adjoint(g.cotangent() - reached)),
            to_b};
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
            .gradient = solve_gradient,
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
            .gradient = triangular_solve_gradient,
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
            .gradient = inv_gradient,
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
            .gradient = det_gradient,
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
            .gradient = lstsq_gradient,
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
