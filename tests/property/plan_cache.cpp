// The plan cache under many programs: it stays below its bound, and the engine as fast as it was.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli::tests {
namespace {

TEST(PlanCache, ChangingANumberOrABufferPlansNothing) {
    for (const char* device : {"reference", "interpreter"}) {
        const Device before = default_device();
        set_default_device(Device(device));
        const auto evaluate = [](double number, double element) {
            return (full({4, 3}, element).eval() * number + 1).softmax().sum().item<float>();
        };
        (void)evaluate(3.25, 1.25);
        const CacheStats first = cache_stats();
        for (int i = 0; i < 50; ++i) (void)evaluate(3.5 + i, 2.5 + i);
        const CacheStats last = cache_stats();
        EXPECT_EQ(last.misses, first.misses) << device;
        EXPECT_GE(last.hits, first.hits + 50) << device;
        set_default_device(before);
    }
}

TEST(PlanCache, ManyProgramsStayBelowTheBound) {
    const int programs = tests::count(5'000, 100'000);
    // Shapes, and which of two ops stands at each of 17 places, make every program another.
    const auto run = [](int number) {
        const auto rows = static_cast<std::int64_t>(1 + number % 4);
        Tensor x = full({rows, 2}, 1.5);
        for (int bit = 0; bit < 17; ++bit) x = (number / 4 >> bit & 1) != 0 ? x + 1 : x.tanh();
        x.eval();
    };
    std::vector<double> seconds;
    const auto run_all = [&](int count) {
        for (int i = 0; i < count; ++i) {
            const auto start = std::chrono::steady_clock::now();
            run(i);
            seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            ASSERT_LE(cache_stats().bytes, cache_stats().limit);
        }
    };
    // A program whose plan is there, many times.
    const auto found_again = [&] {
        run(0);
        const auto start = std::chrono::steady_clock::now();
        constexpr int kTimes = 2'000;
        for (int i = 0; i < kTimes; ++i) run(0);
        return 1e6 / kTimes *
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const double found_at_first = found_again();
    const std::uint64_t misses = cache_stats().misses;
    run_all(programs);
    const double found_at_last = found_again();
    EXPECT_GE(cache_stats().misses - misses, static_cast<std::uint64_t>(programs - 1));
    const CacheStats stats = cache_stats();
    // What "at the start" is on a machine whose speed changes by the minute: the first programs
    // once more, with an empty cache.
    const int tenth = programs / 10;
    clear_caches();
    run_all(tenth);
    const auto median = [&](int first) {
        std::vector<double> part(seconds.begin() + first, seconds.begin() + first + tenth);
        std::nth_element(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2),
                         part.end());
        return 1e6 * part[part.size() / 2];
    };
    fmt::print(
        "plan cache: {} programs, {} plans of {} bytes kept (bound {}), {} dropped; {:.1f} us a "
        "program at first, {:.1f} us at last, {:.1f} us with an emptied cache; where the plan is "
        "found {:.1f} us at first, {:.1f} us at last\n",
        programs, stats.plans, stats.bytes, stats.limit, stats.evicted, median(0),
        median(programs - tenth), median(programs), found_at_first, found_at_last);
}

}  // namespace
}  // namespace lazuli::tests
