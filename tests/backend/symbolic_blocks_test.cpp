// Whole blocks of models, compiled once for all numbers of tokens.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backend/cpu/compiler.h"
#include "blocks.h"
#include "lazuli/compile.h"
#include "runtime/planning.h"

namespace lazuli {
namespace {

using Tensors = std::vector<Tensor>;

bool is_long() { return std::getenv("LAZULI_LONG") != nullptr; }
std::int64_t sizes() { return is_long() ? 100 : 25; }

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
    void SetUp() override {
        set_default_device(Device("cpu"));
        set_generalising(false);  // plans of the numbers are what is compared with
    }
    void TearDown() override {
        set_default_device(before_);
        set_generalising(true);
    }

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
            if (i % 10 == 7) expect_memory(f, given);
            for (std::size_t k = 0; k < made.size(); ++k)
                expect_near(made[k], wanted[k], 1e-6, differ);
        }
        const CacheStats after = cache_stats();
        EXPECT_EQ(after.open_plans - before.open_plans, 1U) << f.explain().cache;
        EXPECT_EQ(after.own_plans - before.own_plans, 0U);
        EXPECT_EQ(compiled, 0U);
        EXPECT_EQ(differ, 0U);
        fmt::print(
            "{} bindings, {} plan, {} kernels compiled behind the first, {} elements differ; "
            "memory at most {:.3f} of what plans of the numbers take\n",
            bindings, after.open_plans - before.open_plans, compiled, differ, worst_);
    }
    /// Hardly more memory than a plan for these sizes alone takes.
    void expect_memory(const Function& f, const Tensors& given) {
        const Program instance = f.program().instantiate(f.bindings_seen().front());
        const auto own = runtime::make_plan(instance, Device("cpu"));
        const auto figures = backend_of(own->device).info(own->prepared.get(), false);
        const auto bound = static_cast<double>(f.explain(given).arena_bytes);
        const double share = bound / std::max(1.0, static_cast<double>(figures.arena_bytes));
        worst_ = std::max(worst_, share);
        EXPECT_LE(share, 1.05) << f.explain(given).cache;
    }
    double worst_ = 0;
    Device before_ = default_device();
};

TEST_F(Blocks, SoftmaxOfAProductAtManySizes) {
    const Tensor w = blocks::Weights(3)({48, 33});
    const auto plain = [&](const Tensors& x) { return Tensors{softmax(matmul(x[0], w), -1)}; };
    const Function f = compile(plain, {{f32, {dim("bl_b", 1, 64), dim("bl_t", 1, 4096), 48}}});
    run(
        f, sizes(),
        [](std::int64_t i) {
            return Tensors{blocks::Weights(static_cast<std::uint32_t>(i))({1 + i % 7, 1 + i, 48})};
        },
        plain);
}

TEST_F(Blocks, ATransformerAtManySizes) {
    const blocks::Transformer block(32, 4);
    const auto plain = [&](const Tensors& x) { return Tensors{block(x[0])}; };
    const Function f = compile(plain, {{f32, {dim("bl_b", 1, 64), dim("bl_t", 1, 4096), 32}}});
    run(
        f, sizes(),
        [](std::int64_t i) {
            return Tensors{
                blocks::Weights(static_cast<std::uint32_t>(i))({1 + i % 5, 1 + i / 2, 32}, 1)};
        },
        plain);
}

TEST_F(Blocks, Rwkv7AtManySizes) {
    const blocks::Rwkv7 block(32, 4);
    const auto plain = [&](const Tensors& given) { return block(given); };
    const Function f = compile(plain, block.specs(dim("bl_t", 1, 4096)));
    run(
        f, sizes(),
        [&](std::int64_t i) { return block.arguments(1 + i, static_cast<std::uint32_t>(i)); },
        plain);
}

/// A recurrence over tokens as a loop: a state, and what is read of it at every token.
Tensors prefilled(const Tensors& given, const Tensor& w) {
    Looped made = scan_loop({given[1]}, {given[0]}, [&](const Tensors& state, const Tensors& x) {
        const Tensor next = tanh(matmul(state[0], w) * 0.5F + x[0]);
        return Looped{{next}, {next.sum({0})}};
    });
    return {made.stacked[0], made.carried[0]};
}

TEST_F(Blocks, APrefillOverTokensIsOnePlan) {
    const Tensor w = blocks::Weights(8)({16, 16});
    const auto plain = [&](const Tensors& given) { return prefilled(given, w); };
    const Function f = compile(plain, {{f32, {dim("bl_t", 1, 4096), 4, 16}}, {f32, {4, 16}}});
    run(
        f, sizes(),
        [](std::int64_t i) {
            blocks::Weights weights(static_cast<std::uint32_t>(i));
            return Tensors{weights({1 + 3 * i, 4, 16}, 1), weights({4, 16})};
        },
        plain);
}

/// One step of decoding: a token's query sees the keys of all before it, and its own.
Tensors decoded(const Tensors& given, const Tensor& w) {
    const Tensor& x = given[0];
    const Tensor keys = concat({given[1], matmul(x, w)}, 0);
    const Tensor values = concat({given[2], x * 0.5F}, 0);
    return {attention(x, keys, values), keys, values};
}

TEST_F(Blocks, ACacheThatGrowsIsOnePlan) {
    const Tensor w = blocks::Weights(5)({8, 8});
    const Dim t = dim("bl_past", 1, 4096);
    const Function f = compile([&](const Tensors& given) { return decoded(given, w); },
                               {{f32, {1, 8}}, {f32, {t, 8}}, {f32, {t, 8}}});
    const std::int64_t positions = is_long() ? 2000 : 300;
    const CacheStats before = cache_stats();
    Tensor keys = blocks::Weights(6)({1, 8});
    Tensor values = blocks::Weights(7)({1, 8});
    for (std::int64_t i = 1; i <= positions; ++i) {
        const Tensor x = blocks::Weights(static_cast<std::uint32_t>(i))({1, 8});
        const Tensors made = f.call({x, keys, values});
        if (i % 100 == 1) {
            const Tensors wanted = decoded({x, keys, values}, w);
            std::size_t differ = 0;
            for (std::size_t k = 0; k < made.size(); ++k)
                expect_near(made[k], wanted[k], 1e-6, differ);
            EXPECT_EQ(differ, 0U) << i;
        }
        keys = made[1];
        values = made[2];
    }
    const CacheStats after = cache_stats();
    EXPECT_EQ(keys.shape(), (Shape{positions + 1, 8}));
    EXPECT_EQ(after.open_plans - before.open_plans, 1U) << f.explain().cache;
    EXPECT_EQ(after.own_plans - before.own_plans, 0U);
    fmt::print("{} positions, {} plan\n", positions, after.open_plans - before.open_plans);
}

}  // namespace
}  // namespace lazuli
