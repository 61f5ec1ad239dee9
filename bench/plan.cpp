// What planning costs: from a captured transformer to its kernels, cold and without machine code.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "codegen/lower.h"
#include "graphs/graphs.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "plan/group.h"
#include "plan/steps.h"

namespace {

using namespace lazuli;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

struct Times {
    double expand, optimize, group, lower;
    std::size_t operations, kernels;
    double total() const { return expand + optimize + group + lower; }
};

Times plan_once(const Program& program) {
    const auto t0 = Clock::now();
    const Program expanded = plan::expand(program, {});
    const auto t1 = Clock::now();
    const Program optimized = optimize::optimize(expanded);
    const auto t2 = Clock::now();
    const auto groups = plan::group(optimized);
    const auto t3 = Clock::now();
    // As steps are made: lowered, loops joined, functions spelled out, equal kernels found.
    std::set<std::string> kernels;
    for (const plan::Grouped& grouped : groups) {
        if (!grouped.opaque)
            kernels.insert(plan::make_kernel(optimized, grouped.group, "k").kernel.str());
    }
    const auto t4 = Clock::now();
    return {milliseconds(t0, t1), milliseconds(t1, t2), milliseconds(t2, t3),
            milliseconds(t3, t4), expanded.size(),      groups.size()};
}

}  // namespace

int main() {
    fmt::print("planning a transformer forward, cold (medians of 9)\n");
    fmt::print("{:>7} {:>7} {:>8} {:>10} {:>11} {:>9} {:>9} {:>9}\n", "layers", "ops", "kernels",
               "expand ms", "optimize ms", "group ms", "lower ms", "all ms");
    for (const int layers : {1, 2, 4, 8, 12}) {
        const Program program = capture(tests::transformer(layers, 1, 64, 64, 4));
        std::vector<Times> all;
        for (int i = 0; i < 9; ++i) all.push_back(plan_once(program));
        std::sort(all.begin(), all.end(),
                  [](const Times& a, const Times& b) { return a.total() < b.total(); });
        const Times& t = all[all.size() / 2];
        fmt::print("{:>7} {:>7} {:>8} {:>10.2f} {:>11.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n", layers,
                   t.operations, t.kernels, t.expand, t.optimize, t.group, t.lower, t.total());
    }
}
