#include "plan/cache.h"

#include <gtest/gtest.h>

namespace lazuli::plan {
namespace {

ir::Capture capture_of(std::uint64_t word, std::uint64_t hash) {
    ir::Capture c;
    *c.words.append(1) = word;
    c.hash = hash;
    return c;
}

TEST(Cache, ACollisionIsNotAHit) {
    Cache cache(1 << 20);
    const auto plan = std::make_shared<const Plan>();
    cache.insert(capture_of(1, 42), {}, plan);
    EXPECT_EQ(cache.find(capture_of(1, 42), {}), plan);
    EXPECT_EQ(cache.find(capture_of(2, 42), {}), nullptr);
    EXPECT_EQ(cache.find(capture_of(1, 42), {Device(1), 0}), nullptr);
    EXPECT_EQ(cache.find(capture_of(1, 42), {Device(), 7}), nullptr);
    const auto other = std::make_shared<const Plan>();
    cache.insert(capture_of(2, 42), {}, other);
    EXPECT_EQ(cache.find(capture_of(2, 42), {}), other);
    EXPECT_EQ(cache.find(capture_of(1, 42), {}), plan);
    EXPECT_EQ(cache.stats().hits, 3U);
    EXPECT_EQ(cache.stats().misses, 3U);
}

TEST(Cache, StaysBelowItsBoundAndDropsTheLeastRecentlyUsed) {
    Cache cache(4000);
    for (std::uint64_t i = 0; i < 1000; ++i) {
        cache.insert(capture_of(i, i), {}, std::make_shared<const Plan>());
        EXPECT_NE(cache.find(capture_of(0, 0), {}), nullptr) << "in use all the time";
        EXPECT_LE(cache.stats().bytes, 4000U);
    }
    EXPECT_EQ(cache.find(capture_of(1, 1), {}), nullptr);
    EXPECT_GT(cache.stats().evicted, 900U);
    cache.clear();
    EXPECT_EQ(cache.stats().plans, 0U);
    EXPECT_EQ(cache.find(capture_of(0, 0), {}), nullptr);
}

TEST(Cache, APlanLargerThanTheBoundIsNotKept) {
    Cache cache(10);
    cache.insert(capture_of(1, 1), {}, std::make_shared<const Plan>());
    EXPECT_EQ(cache.stats().plans, 0U);
}

}  // namespace
}  // namespace lazuli::plan
