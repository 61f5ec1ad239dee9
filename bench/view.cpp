// What views cost: composing a chain of movements, and turning one into an index expression.

#include "lazuli/view.h"

#include <benchmark/benchmark.h>

namespace {

using namespace lazuli;

// One reshape joins dimensions that do not lie side by side: from there on it is two views.
ShapeTracker chain(const ShapeTracker& base) {
    static const std::vector<int> swap{0, 2, 1, 3};
    static const std::vector<int> back{2, 0, 1};
    static const std::vector<int> last{2};
    static const std::vector<Dim> split{8, 128, 12, 64};
    static const std::vector<Dim> joined{96, 128, 64};
    static const std::vector<DimRange> part{{0, 96}, {16, 112}, {0, 64}};
    static const std::vector<DimRange> around{{0, 0}, {2, 2}, {0, 0}};
    static const std::vector<std::int64_t> steps{1, 2, 1};
    return base.reshape(split)
        .permute(swap)
        .reshape(joined)
        .shrink(part)
        .pad(around)
        .stride(steps)
        .flip(last)
        .permute(back);
}

void compose_eight(benchmark::State& state) {
    const ShapeTracker base{8, 128, 768};
    for (auto _ : state) {
        ShapeTracker t = chain(base);
        benchmark::DoNotOptimize(t);
    }
}

void permute_one(benchmark::State& state) {
    const ShapeTracker base{8, 128, 768};
    static const std::vector<int> swap{1, 0, 2};
    for (auto _ : state) {
        ShapeTracker t = base.permute(swap);
        benchmark::DoNotOptimize(t);
    }
}

// A reshape of a transposed and padded matrix: div and mod of one counter.
void index_expression(benchmark::State& state) {
    const ShapeTracker t = ShapeTracker{128, 768}
                               .permute(std::vector<int>{1, 0})
                               .pad(std::vector<DimRange>{{0, 0}, {1, 1}})
                               .reshape(std::vector<Dim>{768 * 130})
                               .reshape(std::vector<Dim>{65, 1536});
    for (auto _ : state) {
        ExprContext context;
        const IndexExpr f = t.index_expr(context);
        benchmark::DoNotOptimize(f.index.node());
    }
    ExprContext context;
    const IndexExpr f = t.index_expr(context);
    state.SetLabel(f.index.str() + " where " + f.valid.str());
}

}  // namespace

BENCHMARK(permute_one);
BENCHMARK(compose_eight);
BENCHMARK(index_expression);
BENCHMARK_MAIN();
