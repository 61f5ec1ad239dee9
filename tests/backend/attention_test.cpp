// Attention in blocks of queries, beside what the reference backend makes of its formula.

#include <gtest/gtest.h>

#include <cmath>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

struct Sizes {
    Shape q, k, v;
    Shape mask = {};
    bool has_mask = false;
    bool causal = false;
    double scale = 0;
};

void expect_same(const Sizes& sizes, DType dtype) {
    std::vector<Tensor> plain;
    for (const Shape* shape : {&sizes.q, &sizes.k, &sizes.v, &sizes.mask}) {
        const Tensor drawn = key(7 + plain.size()).random_uniform(*shape).to(Device());
        plain.push_back((drawn * 4.0 - 2.0).cast(dtype).eval());
    }
    const auto run = [&](Device device) {
        std::vector<Tensor> t;
        for (const Tensor& operand : plain) t.push_back(operand.to(device));
        return attention(t[0], t[1], t[2], sizes.has_mask ? t[3] : Tensor(), sizes.scale,
                         sizes.causal)
            .cast(f64)
            .to_vector<double>();
    };
    const std::vector<double> want = run(Device());
    const std::vector<double> got = run(Device("cpu"));
    ASSERT_EQ(got.size(), want.size());
    const double bound = dtype == f32 ? 4e-6 : dtype == f16 ? 0x1p-9 : 0x1p-6;
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i]) && std::isnan(got[i])) continue;
        ASSERT_NEAR(got[i], want[i], bound * (1 + std::fabs(want[i]))) << "element " << i;
    }
}

TEST(Attention, IsTakenWhole) {
    const Tensor x = ones({2, 40, 16}).to(Device("cpu"));
    const auto how = [&] {
        (void)attention(x, x, x).eval();
        return attention(x, x, x).explain();
    };
    EXPECT_NE(how().find("in blocks of queries"), std::string::npos) << how();
    // A policy that names the formula gets the formula.
    const functional::PolicyScope scope("attention", functional::Policy::force("unfused"));
    EXPECT_EQ(how().find("in blocks of queries"), std::string::npos) << how();
}

TEST(Attention, SizesAroundTheBlocks) {
    for (const std::int64_t queries : {1, 31, 33, 70}) {
        for (const std::int64_t keys : {1, 13, 15, 251, 253, 530}) {
            for (const auto& [length, width] : {std::pair{1, 1}, {16, 16}, {20, 29}}) {
                SCOPED_TRACE(testing::Message() << queries << " " << keys << " " << length);
                for (const bool causal : {false, true}) {
                    expect_same({.q = {2, queries, length},
                                 .k = {2, keys, length},
                                 .v = {2, keys, width},
                                 .causal = causal},
                                f32);
                }
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST(Attention, MasksBatchesAndTypes) {
    for (const DType dtype : {f32, f16, bf16}) {
        const bool yes = true;
        expect_same({.q = {2, 3, 40, 8}, .k = {3, 50, 8}, .v = {2, 1, 50, 12}}, dtype);
        expect_same({{2, 3, 40, 8}, {3, 50, 8}, {2, 1, 50, 12}, {40, 50}, yes}, dtype);
        expect_same({{2, 3, 40, 8}, {3, 50, 8}, {2, 1, 50, 12}, {3, 1, 50}, yes, true}, dtype);
        expect_same({{40, 8}, {300, 8}, {300, 12}, {40, 1}, yes, true, 0.125}, dtype);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Attention, AMaskOfTruthValuesHasNoSayInTypeAndPlace) {
    const Tensor q = ones({5, 4}).cast(f16).to(Device());
    const Tensor seen = (iota({5, 5}, 1) < 3).to(Device());
    const Tensor out = attention(q, q, q, seen);
    EXPECT_EQ(out.dtype(), f16);
    EXPECT_EQ(out.device(), Device());
    out.eval();
}

TEST(Attention, AMaskOfTruthValuesHides) {
    const Tensor q = key(1).random_uniform({5, 4});
    const Tensor k = key(2).random_uniform({7, 4});
    const Tensor v = key(3).random_uniform({7, 4});
    const Tensor seen = iota({5, 7}, 1) < 3;
    const auto got = attention(q, k, v, seen).to_vector<float>();
    const auto want = attention(q, k.slice({0, 0}, {3, 4}), v.slice({0, 0}, {3, 4}));
    const auto expected = want.to_vector<float>();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
    // A query that sees nothing has no answer, and others keep theirs.
    const Tensor none = iota({5, 7}, 0) < 4;
    const auto partly = attention(q, k, v, none).to_vector<float>();
    EXPECT_TRUE(std::isnan(partly[19]));
    EXPECT_FALSE(std::isnan(partly[15]));
}

}  // namespace
}  // namespace lazuli
