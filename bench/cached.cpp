// What a found plan costs: 1,000 operations recorded, captured, looked up and bound. The backend
// does nothing, so that nothing else is measured.

#include <benchmark/benchmark.h>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;

/// Hands out the same buffers each time.
class Idle final : public Backend {
   public:
    std::string name() const override { return "idle"; }
    DeviceInfo describe() const override { return {"computes nothing", 0}; }
    bool supports(const OpDef&, std::span<const TensorSpec>, const TensorSpec&) const override {
        return true;
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        auto results = std::make_shared<std::vector<BufferPtr>>();
        for (const ProgramResult& result : program.results())
            results->push_back(
                allocate(static_cast<std::size_t>(program.spec(result.value).nbytes())));
        return results;
    }
    std::vector<BufferPtr> run(const void* prepared, std::span<const Binding>) override {
        return *static_cast<const std::vector<BufferPtr>*>(prepared);
    }
    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer&, const void*, std::size_t) override {}
    void copy_out(void*, const Buffer&, std::size_t) override {}
};

// Nine functions of elements and a product, over and over, as a network has them.
void found_plan(benchmark::State& state) {
    static const Device idle = register_backend(std::make_unique<Idle>());
    const Tensor w = zeros({16, 16}).eval().to(idle);
    const Tensor b = zeros({16, 16}).eval().to(idle);
    const auto operations = static_cast<int>(state.range(0));
    for (auto _ : state) {
        Tensor x = b;
        for (int i = 0; i < operations; ++i) {
            x = i % 10 == 9  ? std::move(x).matmul(w)
                : i % 2 == 0 ? std::move(x) + b
                             : std::move(x).tanh();
        }
        x.eval();
    }
    state.counters["ns/op"] =
        benchmark::Counter(static_cast<double>(state.iterations()) * operations,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK(found_plan)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
