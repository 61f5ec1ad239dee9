// A small GPT learns one text, and then another with adapters of low rank beside its weights:
//
//     example-lora [TEXT] [OTHER TEXT] [--quick]
//
// The weights stay as they were. What was learnt is a small file, which is used, left, or merged.

#include <lazuli/lazuli.h>

#include <cmath>
#include <filesystem>

#include "lesson.h"

using namespace lazuli;

namespace {

constexpr std::int64_t kContext = 48;

/// The mean loss of some windows of a text.
double loss_of(const nn::Gpt& model, const Dataset& data) {
    const Batch some = data.batch(Batches(data.size(), {.size = 64, .key = key(9)}).at(0));
    return model.loss(some[0], some[1]).item<double>();
}

/// Trains what the model has to train; a line of the picture, from a step on.
train::Curve learn(nn::Gpt& model, const Dataset& data, double lr, int from, int steps,
                   const char* name) {
    optim::AdamW optimizer({.lr = lr, .schedule = optim::cosine(steps, 0.1)});
    train::Step step(model, optimizer,
                     [&](const Batch& batch) { return model.loss(batch[0], batch[1]); },
                     {.clip_norm = 1});
    Loader loader(data, Batches(data.size(), {.size = 16, .key = key(1)}));
    train::Curve out{.name = name, .points = {}};
    for (int i = 1; i <= steps; ++i)
        out.points.emplace_back(from + i, step(loader.next()).loss.item<double>());
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const lesson::Options options = lesson::options(argc, argv);
    const int steps = options.quick ? 20 : 250;
    const auto [first, first_rest] =
        Dataset::bytes(options.file(0, "docs/ops.md"), kContext).split(0.9);
    const auto [second, second_rest] =
        Dataset::bytes(options.file(1, "src/codegen/lower.cpp"), kContext).split(0.9);
    const lesson::Clock clock;
    const SeedScope seed(1);  // the first values
    nn::Gpt model({.context = kContext, .width = 96, .layers = 2, .heads = 4});
    const auto row = [&, &a = first_rest, &b = second_rest](const char* what) {
        const double other = loss_of(model, b);
        std::printf("%-24s %10lld  %10.3f  %10.3f  %7.1f\n", what,
                    static_cast<long long>(model.count(/*only_trainable=*/true)), loss_of(model, a),
                    other, clock.seconds());
        return other;
    };

    std::puts("                            trained  first text  other text  seconds");
    row("at first");
    const train::Curve before = learn(model, first, 3e-3, 0, steps, "first text, all weights");
    const double untuned = row("learnt the first text");

    nn::add_lora(model, {.layers = {"blocks.*"}, .rank = 8});
    const train::Curve after = learn(model, second, 1e-2, steps, steps, "other text, LoRA");
    const double tuned = row("adapters for the other");
    nn::merge_lora(model);
    const double merged = row("merged");
    nn::use_lora(model, "");
    const double left = row("without them again");

    const std::string adapters = lesson::place("lora.safetensors");
    nn::save_lora(model, adapters);
    std::printf("wrote %s, %lld bytes\n", adapters.c_str(),
                static_cast<long long>(std::filesystem::file_size(adapters)));
    nn::load_lora(model, adapters);  // into this model, or another with the same weights
    const double again = row("read from that file");
    lesson::write(lesson::place("lora.svg"),
                  train::curves_svg("One text, then another with LoRA", {before, after}));
    const bool exact = left == untuned && again == tuned;
    return exact && tuned < untuned && std::abs(merged - tuned) < 1e-3 ? 0 : 1;
}
