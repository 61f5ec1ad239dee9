// Frozen operands are packed once, and give the same results.

#include <gtest/gtest.h>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

std::size_t bytes_in_use() { return static_cast<std::size_t>(memory_stats().bytes); }

class Freeze : public testing::TestWithParam<DType> {
   protected:
    static Tensor drawn(std::uint64_t k, const Shape& shape) {
        const Tensor t = key(k).random_uniform(shape).to(Device("cpu"));
        return (t - 0.5).cast(GetParam()).eval();
    }
    static std::vector<double> values(const Tensor& t) { return t.cast(f64).to_vector<double>(); }
};

TEST_P(Freeze, ProductsAreTheSame) {
    const Tensor x = drawn(1, {40, 70});
    const Tensor w = drawn(2, {70, 50});
    const std::vector<double> before = values(x.matmul(w));
    w.freeze();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(values(x.matmul(w)), before) << "run " << i;
    // Parts of it and other ways to look at it are packed for themselves.
    const Tensor y = drawn(3, {40, 50});
    const Tensor part = w.slice({10, 0}, {60, 50});
    const Tensor thawed = (w * 1.0).eval();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(values(y.matmul(w.permute({1, 0}))), values(y.matmul(thawed.permute({1, 0}))));
        EXPECT_EQ(values(x.slice({0, 0}, {40, 50}).matmul(part)),
                  values(x.slice({0, 0}, {40, 50}).matmul(thawed.slice({10, 0}, {60, 50}))));
    }
}

TEST_P(Freeze, WhatIsKeptGoesWithIt) {
    const Tensor x = drawn(1, {40, 300});
    const std::size_t before = bytes_in_use();
    {
        const Tensor w = drawn(2, {300, 200});
        w.freeze();
        (void)values(x.matmul(w));
        const std::size_t once = bytes_in_use();
        (void)values(x.matmul(w));
        EXPECT_EQ(bytes_in_use(), once) << "it was packed again";
        EXPECT_GT(once - before, static_cast<std::size_t>(w.spec().nbytes()));
    }
    EXPECT_EQ(bytes_in_use(), before);
}

TEST_P(Freeze, ConvolutionsAreTheSame) {
    const Tensor x = drawn(1, {2, 8, 12, 12});
    const Tensor w = drawn(2, {32, 8, 3, 3});
    const std::vector<double> before = values(x.convolution(w, {}, {1, 1}));
    w.freeze();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(values(x.convolution(w, {}, {1, 1})), before) << "run " << i;
}

INSTANTIATE_TEST_SUITE_P(Types, Freeze, testing::Values(f32, bf16, f64));

}  // namespace
}  // namespace lazuli
