// What plans need to compute in: the arena beside the least for the order of steps, beside the
// order of recording, and beside a buffer for every operation.

#include <fmt/format.h>

#include <chrono>

#include "graphs/graphs.h"
#include "plan/expand.h"
#include "plan/steps.h"

namespace {

using namespace lazuli;

/// A network of four layers, its squared error, and the gradients of all weights by hand.
std::vector<Tensor> mlp_and_gradients(std::int64_t batch, std::int64_t width) {
    tests::Weights make;
    const Tensor x = make({batch, width});
    const Tensor wanted = make({batch, width});
    std::vector<Tensor> weights, biases, inputs, sums;
    Tensor h = x;
    for (int i = 0; i < 4; ++i) {
        weights.push_back(make({width, width}));
        biases.push_back(make({width}));
        inputs.push_back(h);
        sums.push_back(h.matmul(weights.back()) + biases.back());
        h = sums.back().tanh();
    }
    const Tensor error = h - wanted;
    std::vector<Tensor> out{(error * error).mean()};
    Tensor grad = error * (2.0 / static_cast<double>(batch * width));
    for (std::size_t i = 4; i-- > 0;) {
        const Tensor t = sums[i].tanh();
        grad = grad * (1.0 - t * t);
        out.push_back(inputs[i].permute({1, 0}).matmul(grad));
        out.push_back(grad.sum(0));
        if (i > 0) grad = grad.matmul(weights[i].permute({1, 0}));
    }
    return out;
}

void show(const char* name, const std::vector<Tensor>& targets) {
    const Program program = plan::expand(capture(targets), {});
    const auto start = std::chrono::steady_clock::now();
    const plan::Steps steps = plan::make_steps(program);
    const double milliseconds =
        1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto mega = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
    std::int64_t results = 0;
    for (const std::int64_t bytes : steps.result_bytes) results += bytes;
    const plan::MemoryPlan& m = steps.memory;
    fmt::print(
        "{:<34} {:>6} {:>8} {:>8.2f} {:>8.2f} {:>7.3f} {:>9.2f} {:>9.2f} {:>9.2f} {:>7.1f} "
        "{:>9.1f}  {}\n",
        name, program.size(), steps.all.size(), mega(m.peak), mega(m.bound),
        static_cast<double>(m.peak) / static_cast<double>(m.bound), mega(m.recorded_peak),
        mega(results), mega(m.unplanned),
        100 * static_cast<double>(m.peak + results) / static_cast<double>(m.unplanned),
        milliseconds, m.method);
}

}  // namespace

int main() {
    fmt::print(
        "memory of plans, in MB: `alive` is the most alive at once in the order taken, `recorded` "
        "in "
        "the order of recording;\nshare: arena and results, of a buffer for every operation that "
        "is "
        "no movement\n");
    fmt::print("{:<34} {:>6} {:>8} {:>8} {:>8} {:>7} {:>9} {:>9} {:>9} {:>7} {:>9}\n", "graph",
               "ops", "kernels", "arena", "alive", "ratio", "recorded", "results", "unplanned",
               "share %", "plan ms");
    show("transformer, 12 layers, 64 x 768", {tests::transformer(12, 1, 64, 768, 12)});
    show("transformer, 12 layers, 8 x 32 x 256", {tests::transformer(12, 8, 32, 256, 8)});
    show("RWKV-7, 12 layers, width 768", {tests::rwkv7(12, 768, 64)});
    show("MLP and gradients, 256 x 512", mlp_and_gradients(256, 512));
}
