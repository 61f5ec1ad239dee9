// Fourier transforms as users call them: against sums written out, there and back, every length.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using Complex = std::complex<double>;

class Fourier : public ::testing::TestWithParam<const char*> {
   protected:
    Tensor drawn(std::uint64_t seed, const Shape& shape, DType dtype = c128) const {
        const auto part = [&](std::uint64_t s) {
            return (key(s).random_uniform(shape, f64) - 0.5).cast(dtype);
        };
        Tensor x = part(seed);
        if (is_complex(dtype)) x = x + part(seed + 1) * Complex(0, 1);
        return x.to(Device()).eval().to(Device(GetParam()));
    }
};

std::vector<Complex> numbers(const Tensor& x) { return x.cast(c128).to_vector<Complex>(); }

void expect_near(const Tensor& a, const Tensor& b, double bound = 1e-12) {
    ASSERT_EQ(a.shape(), b.shape());
    const auto x = numbers(a);
    const auto y = numbers(b);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(x[i] - y[i]), bound) << i;
}

TEST_P(Fourier, IsTheSum) {
    for (const std::int64_t n :
         {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  12,  13,  15,  16,  25, 29,
          31, 32, 37, 49, 60, 64, 67, 77, 81, 101, 121, 128, 169, 210, 251}) {
        const Tensor x = drawn(1, {n});
        const auto in = numbers(x);
        const auto got = numbers(fft::fft(x));
        const auto half = numbers(fft::rfft(x.abs()));
        const auto sizes = numbers(x.abs());
        for (std::int64_t k = 0; k < n; ++k) {
            Complex sum, real_sum;
            for (std::int64_t j = 0; j < n; ++j) {
                const Complex turn =
                    std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                        static_cast<double>(n));
                sum += in[static_cast<std::size_t>(j)] * turn;
                real_sum += sizes[static_cast<std::size_t>(j)] * turn;
            }
            ASSERT_LE(std::abs(got[static_cast<std::size_t>(k)] - sum), 1e-11) << n << " " << k;
            if (k <= n / 2) {
                ASSERT_LE(std::abs(half[static_cast<std::size_t>(k)] - real_sum), 1e-11)
                    << n << " " << k;
            }
        }
    }
}

TEST_P(Fourier, ThereAndBack) {
    for (std::int64_t n = 1; n <= 70; ++n) {
        const Tensor x = drawn(2, {3, n});
        expect_near(fft::ifft(fft::fft(x)), x);
        const Tensor real = drawn(3, {n, 3}, f64);
        expect_near(fft::irfft(fft::rfft(real, {.axis = 0}), {.n = n, .axis = 0}), real);
    }
    const Tensor narrow = drawn(4, {2, 1000}, f32);
    EXPECT_EQ(fft::rfft(narrow).dtype(), c64);
    expect_near(fft::irfft(fft::rfft(narrow)), narrow, 1e-6);
}

TEST_P(Fourier, CutsAndFillsUp) {
    const Tensor x = drawn(5, {2, 6});
    expect_near(fft::fft(x, {.n = 4}), fft::fft(x.slice({0, 0}, {2, 4})));
    expect_near(fft::fft(x, {.n = 9}), fft::fft(x.pad({0, 0}, {0, 3}, 0)));
    EXPECT_EQ(fft::irfft(x).shape(), (Shape{2, 10}));
    EXPECT_EQ(fft::irfft(x, {.n = 7}).shape(), (Shape{2, 7}));
    EXPECT_EQ(fft::rfft(x.abs(), {.n = 5, .axis = 0}).shape(), (Shape{3, 6}));
}

TEST_P(Fourier, Norms) {
    const Tensor x = drawn(6, {8});
    expect_near(fft::fft(x, {.norm = fft::Norm::ortho}), fft::fft(x) / std::sqrt(8.0));
    expect_near(fft::fft(x, {.norm = fft::Norm::forward}), fft::fft(x) / 8.0);
    for (const fft::Norm norm : {fft::Norm::backward, fft::Norm::ortho, fft::Norm::forward}) {
        expect_near(fft::ifft(fft::fft(x, {.norm = norm}), {.norm = norm}), x);
        expect_near(fft::irfft(fft::rfft(x.abs(), {.norm = norm}), {.norm = norm}), x.abs());
    }
}

TEST_P(Fourier, SeveralAxes) {
    const Tensor x = drawn(7, {3, 4, 5});
    expect_near(fft::fftn(x),
                fft::fft(fft::fft(fft::fft(x, {.axis = 0}), {.axis = 1}), {.axis = 2}));
    expect_near(fft::fft2(x), fft::fft(fft::fft(x, {.axis = 1}), {.axis = 2}));
    expect_near(fft::ifftn(fft::fftn(x)), x);
    expect_near(fft::ifft2(fft::fft2(x)), x);
    expect_near(fft::irfftn(fft::rfftn(x.abs()), {.sizes = {3, 4, 5}}), x.abs());
    EXPECT_EQ(fft::fftn(x, {.sizes = {6, 7}}).shape(), (Shape{3, 6, 7}));
    EXPECT_EQ(fft::fftn(x, {.sizes = {6}, .axes = 0}).shape(), (Shape{6, 4, 5}));
}

TEST_P(Fourier, Edges) {
    EXPECT_EQ(fft::fft(drawn(8, {0, 4})).eval().shape(), (Shape{0, 4}));
    EXPECT_EQ(fft::fft(drawn(8, {4, 0})).eval().shape(), (Shape{4, 0}));
    expect_near(
        fft::fft(Tensor{1, 2, 3, 4}.to(Device(GetParam()))),
        Tensor{Complex(10), Complex(-2, 2), Complex(-2), Complex(-2, -2)}.to(Device(GetParam())),
        1e-6);
    // Imaginary parts that cannot be there count for nothing.
    const Tensor odd = full({2}, Complex(1, 5), {c128, Device(GetParam())});
    expect_near(fft::irfft(odd), tensor({1, 0}, f64).to(Device(GetParam())));
    EXPECT_THROW(fft::rfft(drawn(9, {4})), DTypeError);
    EXPECT_THROW(fft::rfft(drawn(9, {4, 0}, f64)), ShapeError);
    EXPECT_THROW(fft::fft(drawn(9, {4}), {.axis = 1}), IndexError);
    EXPECT_THROW(fft::fft(drawn(9, {4}), {.n = 0}), ArgumentError);
    EXPECT_THROW(fft::irfft(drawn(9, {1})), ArgumentError);
    EXPECT_THROW(fft::fftn(drawn(9, {4}), {.sizes = {2, 2}}), ArgumentError);
}

INSTANTIATE_TEST_SUITE_P(Devices, Fourier, ::testing::Values("reference", "cpu"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace lazuli
