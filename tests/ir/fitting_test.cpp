// Numbers as functions of sizes that differ.

#include "ir/fitting.h"

#include <gtest/gtest.h>

namespace lazuli::ir {
namespace {

const Dim kN = dim("fit_n", 2, std::int64_t{1} << 31);
const Dim kM = dim("fit_m", 2, std::int64_t{1} << 31);

TEST(Fitting, FindsTheSimplestFunction) {
    Fitting fitting(3);
    fitting.add_variable(kN, {5, 8, 14});
    fitting.add_variable(kM, {3, 11, 4});
    const auto found = [&](const NumberValues& values) { return fitting.anyhow(values, {}); };
    EXPECT_EQ(found({7, 7, 7}), Dim(7));
    EXPECT_EQ(found({5, 8, 14}), kN);
    EXPECT_EQ(found({-15, -24, -42}), kN * -3);
    EXPECT_EQ(found({30, 176, 112}), kN * kM * 2);
    EXPECT_EQ(found({4, 7, 13}), kN - 1);
    EXPECT_EQ(found({8, 19, 18}), kN + kM);
    EXPECT_EQ(found({11, 17, 29}), kN * 2 + 1);
    EXPECT_EQ(found({3, 4, 7}), (kN + 1) / 2);
    EXPECT_EQ(found({45, 968, 224}), kN * kM * kM);
    EXPECT_EQ(found({1, 9, 5}), std::nullopt);
}

TEST(Fitting, ProductsThatLeave64BitsAreNoCandidates) {
    Fitting fitting(3);
    fitting.add_variable(kN, {3'000'000, 3'000'017, 4'000'001});
    const auto size = fitting.anyhow({1'000'000, 1'000'006, 1'333'334}, {});
    EXPECT_EQ(size, (kN + 2) / 3);
    EXPECT_TRUE(fitting.values_of(kN * kN * kN * kN).empty());
}

}  // namespace
}  // namespace lazuli::ir
