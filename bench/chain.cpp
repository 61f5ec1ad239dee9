// Long chains: recorded, evaluated and dropped in linear time; and a loop that never evaluates,
// which stays small.

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;
using Clock = std::chrono::steady_clock;

double seconds_of(int nodes) {
    const auto start = Clock::now();
    {
        Tensor x;
        {
            const GraphScope whole;  // one graph: nothing is evaluated before the end
            const Tensor y = Tensor{1.0, 2.0};
            x = y;
            for (int i = 0; i < nodes; ++i) x = std::move(x) + y;
        }
        x.eval();
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double median_seconds(int nodes, int repetitions) {
    std::vector<double> all;
    for (int i = 0; i < repetitions; ++i) all.push_back(seconds_of(nodes));
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

long peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

}  // namespace

int main() {
    // What is measured is our work, not the system's clearing of fresh pages: memory that was used
    // once is kept, the longest chain goes first to touch it all, and no plan is cached, since only
    // the shorter chains' plans would fit.
    setenv("LAZULI_PLAN_CACHE_BYTES", "0", 1);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)seconds_of(1'000'000);
    double before = 0;
    for (const int nodes : {10'000, 100'000, 1'000'000}) {
        const double seconds = median_seconds(nodes, 9);
        fmt::print("{:>9} nodes recorded, evaluated, dropped: {:>9.2f} ms, {:>5.0f} ns a node",
                   nodes, 1e3 * seconds, 1e9 * seconds / nodes);
        if (before > 0) fmt::print(", {:.1f} x the row above (limit 9 to 12)", seconds / before);
        fmt::print("\n");
        before = seconds;
    }

    const auto start = Clock::now();
    {
        const Tensor y = Tensor{1.0, 2.0};
        Tensor x = y;
        for (int i = 0; i < 10'000'000; ++i) x = std::move(x) + y;
    }
    fmt::print(
        "a loop of 10,000,000 ops that never evaluates: {:.2f} s, peak {} MB resident (limit 1,000 "
        "MB), {} flushes\n",
        std::chrono::duration<double>(Clock::now() - start).count(), peak_megabytes(),
        graph_stats().flushes);
    {
        std::vector<Tensor> chains(1000, Tensor{1.0, 2.0});
        const Tensor y = Tensor{1.0, 2.0};
        for (int i = 0; i < 10'000'000; ++i) {
            Tensor& x = chains[static_cast<std::size_t>(i % 1000)];
            x = std::move(x) + y;
        }
    }
    fmt::print("the same over 1,000 chains side by side: peak {} MB resident (limit 1,000 MB)\n",
               peak_megabytes());
}
