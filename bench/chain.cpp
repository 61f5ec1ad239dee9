// Long chains: recorded, evaluated and dropped in linear time; and a loop that never evaluates,
// which stays small.

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;
using Clock = std::chrono::steady_clock;

double seconds_of(int nodes) {
    const auto start = Clock::now();
    {
        const Tensor y = Tensor{1.0, 2.0};
        Tensor x = y;
        for (int i = 0; i < nodes; ++i) x = std::move(x) + y;
        x.eval();
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The lengths take turns, so that a noisy moment meets all of them; short chains run as often as
/// it takes to record as many nodes as the longest.
void print_scaling(const char* name) {
    constexpr int kRounds = 7;
    constexpr int kLongest = 1'000'000;
    constexpr std::array kLengths{10'000, 100'000, kLongest};
    // The longest chain goes first to touch all memory that is needed: what is measured is our
    // work, not the system's clearing of fresh pages.
    (void)seconds_of(kLongest);
    std::array<std::vector<double>, kLengths.size()> all;
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < kLengths.size(); ++i) {
            const int times = kLongest / kLengths[i];
            for (int k = 0; k < times; ++k) all[i].push_back(seconds_of(kLengths[i]));
        }
    }
    fmt::print("chains recorded, evaluated and dropped, {}:\n", name);
    double before = 0;
    for (std::size_t i = 0; i < kLengths.size(); ++i) {
        const auto middle = all[i].begin() + static_cast<std::ptrdiff_t>(all[i].size() / 2);
        std::nth_element(all[i].begin(), middle, all[i].end());
        fmt::print("  {:>9} nodes: {:>9.2f} ms, {:>5.0f} ns a node", kLengths[i], 1e3 * *middle,
                   1e9 * *middle / kLengths[i]);
        if (before > 0) fmt::print(", {:.1f} x the row above", *middle / before);
        fmt::print("\n");
        before = *middle;
    }
    std::fflush(stdout);
}

/// In a process of its own, since the bound is read once.
void print_scaling_of_one_graph() {
    const pid_t child = fork();
    if (child == 0) {
        setenv("LAZULI_FLUSH_DEPTH", "0", 1);
        print_scaling("as one graph (never flushed)");
        std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) fmt::print("the measurement as one graph failed\n");
}

long peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

}  // namespace

int main() {
    // Memory that was used once is kept, and no plan is cached: only the shorter chains' would fit.
    setenv("LAZULI_PLAN_CACHE_BYTES", "0", 1);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    print_scaling_of_one_graph();
    print_scaling("as written (flushed by themselves at 65,536)");

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
