// Frozen operands are packed once, and give the same results.

#include <gtest/gtest.h>

#include "lazuli/functional.h"
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

TEST_P(Freeze, WhatIsPackedMayReplaceIt) {
    const Tensor x = drawn(1, {40, 700});
    const Tensor few = drawn(3, {2, 700});
    for (const bool turned : {false, true}) {
        const Tensor w = drawn(2, turned ? Shape{600, 700} : Shape{700, 600});
        const auto product = [&](const Tensor& left) {
            return values(left.matmul(turned ? w.permute({1, 0}) : w));
        };
        const std::vector<double> content = values(w * 1.0);
        const std::vector<double> before = product(x);
        w.freeze();
        EXPECT_EQ(product(x), before);
        const std::size_t both = bytes_in_use();
        w.freeze(Unpacked::release);
        EXPECT_EQ(product(x), before);
        const std::size_t packed = bytes_in_use();
        const auto own = static_cast<std::size_t>(w.spec().nbytes());
        EXPECT_GE(both, packed + own) << "there are two copies";
        EXPECT_EQ(product(x), before);
        const std::vector<double> short_product = product(few);
        EXPECT_EQ(bytes_in_use(), packed) << "few rows have brought it back";
        // Kernels that read it bring it back, for a while; the next product gives it back again.
        EXPECT_EQ(values(w * 1.0), content);
        EXPECT_EQ(values(w.slice({1, 1}, {3, 3}) + 1.0),
                  values((w * 1.0).eval().slice({1, 1}, {3, 3}) + 1.0));
        // A product that reads it twice must not lose it on the way.
        const Tensor thawed = (w * 1.0).eval();
        EXPECT_EQ(values(w.matmul(w.permute({1, 0}))),
                  values(thawed.matmul(thawed.permute({1, 0}))));
        EXPECT_EQ(product(x), before);
        EXPECT_EQ(product(few), short_product);
        EXPECT_EQ(values(w), content);
        EXPECT_EQ(product(x), before);
        EXPECT_EQ(values(w.to(Device("reference"))), content);
    }
}

TEST_P(Freeze, WhatIsReadTwiceIsNotLost) {
    const Tensor x = drawn(1, {600, 600});
    const Tensor w = drawn(2, {600, 600});
    const auto made = [](const Tensor& left, const Tensor& right) {
        return std::vector{values(left.matmul(right) + right), values(right.matmul(right))};
    };
    const auto before = made(x, w);
    w.freeze(Unpacked::release);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(made(x, w), before) << "run " << i;
        (void)values(x.matmul(w));  // gives it back
    }
    const functional::PolicyScope scope("dot_general", functional::Policy::benchmark());
    const std::vector<double> product = values(x.matmul((w * 1.0).eval()));
    for (int i = 0; i < 2; ++i) {
        const std::vector<double> got = values(x.matmul(w));
        for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], product[k], 1.0);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Freeze, testing::Values(f32, bf16, f64));

}  // namespace
}  // namespace lazuli
