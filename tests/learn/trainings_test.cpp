// Trainings of PyTorch, made again from the same weights.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fixture.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using tests::apart;
using tests::Fixture;
using tests::gradients_of;
using tests::largest;

/// A model, and how its parameters are called in the fixture.
struct Trained {
    Fixture fixture;
    nn::Module& model;
    train::LossFunction loss;
    std::string prefix = {};
    std::vector<std::vector<Tensor>> batches = {};

    void begin() {
        NamedTensors weights;
        for (const auto& [name, parameter] : model.parameters())
            weights.emplace_back(name, fixture[prefix + name]);
        model.load(weights);
        const std::vector<Tensor> inputs = fixture.entries("data.inputs");
        const std::vector<Tensor> targets = fixture.entries("data.targets");
        for (std::size_t i = 0; i < inputs.size(); ++i) batches.push_back({inputs[i], targets[i]});
    }

    /// How far gradients are from PyTorch's, as a share of the largest of their tensor.
    double gradients_apart() {
        double most = 0;
        double worst = 0;
        const auto gradients = gradients_of(model, [&] { return loss(batches[0]); });
        for (const auto& [name, gradient] : gradients)
            most = std::max(most, largest(fixture["gradients." + prefix + name]));
        for (const auto& [name, gradient] : gradients) {
            if (name.ends_with("key.bias")) {  // nothing but rounding errors
                EXPECT_LE(largest(gradient), 1e-6 * most) << name;
                continue;
            }
            const Tensor want = fixture["gradients." + prefix + name];
            const double share = apart(gradient, want) / largest(want);
            EXPECT_LE(share, 1e-5) << name;
            worst = std::max(worst, share);
        }
        return worst;
    }

    /// How far the losses of all steps are from PyTorch's. No step but the first is planned.
    double losses_apart(train::Step& step) {
        const std::vector<float> want = fixture["losses"].to_vector<float>();
        double worst = 0;
        std::uint64_t planned = 0;
        for (std::size_t k = 0; k < want.size(); ++k) {
            const double got = step(batches[k % batches.size()]).loss.item<double>();
            const double difference = std::abs(got - static_cast<double>(want[k]));
            EXPECT_LE(difference, 1e-4) << "step " << k;
            worst = std::max(worst, difference);
            if (k == 0) planned = cache_stats().misses;
        }
        EXPECT_EQ(cache_stats().misses, planned) << "the step was planned more than once";
        return worst;
    }

    double weights_apart() {
        double worst = 0;
        for (const auto& [name, parameter] : model.parameters()) {
            if (name.ends_with("key.bias")) continue;  // rounding errors that AdamW scales up
            worst = std::max(worst, apart(*parameter, fixture["trained." + prefix + name]));
        }
        return worst;
    }
};

TEST(Trainings, AnMlpLearnsAsInPyTorch) {
    nn::Sequential model(nn::Linear(20, 32), &relu, nn::Linear(32, 10));
    const auto loss = [&](const std::vector<Tensor>& batch) {
        return cross_entropy(model(batch[0]), batch[1]);
    };
    Trained training{Fixture("mlp"), model, loss, "layers."};
    training.begin();
    const double slopes = training.gradients_apart();
    optim::Sgd optimizer({.lr = 0.05, .momentum = 0.9});
    train::Step step(model, optimizer, loss);
    const double losses = training.losses_apart(step);
    const double weights = training.weights_apart();
    EXPECT_LE(weights, 1e-4);
    fmt::print("trainings: mlp: losses apart by {:.2g}, gradients by {:.2g}, weights by {:.2g}\n",
               losses, slopes, weights);
}

TEST(Trainings, AGptLearnsAsInPyTorch) {
    nn::Gpt model({.vocabulary = 32, .context = 16, .width = 32, .layers = 2, .heads = 4});
    const auto loss = [&](const std::vector<Tensor>& batch) {
        return model.loss(batch[0], batch[1]);
    };
    Trained training{Fixture("gpt"), model, loss};
    training.begin();
    const double slopes = training.gradients_apart();
    optim::AdamW optimizer({.lr = 3e-3, .beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1});
    train::Step step(model, optimizer, loss, {.clip_norm = 1});
    const double losses = training.losses_apart(step);
    const double weights = training.weights_apart();
    EXPECT_LE(weights, 2e-3);
    fmt::print("trainings: gpt: losses apart by {:.2g}, gradients by {:.2g}, weights by {:.2g}\n",
               losses, slopes, weights);
}

}  // namespace
}  // namespace lazuli
