// Memory: what is in use, bounds of it, and results in the place of operands.

#include "lazuli/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

constexpr std::int64_t kBlock = 1 << 18;  // so large a buffer has pages of its own

/// A limit for the time of a test.
class Limit {
   public:
    explicit Limit(std::uint64_t bytes) : before_(set_memory_limit(bytes)) {}
    ~Limit() { set_memory_limit(before_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

   private:
    std::uint64_t before_;
};

std::uint64_t in_use() { return memory_stats().bytes; }

Tensor blocks(std::int64_t count, double value) { return full({count * kBlock / 4}, value).eval(); }

class Memory : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        before_ = default_device();
        set_default_device(Device(GetParam()));
    }
    void TearDown() override { set_default_device(before_); }

   private:
    Device before_;
};

TEST_P(Memory, ALimitBelowTheNeedIsAnErrorThatCanBeMended) {
    const Tensor x = key(1).random_uniform({96, 96}).eval();
    const Tensor y = x.matmul(x).softmax().matmul(x).sum();
    {
        const Limit limit(in_use() + 96 * 96);
        try {
            y.eval();
            FAIL() << "it ran";
        } catch (const OutOfMemory& e) {
            EXPECT_GE(e.demand, 96U * 96 * 4);
            EXPECT_EQ(e.limit, memory_stats().limit);
            ASSERT_FALSE(e.largest.empty());
            EXPECT_EQ(e.largest[0], 96U * 96 * 4);
            EXPECT_THAT(e.what(), testing::HasSubstr("out of memory: "));
            EXPECT_THAT(e.what(), testing::HasSubstr("f32[96, 96]"));
        }
        // A smaller one runs.
        EXPECT_EQ((x(slice(0, 4)) * 0.0).sum().item<float>(), 0);
        EXPECT_THROW(y.eval(), OutOfMemory);
    }
    EXPECT_GT(y.item<float>(), 0);
}

TEST_P(Memory, FiguresSayWhatIsThere) {
    const std::uint64_t before = in_use();
    reset_peak_memory();
    EXPECT_EQ(memory_stats().peak, before);
    {
        const Tensor x = blocks(8, 1);
        EXPECT_EQ(in_use(), before + 8 * kBlock);
        const Tensor y = (x + 1.0).eval();
        EXPECT_EQ(in_use(), before + 16 * kBlock);
    }
    EXPECT_EQ(in_use(), before);
    EXPECT_GE(memory_stats().peak, before + 16 * kBlock);
    EXPECT_GE(memory_stats().spare, 16U * kBlock);
    clear_caches();
    EXPECT_EQ(memory_stats().spare, 0U);
}

TEST_P(Memory, WhatIsKeptIsBounded) {
    const std::uint64_t before = set_cache_limit(4 * kBlock);
    for (int i = 1; i < 8; ++i) (void)(blocks(i, 1) * 2.0).sum().item<float>();
    EXPECT_LE(memory_stats().spare, 4U * kBlock);
    set_cache_limit(0);
    EXPECT_EQ(memory_stats().spare, 0U);
    EXPECT_EQ(set_cache_limit(before), 0U);
}

TEST_P(Memory, AnOperandThatNobodyHoldsBecomesTheResult) {
    const std::uint64_t before = in_use();
    Tensor x = blocks(4, 1);
    const void* const place = x.data<float>();
    reset_peak_memory();
    x = x * 2.0 + 1.0;  // nobody else has the old one
    x.eval();
    EXPECT_EQ(x.data<float>(), place);
    EXPECT_EQ(memory_stats().peak, before + 4 * kBlock);
    EXPECT_EQ(x.data<float>()[kBlock - 1], 3);
    x = x.reshape({1024, 256});
    x = x.softmax();  // rows that were read are overwritten
    x.eval();
    EXPECT_EQ(x.data<float>(), place);
    EXPECT_EQ(x.data<float>()[kBlock - 1], 1.0F / 256);
}

TEST_P(Memory, ANumberThatAReductionAlsoNeedsIsNotOverwritten) {
    Tensor count = full({}, 3.0).eval();
    const Tensor x = full({1 << 17}, 1.0).eval();  // enough for a reduction in phases
    count = count + 1.0;
    const Tensor mean = x.sum() / count;
    eval(count, mean);
    EXPECT_EQ(count.item<float>(), 4);
    EXPECT_EQ(mean.item<float>(), (1 << 17) / 4);
}

TEST_P(Memory, AnOperandThatSomebodyHoldsStays) {
    const auto data = [](const Tensor& t) { return t.data<float>(); };
    {
        Tensor x = blocks(1, 1);
        const Tensor held = x;
        x = (x * 2.0).eval();
        EXPECT_NE(data(x), data(held));
        EXPECT_EQ(data(held)[5], 1);
    }
    {  // by a view
        Tensor x = blocks(1, 1);
        const Tensor row = x(slice(0, 8));
        x = (x * 2.0).eval();
        EXPECT_EQ(row.to_vector<float>()[5], 1);
    }
    {  // by an operation that is not computed yet
        Tensor x = blocks(1, 1);
        const Tensor later = x + 5.0;
        x = (x * 2.0).eval();
        EXPECT_EQ(later.to_vector<float>()[5], 6);
    }
    {  // by an operation within what is evaluated, which is computed again when it is asked for
        Tensor x = blocks(1, 1);
        const Tensor inner = x + 5.0;
        x = Tensor();
        const Tensor y = (inner * 2.0).eval();
        EXPECT_EQ(data(y)[5], 12);
        EXPECT_EQ(inner.to_vector<float>()[5], 6);
    }
    {  // by memory of the user's
        std::vector<float> own(64, 1);
        Tensor x = lift(own.data(), f32, {64});
        x = (x * 2.0).eval();
        EXPECT_EQ(data(x)[5], 2);
        EXPECT_EQ(own[5], 1);
    }
    {  // by being frozen
        Tensor x = blocks(1, 1);
        x.freeze();
        const void* const place = data(x);
        x = (x * 2.0).eval();
        EXPECT_NE(data(x), place);
    }
}

TEST_P(Memory, AFailureBehindAnOverwrittenOperandTakesOnlyWhatDependsOnIt) {
    // Few elements: a long sum needs memory of its own, before which nothing is overwritten.
    Tensor x = full({4096}, 1.0).eval();
    const void* const place = x.data<float>();
    const Tensor bad = full({4}, kBlock).cast(i64).eval();
    const Tensor doubled = x * 2.0;
    x = Tensor();
    const Tensor taken = gather(doubled, bad, 0);
    const Tensor summed = doubled.sum();
    EXPECT_THROW(eval(doubled, taken, summed), ExecutionError);
    EXPECT_EQ(doubled.data<float>(), place);
    EXPECT_EQ(doubled.data<float>()[7], 2);
    EXPECT_EQ(summed.item<float>(), 8192);
    EXPECT_THROW(taken.eval(), Error);
    EXPECT_THROW((taken + 1.0).eval(), Error);
}

TEST_P(Memory, NothingIsOverwrittenBeforeAStepThatNeedsMemory) {
    const Tensor w = key(3).random_uniform({64, 64}).eval();
    Tensor x = full({64, 64}, 1.0).eval();
    const Tensor doubled = x * 2.0;
    x = Tensor();
    const Tensor product = doubled.matmul(w);
    const std::vector<float> wanted = (full({64, 64}, 2.0).matmul(w)).to_vector<float>();
    {
        const Limit limit(in_use() + 64);
        EXPECT_THROW(eval(doubled, product), OutOfMemory);
    }
    eval(doubled, product);
    EXPECT_EQ(product.to_vector<float>(), wanted);
    EXPECT_EQ(doubled.data<float>()[9], 2);
}

TEST_P(Memory, ACacheIsUpdatedInItsPlace) {
    Tensor cache = zeros({4096, 256}).eval();
    const void* const place = cache.data<float>();
    const Tensor w = key(4).random_uniform({256, 256}).eval();
    reset_peak_memory();
    const std::uint64_t there = in_use();
    for (int t = 0; t < 3; ++t) {
        cache = cache.dynamic_update_slice(full({1, 256}, 1.0 + t), Tensor({t, 0}));
        // Steps behind it need memory of their own.
        const Tensor read = cache(slice(0, 3)).matmul(w).sum();
        eval(cache, read);
        EXPECT_EQ(cache.data<float>(), place);
        EXPECT_EQ(cache.data<float>()[t * 256 + 255], 1 + t);
        EXPECT_EQ(cache.data<float>()[(t + 1) * 256], 0);
    }
    EXPECT_LT(memory_stats().peak, there + (4096 * 256 * 4) / 2);
    const Tensor held = cache;
    cache = cache.dynamic_update_slice(full({1, 256}, 9.0), Tensor({0, 0})).eval();
    EXPECT_EQ(held.data<float>()[0], 1);
    EXPECT_EQ(cache.data<float>()[0], 9);
}

TEST_P(Memory, AWindowIsPutBackWhereALaterStepFails) {
    Tensor cache = full({64, 64}, 1.0).eval();
    const Tensor sum_before = cache.sum();
    const Tensor put = cache.dynamic_update_slice(full({2, 64}, 2.0), Tensor({-1, 0}));
    cache = Tensor();
    const Tensor bad = gather(put, Tensor({64}), 0);
    EXPECT_THROW(eval(put, bad, sum_before), ExecutionError);
    // Each was tried alone behind that, of what the cache was before.
    EXPECT_EQ(sum_before.item<float>(), 64 * 64);
    EXPECT_EQ(put.sum().item<float>(), 64 * 64 + 2 * 64);
    EXPECT_EQ(put.data<float>()[61 * 64], 1);
    EXPECT_EQ(put.data<float>()[62 * 64], 2);
    EXPECT_THROW(bad.eval(), Error);
}

TEST_P(Memory, ValuesOfAPlanShareMemory) {
    Tensor h = key(1).random_uniform({64, 64}).eval();
    const Tensor w = key(2).random_uniform({64, 64}).eval() * (1.0 / 64);
    w.eval();
    Tensor y = h;
    for (int i = 0; i < 16; ++i) y = y.matmul(w).tanh();
    const Explanation e = y.explanation();
    EXPECT_EQ(e.arena_bytes, e.alive_bytes);
    EXPECT_LE(e.arena_bytes, 2 * 64 * 64 * 4);
    EXPECT_GE(e.unplanned_bytes, 16 * 64 * 64 * 4);
    EXPECT_THAT(e.str(), testing::HasSubstr("memory to compute in: "));
    const std::vector<float> planned = y.to_vector<float>();
    for (int i = 0; i < 16; ++i) h = h.matmul(w).tanh().eval();
    EXPECT_EQ(planned, h.to_vector<float>());
}

TEST_P(Memory, ThreadsHaveArenasOfTheirOwn) {
    const Tensor w = (key(2).random_uniform({16, 16}) * (1.0 / 16)).eval();
    const auto work = [&](std::uint64_t seed) {
        Tensor y = key(seed).random_uniform({16, 16});
        for (int i = 0; i < 6; ++i) y = y.matmul(w).tanh();
        return y.to_vector<float>();
    };
    std::vector<std::vector<float>> wanted;
    for (std::uint64_t i = 0; i < 4; ++i) wanted.push_back(work(i));
    std::vector<std::vector<float>> got(4);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int k = 0; k < 20; ++k) got[i] = work(i);
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(got, wanted);
}

INSTANTIATE_TEST_SUITE_P(Devices, Memory, testing::Values("interpreter", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace lazuli
