#include "plan/cache.h"

#include <gtest/gtest.h>

namespace lazuli::plan {
namespace {

/// A program of one operation whose result has `number` elements.
std::vector<std::uint64_t> words_of(std::uint64_t number) {
    return {ir::header_word(0, DType::f32, 1, 0, 0), number};
}

ir::Capture capture_of(std::uint64_t number, std::uint64_t hash) {
    ir::Capture c;
    for (const std::uint64_t word : words_of(number)) *c.words.append(1) = word;
    c.hash = hash;
    return c;
}

std::shared_ptr<const Plan> plan_of(std::uint64_t number) {
    auto plan = std::make_shared<Plan>();
    plan->program = ProgramBuilder::from_words({}, words_of(number), {});
    return plan;
}

TEST(Cache, ACollisionIsNotAHit) {
    Cache cache(1 << 20);
    const auto plan = plan_of(1);
    cache.insert(capture_of(1, 42), {}, plan);
    EXPECT_EQ(cache.find(capture_of(1, 42), {}).plan, plan);
    EXPECT_EQ(cache.find(capture_of(2, 42), {}).plan, nullptr);
    EXPECT_EQ(cache.find(capture_of(1, 42), {Device(1), 0}).plan, nullptr);
    EXPECT_EQ(cache.find(capture_of(1, 42), {Device(), 7}).plan, nullptr);
    EXPECT_EQ(cache.find(capture_of(1, 42), {Device(), 0, 7}).plan, nullptr);
    const auto other = plan_of(2);
    cache.insert(capture_of(2, 42), {}, other);
    EXPECT_EQ(cache.find(capture_of(2, 42), {}).plan, other);
    EXPECT_EQ(cache.find(capture_of(1, 42), {}).plan, plan);
    EXPECT_EQ(cache.stats().hits, 3U);
    EXPECT_EQ(cache.stats().misses, 4U);
}

TEST(Cache, StaysBelowItsBoundAndDropsTheLeastRecentlyUsed) {
    Cache cache(4000);
    for (std::uint64_t i = 0; i < 1000; ++i) {
        cache.insert(capture_of(i, i), {}, plan_of(i));
        EXPECT_NE(cache.find(capture_of(0, 0), {}).plan, nullptr) << "in use all the time";
        EXPECT_LE(cache.stats().bytes, 4000U);
    }
    EXPECT_EQ(cache.find(capture_of(1, 1), {}).plan, nullptr);
    EXPECT_GT(cache.stats().evicted, 900U);
    cache.clear();
    EXPECT_EQ(cache.stats().plans, 0U);
    EXPECT_EQ(cache.find(capture_of(0, 0), {}).plan, nullptr);
}

TEST(Cache, APlanLargerThanTheBoundIsNotKept) {
    Cache cache(10);
    cache.insert(capture_of(1, 1), {}, plan_of(1));
    EXPECT_EQ(cache.stats().plans, 0U);
    EXPECT_EQ(cache.find(capture_of(1, 1), {}).why, Miss::new_op);
    EXPECT_EQ(cache.find(capture_of(1, 1), {}).why, Miss::evicted) << "planned, and not kept";
}

}  // namespace
}  // namespace lazuli::plan
