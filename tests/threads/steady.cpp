// Memory does not grow, however long the same work goes on.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

std::int64_t resident_bytes() {
    long pages = 0;
    long ignored = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
        std::fclose(file);
    }
    return pages * sysconf(_SC_PAGE_SIZE);
}

TEST(Steady, ResidentMemoryIsFlat) {
    if (tests::kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows";
    constexpr int kThreads = 4;
    const int evaluations = tests::count(40'000, 1'000'000);
    const Tensor w = full({16, 16}, 0.0625).eval();
    const auto work = [&](int count) {
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([&, t] {
                Tensor x = full({16, 16}, static_cast<double>(t)).eval();
                for (int i = 0; i < count / kThreads; ++i) {
                    // A product, and what follows it element by element: an arena, two results.
                    const Tensor y = x.matmul(w).matmul(w);
                    x = y + 0.0;
                    if (i % 3 == 0) {
                        async_eval(x);
                        ready(x).wait();
                    } else {
                        x.eval();
                    }
                    if (x.data<float>()[7] != static_cast<float>(t)) ADD_FAILURE() << i;
                }
            });
        for (std::thread& t : threads) t.join();
    };
    work(std::max(evaluations / 10, 4'000));
    finish_compiling();  // where there was no time for it yet
    malloc_trim(0);
    const std::int64_t before = resident_bytes();
    work(evaluations);
    malloc_trim(0);
    const std::int64_t growth = resident_bytes() - before;
    fmt::print("threads: {} evaluations on {} threads, resident memory grew by {} KB\n",
               evaluations, kThreads, growth / 1024);
    EXPECT_LE(growth, 1 << 20);
}

}  // namespace
}  // namespace lazuli
