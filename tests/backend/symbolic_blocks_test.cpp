// Whole blocks of models, compiled once for all numbers of tokens.

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/compiler.h"
#include "blocks.h"
#include "lazuli/compile.h"

namespace lazuli {
namespace {

using Tensors = std::vector<Tensor>;

/// How many bits differ, and by how much at most, relative to what is computed with numbers.
void expect_near(const Tensor& given, const Tensor& wanted, double limit, std::size_t& differ) {
    ASSERT_EQ(given.shape(), wanted.shape());
    const auto x = given.to_vector<float>();
    const auto y = wanted.to_vector<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
        differ += x[i] != y[i] ? 1 : 0;
        ASSERT_LE(std::abs(x[i] - y[i]), limit * (1 + std::abs(y[i]))) << i;
    }
}

class Blocks : public testing::Test {
   protected:
    void SetUp() override { set_default_device(Device("cpu")); }
    void TearDown() override { set_default_device(before_); }

    /// Calls a function at many sizes; it must plan and compile for the first of them only.
    template <class Arguments, class Plain>
    void run(const Function& f, std::int64_t bindings, const Arguments& arguments,
             const Plain& plain) {
        const CacheStats before = cache_stats();
        std::size_t differ = 0;
        std::size_t compiled = 0;
        for (std::int64_t i = 0; i < bindings; ++i) {
            const Tensors given = arguments(i);
            finish_compiling();  // of what the numbers needed
            const std::size_t codes = cpu::codes_made();
            const Tensors made = f.call(given);
            finish_compiling();
            if (i > 0) compiled += cpu::codes_made() - codes;
            const Tensors wanted = plain(given);
            for (std::size_t k = 0; k < made.size(); ++k)
                expect_near(made[k], wanted[k], 1e-6, differ);
        }
        const CacheStats after = cache_stats();
        EXPECT_EQ(after.open_plans - before.open_plans, 1U) << f.explain().cache;
        EXPECT_EQ(after.own_plans - before.own_plans, 0U);
        EXPECT_EQ(compiled, 0U);
        EXPECT_EQ(differ, 0U);
        RecordProperty("bindings", static_cast<int>(bindings));
    }
    Device before_ = default_device();
};

TEST_F(Blocks, SoftmaxOfAProductAtAHundredSizes) {
    const Tensor w = blocks::Weights(3)({48, 33});
    const auto plain = [&](const Tensors& x) { return Tensors{softmax(matmul(x[0], w), -1)}; };
    const Function f = compile(plain, {{f32, {dim("bl_b", 1, 64), dim("bl_t", 1, 4096), 48}}});
    run(
        f, 100,
        [](std::int64_t i) {
            return Tensors{blocks::Weights(static_cast<std::uint32_t>(i))({1 + i % 7, 1 + i, 48})};
        },
        plain);
}

TEST_F(Blocks, ATransformerAtAHundredSizes) {
    const blocks::Transformer block(32, 4);
    const auto plain = [&](const Tensors& x) { return Tensors{block(x[0])}; };
    const Function f = compile(plain, {{f32, {dim("bl_b", 1, 64), dim("bl_t", 1, 4096), 32}}});
    run(
        f, 100,
        [](std::int64_t i) {
            return Tensors{
                blocks::Weights(static_cast<std::uint32_t>(i))({1 + i % 5, 1 + i / 2, 32}, 1)};
        },
        plain);
}

TEST_F(Blocks, Rwkv7AtAHundredSizes) {
    const blocks::Rwkv7 block(32, 4);
    const auto plain = [&](const Tensors& given) { return block(given); };
    const Function f = compile(plain, block.specs(dim("bl_t", 1, 4096)));
    run(
        f, 100,
        [&](std::int64_t i) { return block.arguments(1 + i, static_cast<std::uint32_t>(i)); },
        plain);
}

}  // namespace
}  // namespace lazuli
