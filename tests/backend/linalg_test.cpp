// Linear algebra as users call it, on the reference backend and on the CPU: factors multiply to
// what they were made of, are what they promise to be, and failures name the matrix.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/host/kernels.h"
#include "lazuli/lazuli.h"
#include "ops/bundle.h"
#include "runtime/pool.h"

namespace lazuli {
namespace {

namespace la = linalg;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Linalg : public ::testing::TestWithParam<const char*> {
   protected:
    Device device() const { return Device(GetParam()); }
    /// Drawn numbers, from -1 to 1.
    Tensor drawn(std::uint64_t seed, const Shape& shape, DType dtype = f64) const {
        const DType real = real_part(dtype);
        const auto part = [&](std::uint64_t s) {
            return (key(s).random_uniform(shape, f64) * 2.0 - 1.0).cast(real);
        };
        Tensor x = part(seed).cast(dtype);
        if (is_complex(dtype)) x = x + part(seed + 1000).cast(dtype) * std::complex<double>(0, 1);
        return x.to(Device()).eval().to(device());
    }
    Tensor identity(std::int64_t n, DType dtype) const { return eye(n, -1, 0, {dtype, device()}); }
};

/// The last two axes exchanged, and every imaginary part's sign changed. (There is no op for that:
/// the modulus squared over the number is its conjugate.)
Tensor adjoint(const Tensor& x) {
    const Tensor t = x.transpose(-2, -1);
    if (!is_complex(x.dtype())) return t;
    const Tensor size = t.abs().cast(x.dtype());
    return select(size == 0.0, t, size * size / t);
}

double distance(const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.shape(), b.shape());
    double most = 0;
    for (const double d : (a - b).abs().cast(f64).to_vector<double>()) {
        if (!(d <= most)) most = d;
    }
    return most;
}

void expect_near(const Tensor& a, const Tensor& b) {
    const double bound = real_part(a.dtype()) == f32 ? 2e-5 : 1e-12;
    EXPECT_LE(distance(a, b), bound) << a.spec().str();
}

constexpr DType kTypes[] = {f32, f64, c64, c128};

TEST_P(Linalg, FactorsMultiplyToTheMatrix) {
    for (const DType dtype : kTypes) {
        for (const Shape& shape :
             {Shape{5, 5}, Shape{7, 3}, Shape{3, 7}, Shape{1, 1}, Shape{2, 3, 6, 4}}) {
            const Tensor x = drawn(1, shape, dtype);
            const std::int64_t k = std::min(shape[shape.rank() - 2], shape[shape.rank() - 1]);
            Shape square = shape;
            square[shape.rank() - 2] = square[shape.rank() - 1] = k;
            const Tensor ones = identity(k, dtype).broadcast_to(square);
            const la::Qr qr = la::qr(x);
            expect_near(qr.q.matmul(qr.r), x);
            expect_near(adjoint(qr.q).matmul(qr.q), ones);
            const la::Svd svd = la::svd(x);
            EXPECT_EQ(svd.s.dtype(), real_part(dtype));
            const Tensor scaled = svd.u * svd.s.unsqueeze(-2).cast(dtype);
            expect_near(scaled.matmul(svd.vh), x);
            expect_near(adjoint(svd.u).matmul(svd.u), ones);
            expect_near(svd.vh.matmul(adjoint(svd.vh)), ones);
        }
        const Tensor y = drawn(2, {2, 6, 6}, dtype);
        const Tensor hermitian = y + adjoint(y);
        const la::Eigh eigh = la::eigh(hermitian);
        expect_near(hermitian.matmul(eigh.vectors),
                    eigh.vectors * eigh.values.unsqueeze(-2).cast(dtype));
        const Tensor positive = y.matmul(adjoint(y)) + identity(6, dtype);
        const Tensor lower = la::cholesky(positive);
        expect_near(lower.matmul(adjoint(lower)), positive);
        const Tensor strong = y + identity(6, dtype) * 6.0;
        expect_near(la::inv(strong).matmul(strong), identity(6, dtype).broadcast_to({2, 6, 6}));
    }
}

TEST_P(Linalg, KnownValues) {
    const auto f = [&](const Tensor& x) { return x.cast(f64).to(device()); };
    const Tensor a = f(Tensor{{2.0, 1.0}, {1.0, 2.0}});
    expect_near(la::det(a), f(Tensor(3.0F)));
    const la::Eigh eigh = la::eigh(a);
    expect_near(eigh.values, f(Tensor{1.0, 3.0}));
    const double h = std::sqrt(0.5);
    expect_near(eigh.vectors, tensor({h, h, -h, h}, f64).reshape({2, 2}).to(device()));
    expect_near(la::svdvals(f(Tensor{{3.0, 0.0}, {0.0, -4.0}})), f(Tensor{4.0, 3.0}));
    const la::Qr qr = la::qr(f(Tensor{{0.0, 1.0}, {-2.0, 5.0}}));
    expect_near(qr.q, f(Tensor{{0.0, 1.0}, {-1.0, 0.0}}));
    expect_near(qr.r, f(Tensor{{2.0, -5.0}, {0.0, 1.0}}));
    // A vector as right-hand side, and rows that must change places.
    const Tensor swapped = f(Tensor{{0.0, 2.0}, {1.0, 0.0}});
    expect_near(la::solve(swapped, f(Tensor{4.0, 3.0})), f(Tensor{3.0, 2.0}));
    expect_near(la::det(swapped), f(Tensor(-2.0F)));
    // Only the triangle that is named is read.
    const Tensor full = f(Tensor{{2.0, 7.0}, {1.0, 4.0}});
    const Tensor b = f(Tensor{2.0, 9.0});
    expect_near(la::triangular_solve(full, b), f(Tensor{1.0, 2.0}));
    expect_near(la::triangular_solve(full, b, {.lower = false}), f(Tensor{-6.875, 2.25}));
    expect_near(la::triangular_solve(full, b, {.transposed = true}), f(Tensor{-0.125, 2.25}));
    expect_near(la::triangular_solve(full, b, {.unit_diagonal = true}), f(Tensor{2.0, 7.0}));
    // Integers become f32.
    EXPECT_EQ(la::det(Tensor{{1, 2}, {3, 5}}).dtype(), f32);
}

TEST_P(Linalg, BatchesBroadcast) {
    const Tensor a = drawn(3, {4, 4}) + identity(4, f64) * 4.0;
    const Tensor b = drawn(4, {3, 2, 4, 5});
    const Tensor x = la::solve(a, b);
    EXPECT_EQ(x.shape(), (Shape{3, 2, 4, 5}));
    expect_near(a.matmul(x), b);
    EXPECT_EQ(la::solve(a.broadcast_to({6, 4, 4}), drawn(5, {4})).shape(), (Shape{6, 4}));
}

TEST_P(Linalg, LeastSquares) {
    // More rows than unknowns: what is left over is orthogonal to the columns.
    const Tensor tall = drawn(6, {2, 8, 3});
    const Tensor b = drawn(7, {2, 8, 2});
    const Tensor rest = tall.matmul(la::lstsq(tall, b)) - b;
    expect_near(tall.transpose(-2, -1).matmul(rest), zeros({2, 3, 2}, {f64, device()}));
    // Of rank 1, and the shortest of all solutions.
    const Tensor flat = ones({3, 4}, {f64, device()});
    expect_near(la::lstsq(flat, ones({3}, {f64, device()}) * 2.0), full({4}, 0.5, {f64, device()}));
    // Nothing says anything about the unknowns.
    expect_near(la::lstsq(zeros({0, 3}, {f64, device()}), zeros({0, 2}, {f64, device()})),
                zeros({3, 2}, {f64, device()}));
}

TEST_P(Linalg, NothingIsComputedOfNothing) {
    const Tensor none = zeros({0, 0}, {f32, device()});
    EXPECT_EQ(la::det(none).item<float>(), 1.0F);
    EXPECT_EQ(la::inv(none).eval().shape(), (Shape{0, 0}));
    EXPECT_EQ(la::cholesky(none).eval().shape(), (Shape{0, 0}));
    const Tensor narrow = zeros({2, 3, 0}, {f32, device()});
    EXPECT_EQ(la::qr(narrow).q.eval().shape(), (Shape{2, 3, 0}));
    EXPECT_EQ(la::svd(narrow).vh.eval().shape(), (Shape{2, 0, 0}));
    EXPECT_EQ(la::eigh(zeros({0, 4, 4}, {f32, device()})).values.eval().shape(), (Shape{0, 4}));
    EXPECT_EQ(la::solve(none, zeros({0, 3}, {f32, device()})).eval().shape(), (Shape{0, 3}));
}

TEST_P(Linalg, NanAndInfinityGiveNan) {
    Tensor x = identity(3, f64);
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        const Tensor broken = select(x == 1.0, bad, 0.0).cast(f64);
        for (const Tensor& y :
             {la::inv(broken), la::det(broken), la::cholesky(broken), la::qr(broken).r,
              la::svd(broken).s, la::eigh(broken).vectors, la::solve(broken, x),
              la::lstsq(broken, x), la::triangular_solve(broken, x)}) {
            for (const double v : y.to_vector<double>()) EXPECT_TRUE(std::isnan(v));
        }
    }
}

/// What evaluating throws.
std::string failure(const Tensor& x) {
    try {
        x.eval();
    } catch (const ExecutionError& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_P(Linalg, FailuresNameTheMatrixAndThePivot) {
    const Tensor singular = tensor({1, 2, 2, 4}, f64).reshape({2, 2}).to(device());
    EXPECT_EQ(failure(la::inv(singular)), "inv: the matrix [2, 2] is singular (pivot 1 is 0)");
    EXPECT_THAT(failure(la::solve(singular, singular)),
                HasSubstr("solve: the matrix [2, 2] is singular"));
    EXPECT_EQ(la::det(singular).item<double>(), 0.0);
    Tensor batch = identity(2, f64).broadcast_to({3, 2, 2, 2});
    // Two of the six are wrong; the first is named.
    const Tensor number = arange(6.0, {f64, device()}).reshape({3, 2, 1, 1});
    batch = select(number >= 3.0, -1.0, batch);
    EXPECT_EQ(
        failure(la::cholesky(batch)),
        "cholesky: matrix [1, 1] of the batch [3, 2, 2, 2] is not positive definite (pivot 0)");
    const Tensor triangle = tensor({1, 0, 5, 0}, f64).reshape({2, 2}).to(device());
    EXPECT_THAT(failure(la::triangular_solve(triangle, triangle)),
                AllOf(HasSubstr("triangular_solve"), HasSubstr("pivot 1")));
    EXPECT_NO_THROW(la::triangular_solve(triangle, triangle, {.unit_diagonal = true}).eval());
}

TEST_P(Linalg, LargeAndSmallNumbersAreNotLost) {
    const Tensor x = drawn(8, {4, 3});
    for (const double size : {1e200, 1e-200}) {
        const la::Svd svd = la::svd(x * size);
        expect_near(svd.s / size, la::svd(x).s);
        const la::Qr qr = la::qr(x * size);
        expect_near(qr.r / size, la::qr(x).r);
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, Linalg, ::testing::Values("reference", "cpu"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LinalgShapes, ErrorsAreThrownAtTheCall) {
    const Tensor vector = zeros({3});
    const Tensor wide = zeros({2, 3});
    EXPECT_THROW(la::qr(vector), ShapeError);
    EXPECT_THROW(la::inv(wide), ShapeError);
    EXPECT_THROW(la::cholesky(wide), ShapeError);
    EXPECT_THROW(la::eigh(wide), ShapeError);
    EXPECT_THROW(la::solve(zeros({3, 3}), zeros({2, 1})), ShapeError);
    EXPECT_THROW(la::solve(zeros({2, 3, 3}), zeros({4, 3, 1})), ShapeError);
    EXPECT_THROW(la::lstsq(wide, zeros({3})), ShapeError);
    EXPECT_THROW(la::svd(zeros({2, 2}, f16)), DTypeError);
    EXPECT_THROW(la::svd(Tensor()), ArgumentError);
}

// Many matrices, on all threads and on one: the same bits.
TEST(LinalgThreads, BitsDoNotDependOnThem) {
    for (const char* name : {"qr", "svd", "eigh", "inv", "det"}) {
        const OpDef& def = op_def(require_op(name));
        const TensorSpec spec{f32, {300, 6, 6}};
        const Tensor x = (key(9).random_uniform(spec.shape) - 0.5).to(Device()).eval();
        const TensorSpec result = infer(name, {&spec, 1});
        const HostArray operand{x.data<float>(), &spec};
        const auto run = [&](std::vector<char>& out) {
            out.assign(static_cast<std::size_t>(result.nbytes()), 0);
            backend::host_kernel(def)({def, {}, {&operand, 1}, &result, out.data()});
        };
        std::vector<char> shared;
        run(shared);
        struct Alone {
            const decltype(run)& body;
            std::vector<char> out;
        } alone{run, {}};
        // From within a piece, all pieces run on the calling thread.
        runtime::share_out(
            1, 1,
            [](void* data, std::int64_t, std::int64_t) {
                auto& a = *static_cast<Alone*>(data);
                a.body(a.out);
            },
            &alone);
        EXPECT_EQ(shared, alone.out) << name;
    }
}

}  // namespace
}  // namespace lazuli
