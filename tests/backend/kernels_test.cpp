// Kernels that a policy chooses among: each, forced, computes the same, and what does not serve
// says so.

#include <gtest/gtest.h>

#include "lazuli/functional.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using functional::Policy;
using functional::PolicyScope;

std::vector<double> numbers(const Tensor& t) { return t.cast(f64).to_vector<double>(); }

/// Whole numbers, whose sums are exact.
Tensor whole(std::uint64_t seed, const Shape& shape, DType dtype) {
    return ((key(seed).random_uniform(shape) * 9.0).cast(i32) - 4).cast(dtype).to(Device("cpu"));
}

bool has_library() {
    const Tensor a = whole(1, {40, 40}, f32);
    const PolicyScope scope("dot_general", Policy::force("onednn"));
    try {
        a.matmul(a).eval();
        return true;
    } catch (const ArgumentError&) {
        return false;  // built or run without it
    }
}

class Forced : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        if (std::string_view(GetParam()) == "onednn" && !has_library())
            GTEST_SKIP() << "oneDNN is not there";
    }
};

TEST_P(Forced, ProductsAreTheSame) {
    for (const DType dtype : {f32, bf16}) {
        const Tensor a = whole(1, {3, 150, 70}, dtype).eval();
        const Tensor b = whole(2, {3, 90, 70}, dtype).eval();
        const Tensor c = whole(3, {90}, dtype).eval();
        const auto make = [&] { return (a.matmul(b.permute({0, 2, 1})) + c).relu(); };
        const std::vector<double> want = numbers(make().eval());
        const PolicyScope scope("dot_general", Policy::force(GetParam()));
        const Tensor got = make();
        EXPECT_EQ(numbers(got), want) << name(dtype);
    }
}

TEST_P(Forced, ConvolutionsAreTheSame) {
    const Tensor x = whole(4, {2, 16, 9, 11}, f32).eval();
    const Tensor w = whole(5, {24, 16, 3, 3}, f32).eval();
    const auto make = [&] { return convolution(x, w, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1); };
    const std::vector<double> want = numbers(make().eval());
    const PolicyScope scope("convolution", Policy::force(GetParam()));
    EXPECT_EQ(numbers(make()), want);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Forced, testing::Values("microkernel", "onednn", "loops"));

TEST(Kernels, TheFasterOneIsFound) {
    const Tensor a = whole(6, {130, 70}, f32).eval();
    const Tensor b = whole(7, {70, 200}, f32).eval();
    const std::vector<double> want = numbers((a.matmul(b) * 0.5).eval());
    const PolicyScope scope("dot_general", Policy::benchmark());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(numbers(a.matmul(b) * 0.5), want);
}

TEST(Kernels, AttentionIsTiledOrNot) {
    const auto draw = [](std::uint64_t seed) {
        return key(seed).random_normal({2, 40, 16}).to(Device("cpu")).eval();
    };
    const Tensor q = draw(1);
    const Tensor k = draw(2);
    const Tensor v = draw(3);
    std::vector<std::vector<double>> results;
    for (const char* kernel : {"tiled", "unfused"}) {
        const PolicyScope scope("attention", Policy::force(kernel));
        results.push_back(numbers(attention(q, k, v)));
    }
    for (std::size_t i = 0; i < results[0].size(); ++i)
        EXPECT_NEAR(results[0][i], results[1][i], 1e-5);
}

TEST(Kernels, OneThatDoesNotServeSaysSo) {
    const PolicyScope products("dot_general", Policy::force("onednn"));
    const Tensor a = whole(8, {4, 4}, f64).eval();
    try {
        a.matmul(a).eval();
        FAIL() << "nothing was thrown";
    } catch (const ArgumentError& e) {
        EXPECT_NE(std::string(e.what()).find("onednn"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("f64"), std::string::npos) << e.what();
    }
    const PolicyScope attentions("attention", Policy::force("tiled"));
    const Tensor q = ones({2, 4, 4}).to(Device());
    EXPECT_THROW(attention(q, q, q).eval(), ArgumentError);
    EXPECT_THROW(functional::set_policy("dot_general", Policy::force("magic")), ArgumentError);
}

}  // namespace
}  // namespace lazuli
