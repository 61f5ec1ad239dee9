// Graphs that return with other sizes: when a plan serves several of them, when it does not, and
// when one of their own takes over.

#include <gtest/gtest.h>

#include <bit>

#include "blocks.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using blocks::Weights;

/// What evaluations did to the plans, since it was made.
class Since {
   public:
    std::uint64_t planned() const { return now().misses - before_.misses; }
    std::uint64_t general() const { return now().general_plans - before_.general_plans; }
    std::uint64_t served() const { return now().general_hits - before_.general_hits; }
    std::uint64_t specialised() const { return now().specialised - before_.specialised; }

   private:
    static CacheStats now() { return cache_stats(); }
    CacheStats before_ = now();
};

class Generalise : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        set_default_device(Device(GetParam()));
        clear_caches();
    }
    void TearDown() override {
        set_default_device(before_);
        set_generalising(true);
        set_specialising(true);
    }

   private:
    Device before_ = default_device();
};

INSTANTIATE_TEST_SUITE_P(Devices, Generalise, testing::Values("interpreter", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

std::vector<std::uint32_t> bits_of(const Tensor& tensor) {
    std::vector<std::uint32_t> out;
    for (const float value : tensor.to_vector<float>())
        out.push_back(std::bit_cast<std::uint32_t>(value));
    return out;
}

/// Evaluates, and compares with a plan of the numbers.
void expect_bits(const auto& function, const Tensor& x) {
    const auto given = bits_of(function(x));
    const Function with_numbers = compile(function, x.spec());
    ASSERT_EQ(given, bits_of(with_numbers(x)));
}

TEST_P(Generalise, AThirdSizeMakesOnePlanForAll) {
    const Tensor w = Weights(3)({24, 10}).eval();
    const auto f = [&](const Tensor& x) { return softmax(matmul(x, w), -1); };
    const Since since;
    for (const std::int64_t rows : {7, 4, 9, 2, 33, 12, 7})
        expect_bits(f, Weights(1)({rows, 24}).eval());
    EXPECT_EQ(since.planned(), 2U);
    EXPECT_EQ(since.general(), 1U);
    EXPECT_EQ(since.served(), 4U);
}

TEST_P(Generalise, AGrowingSequenceNeedsThreePlans) {
    const Since since;
    Tensor keys = Weights(5)({1, 16}).eval();
    for (int position = 1; position <= 40; ++position) {
        const Tensor query = Weights(6)({1, 16}).eval();
        (void)bits_of(matmul(softmax(matmul(query, keys.permute({1, 0})), -1), keys));
        keys = concat({keys, query}, 0).eval();
    }
    // Two graphs grow: that of the results and that of the keys.
    EXPECT_LE(since.planned() + since.general(), 6U);
    EXPECT_EQ(since.general(), 2U);
}

TEST_P(Generalise, ASliceThatGrowsIsServed) {
    const Tensor cache = Weights(2)({64, 8}).eval();
    const Since since;
    for (std::int64_t t = 2; t < 64; ++t) (void)bits_of(softmax(cache(slice(0, t)), 0));
    EXPECT_EQ(since.planned(), 2U);
    EXPECT_EQ(since.general(), 1U);
}

TEST_P(Generalise, SizesThatWereEqualByAccidentNeedNotStaySo) {
    const auto outer = [](const Tensor& x, const Tensor& y) { return bits_of(matmul(x, y) + 1); };
    const auto call = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
        const Tensor x = Weights(1)({m, k}).eval();
        const Tensor y = Weights(2)({k, n}).eval();
        const auto given = outer(x, y);
        const Function f = compile(
            [](const Tensor& a, const Tensor& b) { return matmul(a, b) + 1; }, x.spec(), y.spec());
        ASSERT_EQ(given, bits_of(f(x, y))) << m << " " << k << " " << n;
    };
    const Since since;
    for (const std::int64_t size : {3, 5, 8}) call(size, size, size);
    for (const std::int64_t size : {2, 7, 11}) call(size, size + 1, size + 5);
    EXPECT_EQ(since.planned(), 2U);
    EXPECT_EQ(since.general(), 1U);
}

TEST_P(Generalise, OneIsNotASizeLikeOthers) {
    // Broadcast where it is 1, added element by element where it is not.
    const Tensor x = Weights(1)({6, 4}).eval();
    const auto rows = [&](std::int64_t n) {
        return (n == 6 ? x : x(slice(0, n))) + Weights(2)({n, 4}).eval();
    };
    const Since since;
    for (const std::int64_t n : {6, 5, 4, 3, 2}) EXPECT_EQ(rows(n).shape(), Shape({n, 4}));
    for (const std::int64_t n : {6, 1, 5, 1, 4, 1, 0, 3}) {
        const Tensor y = Weights(2)({n, 4}).eval();
        const Tensor sum = n < 2 ? x + y.sum({0}, true) : x(slice(0, n)) + y;
        const auto values = sum.to_vector<float>();
        const auto a = x.to_vector<float>();
        const auto b = y.to_vector<float>();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float other = n == 0 ? 0.0F : n == 1 ? b[i % 4] : b[i];
            ASSERT_FLOAT_EQ(values[i], a[i] + other) << n << " " << i;
        }
    }
}

TEST_P(Generalise, AnExplanationSaysWhichPlanServes) {
    const auto f = [](std::int64_t n) { return tanh(Weights(1)({n, 5}).eval() * 3); };
    for (const std::int64_t n : {3, 4, 5}) (void)bits_of(f(n));
    const Since since;
    EXPECT_EQ(f(6).explanation().cache, "hit, a plan for all sizes serves these");
    EXPECT_EQ(f(3).explanation().cache, "hit, the plan is there");
    EXPECT_EQ(f(1).explanation().cache, "miss, another shape");
    EXPECT_EQ(since.planned() + since.served(), 0U);
}

TEST_P(Generalise, ManyOperandsOfOneSize) {
    const auto sum_of = [](std::int64_t n) {
        Tensor sum = Weights(1)({n, 3}).eval();
        for (int i = 0; i < 40; ++i) sum = sum + Weights(2)({n, 3}).eval();
        return bits_of(sum);
    };
    const Since since;
    for (const std::int64_t n : {5, 4, 7, 9, 30}) (void)sum_of(n);
    EXPECT_EQ(since.planned(), 2U);
    EXPECT_EQ(since.general(), 1U);
}

TEST_P(Generalise, TheSwitchKeepsEachSizeByItself) {
    set_generalising(false);
    EXPECT_FALSE(generalising());
    const Since since;
    for (const std::int64_t n : {3, 4, 5, 6, 7}) (void)bits_of(Weights(1)({n, 5}).eval() * 3);
    EXPECT_EQ(since.planned(), 5U);
    EXPECT_EQ(since.general(), 0U);
}

TEST_P(Generalise, SizesThatAreUsedOftenGetKernelsOfTheirOwn) {
    const Tensor w = Weights(3)({24, 10}).eval();
    const auto f = [&](const Tensor& x) { return softmax(tanh(matmul(x, w)), -1); };
    for (const std::int64_t rows : {7, 4, 9}) (void)bits_of(f(Weights(1)({rows, 24}).eval()));
    const Tensor x = Weights(1)({13, 24}).eval();
    const auto before = bits_of(f(x));
    const Since since;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 64; ++i) ASSERT_EQ(bits_of(f(x)), before);
        finish_compiling();
    }
    EXPECT_EQ(since.specialised(), 1U);
    EXPECT_EQ(since.planned(), 0U);
}

TEST_P(Generalise, AFunctionsSizesThatAreUsedOftenToo) {
    const Function f = compile([](const Tensor& x) { return softmax(x * 2, -1); },
                               placeholder(f32, {dim("hot_b", 1, 64), dim("hot_t", 1, 64)}));
    const Tensor x = Weights(1)({13, 24}).eval();
    const auto before = bits_of(f(x));
    Since since;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 64; ++i) ASSERT_EQ(bits_of(f(x)), before);
        finish_compiling();
    }
    EXPECT_EQ(since.specialised(), 1U);
    // Switched off, it stays as it is.
    set_specialising(false);
    const Tensor y = Weights(1)({14, 24}).eval();
    for (int i = 0; i < 300; ++i) (void)f(y);
    finish_compiling();
    EXPECT_EQ(since.specialised(), 1U);
}

}  // namespace
}  // namespace lazuli
