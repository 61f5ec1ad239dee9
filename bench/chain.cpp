// Long chains: recorded, evaluated and dropped in linear time; and a loop that never evaluates,
// which stays small.

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;
using Clock = std::chrono::steady_clock;

/// As a user writes it; or with flushing held back, so that all of it becomes one graph.
enum class Form { as_written, one_graph };

double seconds_of(int nodes, Form form) {
    const auto start = Clock::now();
    {
        std::optional<GraphScope> whole;
        if (form == Form::one_graph) whole.emplace();
        const Tensor y = Tensor{1.0, 2.0};
        Tensor x = y;
        for (int i = 0; i < nodes; ++i) x = std::move(x) + y;
        whole.reset();
        x.eval();
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double median_seconds(int nodes, Form form) {
    constexpr int kRepetitions = 9;
    std::vector<double> all;
    for (int i = 0; i < kRepetitions; ++i) all.push_back(seconds_of(nodes, form));
    std::sort(all.begin(), all.end());
    return all[kRepetitions / 2];
}

void print_scaling(const char* name, Form form) {
    fmt::print("chains recorded, evaluated and dropped, {}:\n", name);
    double before = 0;
    for (const int nodes : {10'000, 100'000, 1'000'000}) {
        const double seconds = median_seconds(nodes, form);
        fmt::print("  {:>9} nodes: {:>9.2f} ms, {:>5.0f} ns a node", nodes, 1e3 * seconds,
                   1e9 * seconds / nodes);
        if (before > 0) fmt::print(", {:.1f} x the row above", seconds / before);
        fmt::print("\n");
        before = seconds;
    }
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
    (void)seconds_of(1'000'000, Form::one_graph);
    print_scaling("as written (flushed by themselves at 65,536)", Form::as_written);
    print_scaling("as one graph", Form::one_graph);

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
