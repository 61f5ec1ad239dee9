// A network of two layers learns to read digits:
//
//     example-digits [FOLDER] [--quick]
//
// The folder holds what examples/digits/make_digits.py writes; where there is none, that is called.

#include <lazuli/lazuli.h>

#include <cstdlib>
#include <filesystem>

#include "lesson.h"

using namespace lazuli;

namespace {

/// A model is a value: its parts are members, and `parts` says their names.
struct Mlp : nn::Module {
    nn::Linear up{28 * 28, 128};
    nn::Linear down{128, 10};

    void parts(nn::Parts& parts) override { parts("up", up)("down", down); }
    /// Logits of images u8[batch, 28, 28].
    Tensor operator()(const Tensor& images) const {
        const Tensor x = images.cast(f32) / 255.0;
        return down(relu(up(x.reshape({-1, 28 * 28}))));
    }
};

bool make_digits(const std::string& folder, bool quick) {
    if (std::filesystem::exists(folder + "/test_labels.npy")) return true;
    const std::string command = "python3 " LAZULI_SOURCE_DIR "/examples/digits/make_digits.py" +
                                std::string(quick ? " --train 1000 --test 200" : "") + " --out '" +
                                folder + "'";
    std::printf("%s\n", command.c_str());
    std::fflush(stdout);  // before what the script prints
    return std::system(command.c_str()) == 0;
}

Dataset part(const std::string& folder, const std::string& name) {
    return Dataset::npy({folder + "/" + name + "_images.npy", folder + "/" + name + "_labels.npy"});
}

/// The share of a dataset's digits that the model reads right.
double accuracy(const Mlp& model, const Dataset& data) {
    const Batch all = data.batch(Batches(data.size(), {.size = data.size()}).at(0));
    return nn::accuracy(model(all[0]), all[1]).item<double>();
}

}  // namespace

int main(int argc, char** argv) {
    const lesson::Options options = lesson::options(argc, argv);
    const std::string folder = !options.files.empty()
                                   ? options.files[0]
                                   : lesson::place(options.quick ? "few_digits" : "digits");
    if (!make_digits(folder, options.quick)) {
        std::puts("the digits need Python with numpy");
        return 77;  // a test that is skipped
    }
    const Dataset training = part(folder, "train");
    const Dataset test = part(folder, "test");
    const Batches order(training.size(), {.size = 64, .key = key(1)});
    Loader loader(training, order);  // a thread has the next batches ready

    const int epochs = 10;
    const std::int64_t steps = epochs * order.per_epoch();
    const SeedScope seed(1);  // the first values
    Mlp model;
    std::printf("%s\n", model.summary().c_str());
    optim::AdamW optimizer({.lr = 2e-3, .schedule = optim::cosine(steps)});
    train::Step step(model, optimizer,
                     [&](const Batch& batch) { return cross_entropy(model(batch[0]), batch[1]); });

    train::Curve losses{.name = "training loss", .points = {}};
    train::Curve errors{.name = "test error", .points = {{0, 1 - accuracy(model, test)}}};
    const lesson::Clock clock;
    std::puts("epoch    loss  test accuracy  seconds");
    for (std::int64_t i = 1; i <= steps; ++i) {
        const double loss = step(loader.next()).loss.item<double>();
        losses.points.emplace_back(i, loss);
        if (i % order.per_epoch() != 0) continue;
        const double right = accuracy(model, test);
        errors.points.emplace_back(i, 1 - right);
        std::printf("%5d  %6.3f  %12.1f%%  %7.1f\n", static_cast<int>(i / order.per_epoch()), loss,
                    100 * right, clock.seconds());
    }
    lesson::write(lesson::place("digits.svg"),
                  train::curves_svg("An MLP reads digits", {losses, errors}));
    return accuracy(model, test) > (options.quick ? 0.7 : 0.95) ? 0 : 1;
}
