// Gradients of linear algebra beyond the calls in the records: where only one of several results
// counts, functions that do not depend on phases, matrices that are singular or lack full rank, and
// equal eigenvalues.

#include <gmock/gmock.h>

#include <cmath>

#include "checked_call.h"
#include "lazuli/conformance.h"

namespace lazuli::gradients {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

Tensor drawn(const Shape& shape, DType dtype, std::uint64_t seed) {
    return conformance::draw({dtype, shape}, -1, 1, false, seed).to(default_device());
}

Tensor adjoint(const Tensor& x) { return conj(x.transpose(-1, -2)); }

double number(const Tensor& t) { return t.item<double>(); }

Tensors gradient_of(const Function& f, const Tensors& x) {
    return value_and_grad_of([&](const Tensors& at) { return Tensors{f(at)}; }, x).gradients;
}

/// The change of f along v, by differences.
double slope(const Function& f, const Tensors& x, const Tensors& v) {
    constexpr double kStep = 1e-5;
    Tensors up;
    Tensors down;
    for (std::size_t i = 0; i < x.size(); ++i) {
        up.push_back(x[i] + v[i] * kStep);
        down.push_back(x[i] - v[i] * kStep);
    }
    return (number(f(up)) - number(f(down))) / (2 * kStep);
}

enum class Order { first, second };

/// Compares the gradient of what f returns, weighted, with differences; and the gradient's own.
void expect_gradient(const Function& f, const Tensors& x, Order order = Order::second) {
    Tensors v;
    Tensors u;
    for (std::size_t i = 0; i < x.size(); ++i) {
        v.push_back(drawn_like(x[i], 50 + i));
        u.push_back(drawn_like(x[i], 60 + i));
    }
    const Tensor w = drawn_like(f(x), 70);
    const Function weighted = [&](const Tensors& at) { return inner(f(at), w); };
    const double expected = slope(weighted, x, v);
    EXPECT_NEAR(number(inner(gradient_of(weighted, x), v)), expected,
                1e-6 * (1 + std::fabs(expected)));
    if (order == Order::first) return;
    const Function along = [&](const Tensors& at) {
        return inner(vjp([&](const Tensors& t) { return Tensors{f(t)}; }, at).pull({w}), u);
    };
    const double twice = slope(along, x, v);
    EXPECT_NEAR(number(inner(gradient_of(along, x), v)), twice, 1e-6 * (1 + std::fabs(twice)));
}

class OfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Linalg, OfType, testing::Values(f64, c128),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST_P(OfType, EachResultAlone) {
    const Shape shapes[] = {{4, 4}, {5, 3}, {3, 5}, {2, 3, 2}};
    for (const Shape& shape : shapes) {
        const Tensor a = drawn(shape, GetParam(), 3);
        expect_gradient([](const Tensors& x) { return linalg::qr(x[0]).q; }, {a});
        expect_gradient([](const Tensors& x) { return linalg::qr(x[0]).r; }, {a});
        expect_gradient([](const Tensors& x) { return linalg::svd(x[0]).u; }, {a});
        expect_gradient([](const Tensors& x) { return linalg::svd(x[0]).s; }, {a});
        expect_gradient([](const Tensors& x) { return linalg::svd(x[0]).vh; }, {a});
    }
    const Tensor h = drawn({2, 3, 3}, GetParam(), 4);
    expect_gradient([](const Tensors& x) { return linalg::eigh(x[0]).values; }, {h});
    expect_gradient([](const Tensors& x) { return linalg::eigh(x[0]).vectors; }, {h});
}

TEST_P(OfType, FunctionsOfNoPhase) {
    const auto weighted = [](const Tensor& u, const Tensor& s, const Tensor& vh) {
        return matmul(u * exp(-s).unsqueeze(-2).cast(u.dtype()), vh);
    };
    for (const Shape& shape : {Shape{4, 4}, Shape{5, 3}, Shape{3, 5}}) {
        expect_gradient(
            [&](const Tensors& x) {
                const linalg::Svd f = linalg::svd(x[0]);
                return weighted(f.u, f.s, f.vh);
            },
            {drawn(shape, GetParam(), 5)});
    }
    const Tensor h = drawn({4, 4}, GetParam(), 6);
    expect_gradient(
        [&](const Tensors& x) {
            const linalg::Eigh f = linalg::eigh(x[0]);
            return weighted(f.vectors, f.values, adjoint(f.vectors));
        },
        {h});
    expect_gradient([](const Tensors& x) { return square(abs(linalg::eigh(x[0]).vectors)); }, {h});
}

/// What is not read above the diagonal has no share.
TEST_P(OfType, TheLowerTriangleHasAllOfIt) {
    const Tensor a = conformance::with_diagonal(drawn({3, 3}, GetParam(), 7), 2);
    const Function roots = [](const Tensors& x) { return sum(real(linalg::cholesky(x[0]))); };
    const Function values = [](const Tensors& x) { return sum(exp(linalg::eigvalsh(x[0]))); };
    for (const Function& f : {roots, values}) {
        const Tensor g = gradient_of(f, {a})[0];
        EXPECT_EQ(number(sum(abs(triu(g, 1)))), 0);
        EXPECT_GT(number(sum(abs(tril(g, -1)))), 0.01);
        EXPECT_EQ(number(sum(abs(imag(g.diagonal())))), 0);
    }
}

TEST_P(OfType, DeterminantsOfSingularMatrices) {
    const Function det = [](const Tensors& x) { return linalg::det(x[0]); };
    const DType dtype = GetParam();
    for (const int n : {2, 3, 5}) {
        // Of rank n - 1, with and without a pivot that is exactly 0, beside one that can be
        // inverted.
        const Tensor thin = drawn({n, n - 1}, dtype, 8);
        const Tensor flat = drawn({n - 1, n}, dtype, 9);
        const Tensor last = concat({thin, zeros({n, 1}, dtype)}, 1);
        const Tensor first = concat({zeros({n, 1}, dtype), thin}, 1);
        const Tensor batch = stack({matmul(thin, flat), last, first, drawn({n, n}, dtype, 10)}, 0);
        expect_gradient(det, {batch}, Order::first);
    }
    EXPECT_EQ(number(abs(gradient_of([&](const Tensors& x) { return real(det(x)).reshape({}); },
                                     {zeros({1, 1}, dtype)})[0] -
                         1.0)),
              0);
    // Of lower rank, nothing to the first order.
    for (const Tensor& low : {zeros({3, 3}, dtype), ones({4, 4}, dtype)}) {
        const Tensor g = gradient_of([&](const Tensors& x) { return real(det(x)); }, {low})[0];
        EXPECT_LT(number(max(abs(g))), 1e-14);
    }
}

/// Where the rank stays, since it is that of two factors.
TEST_P(OfType, LeastSquaresWithoutFullRank) {
    const Function solution = [](const Tensors& x) {
        return linalg::lstsq(matmul(x[0], x[1]), x[2], 1e-10);
    };
    for (const auto& [m, n] : {std::pair{5, 4}, {4, 5}, {4, 4}}) {
        expect_gradient(solution, {drawn({m, 2}, GetParam(), 11), drawn({2, n}, GetParam(), 12),
                                   drawn({m, 3}, GetParam(), 13)});
    }
}

TEST_P(OfType, EqualEigenvalues) {
    const Tensor one = eye(3, 3, 0, GetParam());
    const Tensor g =
        gradient_of([](const Tensors& x) { return sum(exp(linalg::eigvalsh(x[0]))); }, {one})[0];
    EXPECT_LT(number(max(abs(g - one * std::exp(1.0)))), 1e-14);
    const Tensor s =
        gradient_of([](const Tensors& x) { return sum(square(linalg::svdvals(x[0]))); }, {one})[0];
    EXPECT_LT(number(max(abs(s - one * 2.0))), 1e-14);
    const Tensor vectors = gradient_of(
        [](const Tensors& x) {
            const Tensor v = linalg::eigh(x[0]).vectors;
            return inner(v, drawn_like(v, 14));
        },
        {one})[0];
    EXPECT_FALSE(std::isfinite(number(max(abs(vectors)))));
}

}  // namespace
}  // namespace lazuli::gradients
