// Steps of training, for bench/peers/training.py, whose first lines say how it is asked.
//
//     bench-training                  a table of all cases
//     bench-training --worker CASE    runs steps as it is told on standard input
//     bench-training --memory CASE    the most bytes that a step holds
//     bench-training --explain CASE   the kernels of a step

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "lazuli/lazuli.h"

namespace {

using namespace lazuli;

/// A model, its data and its optimiser.
struct Work {
    std::unique_ptr<nn::Module> model;
    std::unique_ptr<optim::Optimizer> optimizer;
    std::vector<Tensor> batch;
    std::unique_ptr<train::Step> step;
};

std::unique_ptr<optim::Optimizer> adamw() {
    return std::make_unique<optim::AdamW>(optim::AdamOptions{.lr = 1e-3, .weight_decay = 0.01});
}

template <class Model, class Loss>
Work made(std::unique_ptr<Model> model, std::vector<Tensor> batch, Loss loss) {
    Work out;
    for (Tensor& tensor : batch) tensor.eval();
    out.batch = std::move(batch);
    out.optimizer = adamw();
    Model& of = *model;
    out.step = std::make_unique<train::Step>(
        of, *out.optimizer,
        [&of, loss](const std::vector<Tensor>& columns) { return loss(of, columns); });
    out.model = std::move(model);
    return out;
}

Work mlp() {
    return made(
        std::make_unique<nn::Sequential>(
            nn::Linear(784, 512), [](const Tensor& x) { return relu(x); }, nn::Linear(512, 10)),
        {randn({256, 784}), randint(0, 10, {256})},
        [](const nn::Sequential& model, const std::vector<Tensor>& batch) {
            return cross_entropy(model(batch[0]), batch[1]);
        });
}

Work gpt(bool recompute = false, std::int64_t layers = 2) {
    auto model = std::make_unique<nn::Gpt>(nn::GptOptions{.vocabulary = 256,
                                                          .context = 128,
                                                          .width = 256,
                                                          .layers = layers,
                                                          .heads = 4,
                                                          .hidden = 1024});
    model->recompute = recompute;
    return made(std::move(model), {randint(0, 256, {8, 128}), randint(0, 256, {8, 128})},
                [](const nn::Gpt& m, const std::vector<Tensor>& batch) {
                    return m.loss(batch[0], batch[1]);
                });
}

Work rwkv() {
    auto model = std::make_unique<nn::Rwkv7>(
        nn::Rwkv7ModelOptions{.vocabulary = 256, .block = {.width = 256, .layers = 2}});
    return made(std::move(model), {randint(0, 256, {8, 128}), randint(0, 256, {8, 128})},
                [](const nn::Rwkv7& m, const std::vector<Tensor>& batch) {
                    return m.loss(batch[0], batch[1]);
                });
}

Work lora() {
    auto model = std::make_unique<nn::Linear>(512, 512, nn::LinearOptions{.bias = false});
    nn::add_lora(*model, {.layers = {"*"}, .rank = 8, .alpha = 4});
    return made(std::move(model), {randn({128, 512}), randn({128, 512})},
                [](const nn::Linear& m, const std::vector<Tensor>& batch) {
                    return nn::mse_loss(m(batch[0]), batch[1]);
                });
}

Work case_of(const std::string& name) {
    if (name == "mlp") return mlp();
    if (name == "gpt") return gpt();
    if (name == "gpt12") return gpt(false, 12);
    if (name == "gpt12-checkpoint") return gpt(true, 12);
    if (name == "rwkv") return rwkv();
    if (name == "lora") return lora();
    throw ArgumentError("there is no case " + name);
}

double seconds(Work& work, long steps) {
    const auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < steps; ++i) (*work.step)(work.batch);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void answer(const std::string& name) {
    Work work = case_of(name);
    seconds(work, 3);
    finish_compiling();
    std::cout << "ready" << std::endl;
    for (long steps = 0; std::cin >> steps;) std::cout << seconds(work, steps) << std::endl;
}

void show_memory(const std::string& name) {
    Work work = case_of(name);
    seconds(work, 3);
    reset_peak_memory();
    seconds(work, 1);
    std::cout << memory_stats().peak << std::endl;
}

void show_table() {
    std::printf("%-6s %12s\n", "case", "ms per step");
    for (const std::string name : {"mlp", "gpt", "lora", "rwkv"}) {
        Work work = case_of(name);
        seconds(work, 3);
        finish_compiling();
        std::vector<double> readings;
        for (int i = 0; i < 15; ++i) readings.push_back(seconds(work, 1));
        std::ranges::nth_element(readings, readings.begin() + 7);
        std::printf("%-6s %12.3f\n", name.c_str(), readings[7] * 1e3);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 2 && arguments[0] == "--worker") {
        answer(arguments[1]);
    } else if (arguments.size() == 2 && arguments[0] == "--memory") {
        show_memory(arguments[1]);
    } else if (arguments.size() == 2 && arguments[0] == "--explain") {
        Work work = case_of(arguments[1]);
        std::cout << work.step->explain(work.batch).str();
    } else {
        show_table();
    }
    return 0;
} catch (const std::exception& error) {
    std::cerr << "bench-training: " << error.what() << "\n";
    return 1;
}
