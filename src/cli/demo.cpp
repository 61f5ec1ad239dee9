// The demo: one expression on its way from recording to values, lazily and eagerly.

#include <fmt/format.h>

#include <chrono>

#include "cli/commands.h"
#include "lazuli/lazuli.h"

namespace lazuli::cli {

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

Tensor classify(const Tensor& x, const Tensor& w, const Tensor& b) {
    return softmax(matmul(x, w) + b);
}

}  // namespace

void demo() {
    manual_seed(7);
    Tensor x = randn({4, 8});
    Tensor w = randn({8, 3});
    Tensor b = Tensor{0.1, 0.0, -0.1};
    eval(x, w, b);
    x.name("x");
    w.name("w");
    b.name("b");

    fmt::print("y = softmax(x @ w + b), recorded:\n\n");
    const auto recorded_from = Clock::now();
    Tensor lazy = classify(x, w, b);
    const auto recorded_to = Clock::now();
    lazy.name("y");
    const std::size_t nodes = lazy.graph_size();
    fmt::print("  {}\n\n{}\n", lazy.str(), capture(lazy).str());

    const auto lazy_from = Clock::now();
    lazy.eval();
    const auto lazy_to = Clock::now();
    const Tensor again = classify(x, w, b);
    const auto again_from = Clock::now();
    again.eval();
    const auto again_to = Clock::now();

    Tensor eager;
    const auto eager_from = Clock::now();
    {
        const eager::Scope scope;
        eager = classify(x, w, b);
    }
    const auto eager_to = Clock::now();

    fmt::print("lazily:\n{}\n\neagerly:\n{}\n\n", lazy.str({.eval = true}),
               eager.str({.eval = true}));
    const bool same = lazy.to_vector<float>() == eager.to_vector<float>();
    const GraphStats graph = graph_stats();
    const CacheStats cache = cache_stats();
    fmt::print("{:<34}{:>12}\n", "same bits", same ? "yes" : "NO");
    fmt::print("{:<34}{:>12}\n", "nodes recorded for y", nodes);
    fmt::print("{:<34}{:>9.1f} us\n", "recording y", microseconds(recorded_from, recorded_to));
    fmt::print("{:<34}{:>9.1f} us\n", "first evaluation (plans)", microseconds(lazy_from, lazy_to));
    fmt::print("{:<34}{:>9.1f} us\n", "same graph again (plan found)",
               microseconds(again_from, again_to));
    fmt::print("{:<34}{:>9.1f} us\n", "eagerly, op by op", microseconds(eager_from, eager_to));
    fmt::print("{:<34}{:>12}\n", "plans made / found",
               fmt::format("{} / {}", cache.misses, cache.hits));
    fmt::print("{:<34}{:>12}\n", "nodes alive / bytes a node",
               fmt::format("{} / {}", graph.live_nodes, graph.bytes_per_node));
    if (!same) throw InternalError("lazy and eager results differ");
}

}  // namespace lazuli::cli
