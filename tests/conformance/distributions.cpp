// Random numbers of fixed keys have the moments and frequencies of their distributions, on the
// reference backend and by kernels.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

class Distributions : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        before_ = default_device();
        set_default_device(Device(GetParam()));
    }
    void TearDown() override { set_default_device(before_); }

   private:
    Device before_;
};

constexpr std::int64_t kDraws = 100'000;
/// Five deviations of the mean of numbers of deviation 1.
const double kFive = 5 / std::sqrt(static_cast<double>(kDraws));

/// How far counts lie from what they should be: about as much as there are counts.
double chi_square(const std::vector<double>& counts, const std::vector<double>& expected) {
    double out = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        out += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    return out;
}

TEST_P(Distributions, BernoulliIsTrueAsOftenAsItSays) {
    for (const double p : {0.0, 0.001, 0.25, 0.5, 0.9, 1.0}) {
        const Tensor drawn = key(7).random_bernoulli(p, {kDraws});
        EXPECT_EQ(drawn.dtype(), DType::boolean);
        const double share =
            static_cast<double>(drawn.count_nonzero().item<std::int64_t>()) / kDraws;
        EXPECT_NEAR(share, p, kFive * std::sqrt(p * (1 - p))) << p;
    }
}

TEST_P(Distributions, GumbelHasItsMeanAndVariance) {
    const Tensor drawn = key(11).random_gumbel({kDraws}, f64);
    const double deviation = std::numbers::pi / std::sqrt(6.0);
    EXPECT_NEAR(drawn.mean().item<double>(), std::numbers::egamma, kFive * deviation);
    // The fourth moment about the mean is 5.4 times the variance squared.
    EXPECT_NEAR(drawn.var().item<double>(), deviation * deviation,
                kFive * deviation * deviation * std::sqrt(4.4));
    EXPECT_TRUE(drawn.isfinite().all().item<bool>());
}

TEST_P(Distributions, CategoriesComeAsOftenAsTheirSoftmaxSays) {
    const std::vector<float> weights{1, 2, 3, 4, 0, 6};
    const Tensor logits = Tensor::from(weights).log();  // one of them -inf
    const Tensor drawn = key(13).random_categorical(logits.broadcast_to({kDraws, 6}), 1);
    EXPECT_EQ(drawn.shape(), Shape{kDraws});
    std::vector<double> counts(weights.size());
    for (const std::int64_t at : drawn.to_vector<std::int64_t>())
        ++counts[static_cast<std::size_t>(at)];
    EXPECT_EQ(counts[4], 0);
    std::vector<double> expected;
    for (const float w : weights) expected.push_back(kDraws * static_cast<double>(w) / 16);
    counts.erase(counts.begin() + 4);
    expected.erase(expected.begin() + 4);
    EXPECT_LT(chi_square(counts, expected), 20.0);  // four degrees of freedom: 1 in 2000
}

TEST_P(Distributions, EveryOrderIsEquallyLikely) {
    std::map<std::vector<std::int64_t>, double> orders;
    constexpr int keys = 2400;
    for (std::uint64_t seed = 0; seed < keys; ++seed)
        ++orders[key(seed).random_permutation(4).to_vector<std::int64_t>()];
    ASSERT_EQ(orders.size(), 24U);
    std::vector<double> counts;
    for (const auto& [order, count] : orders) counts.push_back(count);
    EXPECT_LT(chi_square(counts, std::vector<double>(24, keys / 24.0)), 50.0);  // 1 in 1000
}

TEST_P(Distributions, APermutationHasEveryIntegerOnce) {
    for (const std::int64_t n : {0, 1, 2, 1000}) {
        const Tensor drawn = key(17).random_permutation(n);
        ASSERT_EQ(drawn.spec(), (TensorSpec{i64, {n}}));
        std::vector<std::int64_t> order = drawn.to_vector<std::int64_t>();
        EXPECT_EQ(order, key(17).random_permutation(n).to_vector<std::int64_t>());
        std::sort(order.begin(), order.end());
        for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
}

TEST_P(Distributions, BadArgumentsThrowAtTheCall) {
    EXPECT_THROW(key(1).random_bernoulli(1.5, {2}), ArgumentError);
    EXPECT_THROW(key(1).random_bernoulli(std::nan(""), {2}), ArgumentError);
    EXPECT_THROW(key(1).random_gumbel({2}, i32), DTypeError);
    EXPECT_THROW(key(1).random_permutation(-1), ArgumentError);
    EXPECT_THROW(key(1).random_categorical(zeros({3, 0}), 1), ShapeError);
    EXPECT_THROW(key(1).random_categorical(zeros({3, 2}), 2), IndexError);
    EXPECT_THROW(zeros({2}, u64).random_permutation(3), ShapeError);
    EXPECT_THROW(zeros({}).random_permutation(3), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Distributions, testing::Values("reference", "cpu"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace lazuli
