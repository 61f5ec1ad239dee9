// What finding a plan costs: capturing a graph, hashing it, and verifying it word by word against
// the cached one.

#include <benchmark/benchmark.h>

#include "ir/graph.h"
#include "lazuli/lazuli.h"
#include "plan/cache.h"

namespace {

using namespace lazuli;

/// Elementwise ops and matmuls, as a model's layer has them: every fourth op is a product.
Tensor graph_of(int ops, const Tensor& x, const Tensor& w) {
    Tensor y = x;
    for (int i = 0; i < ops; ++i) {
        switch (i % 4) {
            case 0: y = y.matmul(w); break;
            case 1: y = y + x; break;
            case 2: y = y.tanh(); break;
            default: y = y * x; break;
        }
    }
    return y;
}

void capture_hash_verify(benchmark::State& state) {
    const auto ops = static_cast<int>(state.range(0));
    const Tensor x = Tensor::from(std::vector<float>(64 * 64, 1.0F), {64, 64});
    const Tensor w = Tensor::from(std::vector<float>(64 * 64, 1.0F), {64, 64});
    const GraphScope no_flush;
    const Tensor y = graph_of(ops, x, w);
    auto* target = static_cast<ir::Node*>(y.node());
    plan::Cache cache(std::size_t{1} << 30);
    ir::Capture captured;
    {
        const std::scoped_lock lock(ir::graph_lock());
        ir::capture({&target, 1}, {}, true, captured);
    }
    cache.insert(captured, {},
                 std::make_shared<plan::Plan>(
                     plan::Plan{.program = captured.program(), .expanded = captured.program()}));
    for (auto _ : state) {
        {
            const std::scoped_lock lock(ir::graph_lock());
            ir::capture({&target, 1}, {}, true, captured);
        }
        auto plan = cache.find(captured, {});
        if (plan.plan == nullptr) state.SkipWithError("the plan was not found");
        benchmark::DoNotOptimize(plan);
    }
    state.SetItemsProcessed(state.iterations() * ops);
}

}  // namespace

BENCHMARK(capture_hash_verify)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
