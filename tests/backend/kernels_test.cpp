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

/// Bytes over all their range.
Tensor bytes(std::uint64_t seed, const Shape& shape, DType dtype) {
    const double low = dtype == u8 ? 0 : -128;
    return (key(seed).random_uniform(shape) * 256.0 + low).floor().cast(dtype).to(Device("cpu"));
}

TEST_P(Forced, BytesAreMultipliedAsTheyAre) {
    for (const DType left : {i8, u8}) {
        for (const DType right : {i8, u8}) {
            if (std::string_view(GetParam()) == "onednn" && right == u8) continue;
            for (const Shape& shape :
                 {Shape{1, 70, 90}, Shape{7, 33, 64}, Shape{45, 517, 83}, Shape{45, 417, 83}}) {
                // Longer sums of bytes are not exact there.
                if (std::string_view(GetParam()) == "onednn" && shape[1] > 500) continue;
                const Tensor a = bytes(1, {2, shape[0], shape[1]}, left).eval();
                const Tensor b = bytes(2, {2, shape[2], shape[1]}, right).eval();
                const Tensor c = whole(3, {shape[2]}, i32).eval();
                const auto make = [&](const Tensor& x, const Tensor& y) {
                    return (x.cast(i32).matmul(y.permute({0, 2, 1}).cast(i32)) + c).relu();
                };
                const Device reference("reference");
                const Tensor want = (a.to(reference).cast(i32).matmul(
                                         b.to(reference).permute({0, 2, 1}).cast(i32)) +
                                     c.to(reference))
                                        .relu();
                const PolicyScope scope("dot_general", Policy::force(GetParam()));
                const Tensor got = make(a, b);
                EXPECT_EQ(numbers(got), numbers(want))
                    << name(left) << " by " << name(right) << ", " << shape.str();
            }
        }
    }
}

TEST_P(Forced, BytesAreConvolvedAsTheyAre) {
    for (const DType dtype : {i8, u8}) {
        const Tensor x = bytes(4, {2, 16, 9, 11}, dtype).eval();
        const Tensor w = bytes(5, {24, 16, 3, 3}, i8).eval();
        const auto make = [](const Tensor& image, const Tensor& weights) {
            return convolution(image.cast(i32), weights.cast(i32), {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
        };
        const Device reference("reference");
        const std::vector<double> want = numbers(make(x.to(reference), w.to(reference)));
        const PolicyScope scope("convolution", Policy::force(GetParam()));
        EXPECT_EQ(numbers(make(x, w)), want) << name(dtype);
    }
}

TEST(Kernels, SumsOfBytesAreExactBeyondFloats) {
    const Device cpu("cpu");
    const Tensor x = full({1, 64, 8, 8}, 255, {u8, cpu}).eval();
    const Tensor w =
        (full({16, 64, 3, 3}, 127, {i8, cpu}) - (iota({16, 64, 3, 3}, 3).to(cpu) == 1).cast(i8))
            .eval();
    const auto make = [](const Tensor& image, const Tensor& weights) {
        return convolution(image.cast(i32), weights.cast(i32), {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
    };
    const Device reference("reference");
    EXPECT_EQ(numbers(make(x, w)), numbers(make(x.to(reference), w.to(reference))));
}

// Deeper than what stays in the cache at once; packed weights of bytes, and what becomes of them.
TEST(Kernels, LongSumsOfBytesAndFrozenOnes) {
    const Device reference("reference");
    for (const DType left : {i8, u8}) {
        for (const DType right : {i8, u8}) {
            const Tensor a = bytes(1, {40, 2501}, left).eval();
            const Tensor few = bytes(3, {3, 2501}, left).eval();
            for (const bool turned : {false, true}) {
                const Tensor w = bytes(2, turned ? Shape{270, 2501} : Shape{2501, 270}, right);
                const std::vector<double> content = numbers(w.eval());
                const auto product = [&](const Tensor& x, const Tensor& y) {
                    return numbers(x.cast(i32).matmul((turned ? y.permute({1, 0}) : y).cast(i32)));
                };
                const auto want = product(a.to(reference), w.to(reference));
                const auto want_few = product(few.to(reference), w.to(reference));
                EXPECT_EQ(product(a, w), want);
                EXPECT_EQ(product(few, w), want_few);
                w.freeze(Unpacked::release);
                for (int i = 0; i < 2; ++i) {
                    EXPECT_EQ(product(a, w), want) << "run " << i;
                    EXPECT_EQ(product(few, w), want_few) << "run " << i;
                    EXPECT_EQ(numbers(w + 0), content) << "run " << i;
                }
            }
        }
    }
}

TEST(Kernels, BytesThatStayBytesWrap) {
    const Tensor a = bytes(1, {20, 30}, i8).eval();
    const Tensor b = bytes(2, {30, 40}, i8).eval();
    const Device reference("reference");
    EXPECT_EQ(numbers(a.matmul(b)), numbers(a.to(reference).matmul(b.to(reference))));
}

TEST(Kernels, BytesThatAProductComputesFirst) {
    const Tensor x = key(1).random_normal({40, 70}).to(Device("cpu")).eval();
    const Tensor w = bytes(2, {50, 70}, i8).eval();
    const auto product = [](const Tensor& left, const Tensor& right) {
        const Tensor quantised = (left * 20.0).round().clamp(-127, 127).cast(i8);
        return quantised.cast(i32).matmul(right.cast(i32).permute({1, 0})).cast(f32) * 0.05;
    };
    const Device reference("reference");
    const Tensor got = product(x, w);
    EXPECT_EQ(numbers(got), numbers(product(x.to(reference), w.to(reference))));
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
