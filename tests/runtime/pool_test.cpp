#include "runtime/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lazuli::runtime {
namespace {

/// The sum of all steps, shared out.
std::int64_t summed(std::int64_t steps, std::int64_t grain) {
    std::atomic<std::int64_t> total{0};
    share_out(
        steps, grain,
        [](void* data, std::int64_t begin, std::int64_t end) {
            std::int64_t part = 0;
            for (std::int64_t i = begin; i < end; ++i) part += i;
            *static_cast<std::atomic<std::int64_t>*>(data) += part;
        },
        &total);
    return total;
}

TEST(Pool, EveryStepRunsOnce) {
    for (const std::int64_t steps : {0, 1, 2, 63, 64, 65, 1000, 100'000}) {
        for (const std::int64_t grain : {1, 3, 64, 1'000'000})
            EXPECT_EQ(summed(steps, grain), steps * (steps - 1) / 2) << steps << " by " << grain;
    }
}

TEST(Pool, PiecesDoNotDependOnThreads) {
    std::vector<std::int64_t> begins(10, -1);
    share_out(
        95, 10,
        [](void* data, std::int64_t begin, std::int64_t end) {
            EXPECT_EQ(begin % 10, 0);
            EXPECT_EQ(end, std::min<std::int64_t>(begin + 10, 95));
            (*static_cast<std::vector<std::int64_t>*>(data))[static_cast<std::size_t>(begin / 10)] =
                begin;
        },
        &begins);
    for (std::size_t i = 0; i < begins.size(); ++i)
        EXPECT_EQ(begins[i], static_cast<std::int64_t>(10 * i));
}

TEST(Pool, WorksFromWithinAPieceAndFromManyThreads) {
    std::atomic<int> wrong{0};
    share_out(
        8, 1,
        [](void* data, std::int64_t, std::int64_t) {
            if (summed(1000, 10) != 499'500) ++*static_cast<std::atomic<int>*>(data);
        },
        &wrong);
    EXPECT_EQ(wrong, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                if (summed(1000, 10) != 499'500) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Pool, WhatAPieceThrowsIsTheCallers) {
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> begun = 0;
        EXPECT_THROW(share_out(
                         1000, 1,
                         [](void* data, std::int64_t begin, std::int64_t) {
                             ++*static_cast<std::atomic<int>*>(data);
                             if (begin == 7) throw std::runtime_error("the seventh");
                         },
                         &begun),
                     std::runtime_error);
        EXPECT_LE(begun, 1000);
        EXPECT_EQ(summed(1000, 10), 499'500);
    }
}

#if !defined(__SANITIZE_THREAD__)
TEST(Pool, AForkedChildWorks) {
    EXPECT_EQ(summed(1000, 10), 499'500);
    const pid_t child = fork();
    if (child == 0) _exit(summed(1000, 10) == 499'500 ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace lazuli::runtime
