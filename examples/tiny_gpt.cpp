// A small GPT learns a text byte by byte, and goes on writing it:
//
//     example-tiny_gpt [TEXT] [--quick]

#include <lazuli/lazuli.h>

#include "lesson.h"

using namespace lazuli;

namespace {

/// What the model writes behind a text. It always sees `context` bytes: one plan serves all steps.
std::string go_on(const nn::Gpt& model, std::vector<std::int32_t> bytes, int count) {
    const auto context = static_cast<std::int64_t>(bytes.size());
    std::string out;
    for (int i = 0; i < count; ++i) {
        const Tensor logits = model(Tensor::from<std::int32_t>(bytes, {1, context}))[0][-1];
        const Tensor next = random_categorical(key(i), logits / 0.5);  // below 1: likelier ones
        const auto byte = next.item<std::int32_t>();
        out += static_cast<char>(byte);
        bytes.erase(bytes.begin());
        bytes.push_back(byte);
    }
    return out;
}

/// The mean loss of some windows of a text.
double loss_of(const nn::Gpt& model, const Dataset& data) {
    const Batch some = data.batch(Batches(data.size(), {.size = 64, .key = key(9)}).at(0));
    return model.loss(some[0], some[1]).item<double>();
}

}  // namespace

int main(int argc, char** argv) {
    const lesson::Options options = lesson::options(argc, argv);
    const std::int64_t context = 64;
    const int steps = options.quick ? 30 : 320;
    const auto [training, rest] =
        Dataset::bytes(options.file(0, "docs/ops.md"), context).split(0.9);
    Loader loader(training, Batches(training.size(), {.size = 12, .key = key(1)}));

    const SeedScope seed(1);  // the first values
    nn::Gpt model({.context = context, .width = 128, .layers = 2, .heads = 4});
    std::printf("%lld parameters, %lld windows of %lld bytes\n",
                static_cast<long long>(model.count()), static_cast<long long>(training.size()),
                static_cast<long long>(context));
    optim::AdamW optimizer({.lr = 3e-3, .schedule = optim::warm_up(10, optim::cosine(steps))});
    train::Step step(model, optimizer,
                     [&](const Batch& batch) { return model.loss(batch[0], batch[1]); },
                     {.clip_norm = 1});

    train::Curve losses{.name = "training", .points = {}};
    train::Curve unseen{.name = "unseen text", .points = {{0, loss_of(model, rest)}}};
    const lesson::Clock clock;
    std::puts(" step    loss  unseen text  seconds");
    for (int i = 1; i <= steps; ++i) {
        const double loss = step(loader.next()).loss.item<double>();
        losses.points.emplace_back(i, loss);
        if (i % (steps / 10) != 0) continue;
        unseen.points.emplace_back(i, loss_of(model, rest));
        std::printf("%5d  %6.3f  %11.3f  %7.1f\n", i, loss, unseen.points.back().second,
                    clock.seconds());
    }
    lesson::write(lesson::place("tiny_gpt.svg"),
                  train::curves_svg("A small GPT learns a text: loss a byte", {losses, unseen}));

    const std::vector<std::int32_t> begin = rest.batch({0})[0].to_vector<std::int32_t>();
    std::printf("%s|%s\n", std::string(begin.begin(), begin.end()).c_str(),
                go_on(model, begin, options.quick ? 20 : 300).c_str());
    return unseen.points.back().second < unseen.points.front().second - 1 ? 0 : 1;
}
