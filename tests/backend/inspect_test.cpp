// Evaluations that somebody looks into. Compiled with debug information: lines are compared.

#include "lazuli/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "graphs/graphs.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const float kNan = std::nanf("");

std::string message_of(const auto& work) {
    try {
        work();
    } catch (const ExecutionError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

class Inspect : public testing::TestWithParam<const char*> {
   protected:
    Inspect() { set_default_device(Device(GetParam())); }
    ~Inspect() override { set_default_device(before_); }

    /// What is seen of an evaluation.
    static std::vector<TensorSummary> seen_of(const auto& work) {
        std::vector<TensorSummary> seen;
        std::mutex mutex;
        const DebugTensors debug([&](const TensorSummary& summary) {
            const std::scoped_lock lock(mutex);
            seen.push_back(summary);
        });
        work();
        return seen;
    }
    static std::vector<std::string> ops_of(const std::vector<TensorSummary>& seen) {
        std::vector<std::string> out;
        for (const TensorSummary& summary : seen) out.push_back(summary.op);
        return out;
    }

   private:
    Device before_ = default_device();
};

TEST_P(Inspect, ValuesWithinAFusedKernelAreSeen) {
    const Tensor x({{1.0F, -2.0F, 3.0F}, {4.0F, 0.0F, 6.0F}});
    int line = 0;
    const auto seen = seen_of([&] {
        line = __LINE__ + 1;
        Tensor scaled = x * 2;
        scaled.name("scaled");
        EXPECT_TRUE(std::isnan((scaled / 0.0F).sum(1).to_vector<float>()[0]));  // inf - inf
    });
    ASSERT_THAT(ops_of(seen), ElementsAre("mul", "div", "sum"));
    EXPECT_EQ(seen[0].name, "scaled");
    EXPECT_EQ(seen[0].spec, (TensorSpec{f32, {2, 3}}));
    EXPECT_EQ(seen[0].min, -4);
    EXPECT_EQ(seen[0].max, 12);
    EXPECT_DOUBLE_EQ(seen[0].mean, 4);
    EXPECT_EQ(seen[0].nans, 0);
    EXPECT_EQ(seen[1].infs, 5);
    EXPECT_EQ(seen[1].nans, 1);
    EXPECT_EQ(seen[1].first.size(), 6U);
    EXPECT_THAT(seen[0].source, HasSubstr("inspect_test.cpp:" + std::to_string(line) + " in "));
    EXPECT_THAT(seen[0].str(),
                AllOf(HasSubstr("f32[2, 3]"), HasSubstr("'scaled'"), HasSubstr("2 -4 6 8 0 12")));
}

TEST_P(Inspect, ResultsAreWhatTheyAreWithout) {
    const auto work = [] {
        const Tensor out = tests::transformer(2, 1, 8, 16, 2);
        return out.to_vector<float>();
    };
    const std::vector<float> plain = work();
    std::vector<float> inspected;
    const auto seen = seen_of([&] { inspected = work(); });
    EXPECT_GT(seen.size(), 20U);
    ASSERT_EQ(plain.size(), inspected.size());
    for (std::size_t i = 0; i < plain.size(); ++i)
        EXPECT_NEAR(plain[i], inspected[i], 1e-5 * std::max(1.0F, std::fabs(plain[i])));
}

TEST_P(Inspect, StepsOfLoopsAndResultsOfBundlesAreSeen) {
    const auto seen = seen_of([] {
        const Looped out =
            loop(3, {Tensor({1.0F, 2.0F})},
                 [](const Tensor&, const std::vector<Tensor>& x) { return Looped{{x[0] * 2}}; });
        EXPECT_EQ(out.carried[0].to_vector<float>(), (std::vector<float>{8, 16}));
    });
    EXPECT_THAT(ops_of(seen), ElementsAre("mul", "mul", "mul", "loop"));
    EXPECT_EQ(seen[1].max, 8);
    EXPECT_EQ(seen[3].max, 16);
}

TEST_P(Inspect, TheFirstNanIsNamedWithItsLine) {
    const Tensor x({1.0F, 2.0F, -3.0F, 5.0F});
    const NanCheck check;
    const int line = __LINE__ + 1;
    const Tensor roots = sqrt(x.reshape({2, 2}) + 1);
    const Tensor depends = roots.sum() * 2;
    const Tensor other = x + 1;
    const std::string message = message_of([&] { depends.eval(); });
    EXPECT_THAT(message, HasSubstr("sqrt: makes NaN of operands without one: 1 of 4 elements of "
                                   "f32[2, 2], the first at [1, 0]; of f32[2, 2] from -2 to 6"));
    EXPECT_THAT(message, HasSubstr("inspect_test.cpp:" + std::to_string(line) + " in "));
    EXPECT_EQ(other.to_vector<float>()[3], 6);
}

TEST_P(Inspect, ANanThatWasGivenIsNobodysFault) {
    const NanCheck check;
    const Tensor x({1.0F, kNan});
    EXPECT_TRUE(std::isnan((x + 1).sum().item<float>()));
    EXPECT_TRUE(std::isnan((x.slice({1}, {2}) * 0).item<float>()));
    EXPECT_EQ((Tensor({1, 2}) * 2).to_vector<int>(), (std::vector<int>{2, 4}));
    // As a number of the program, and in what was computed before anybody looked.
    EXPECT_TRUE(std::isnan((Tensor({1.0F}) * std::nan("")).item<float>()));
    EXPECT_TRUE(std::isnan((ones({2}) + full({2}, std::nan(""))).to_vector<float>()[0]));
    // inf - inf makes one, of operands without.
    const Tensor inf({INFINITY, 1.0F});
    EXPECT_THAT(message_of([&] { (inf - inf).eval(); }), HasSubstr("sub: makes NaN"));
}

TEST_P(Inspect, ALoopThatMakesANanNamesTheOperationAndTheLoop) {
    const NanCheck check;
    const auto body = [](const Tensor&, const std::vector<Tensor>& x) {
        return Looped{{sqrt(x[0] - 1)}};
    };
    const Tensor start({2.0F});
    const int line = __LINE__ + 1;
    const Looped out = loop(5, {start}, body);
    EXPECT_THAT(message_of([&] { out.carried[0].eval(); }),
                AllOf(HasSubstr("sqrt: makes NaN"), HasSubstr("in the body of loop"),
                      HasSubstr("inspect_test.cpp:" + std::to_string(line))));
}

TEST_P(Inspect, WhatOthersHoldAndStreamsRunIsChecked) {
    const NanCheck check;
    const Tensor bad = log(Tensor({-1.0F}));
    async_eval(bad);
    EXPECT_THAT(message_of([&] { bad.eval(); }), HasSubstr("log: makes NaN"));
    // Operands are kept while somebody looks, though nobody needs them any more.
    Tensor x = ones({1000});
    for (int i = 0; i < 5; ++i) x = x * 2;
    EXPECT_EQ(x.to_vector<float>()[999], 32);
}

TEST_P(Inspect, NothingIsSeenOnceItIsOver) {
    int count = 0;
    {
        const DebugTensors debug([&](const TensorSummary&) { ++count; });
    }
    {
        const NanCheck check;
    }
    (ones({3}) * 2).eval();
    EXPECT_EQ(count, 0);
    EXPECT_TRUE(std::isnan(log(Tensor({-1.0F})).item<float>()));
}

TEST_P(Inspect, EmptyAndComplexTensors) {
    const auto seen = seen_of([] {
        (zeros({0, 3}) + 1).eval();
        (Tensor({std::complex<float>(3, 4)}) * 2).eval();
    });
    ASSERT_THAT(ops_of(seen), ElementsAre("add", "mul"));
    EXPECT_TRUE(std::isnan(seen[0].min));
    EXPECT_TRUE(seen[0].first.empty());
    EXPECT_EQ(seen[1].max, 10);
}

INSTANTIATE_TEST_SUITE_P(Devices, Inspect, testing::Values("reference", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace lazuli
