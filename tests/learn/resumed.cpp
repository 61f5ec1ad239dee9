#include "resumed.h"

#include <cstdio>
#include <filesystem>

#include "fixture.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"

namespace lazuli::tests {

namespace {

constexpr std::int64_t kWidth = 24;
constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kBatch = 64;

nn::Sequential drawn_model(std::uint64_t seed) {
    const SeedScope scope(seed);
    nn::Sequential model(nn::Linear(kWidth, kHidden), nn::BatchNorm(kHidden), &relu,
                         nn::Dropout(0.3), nn::Linear(kHidden, kClasses));
    for (const auto& [name, tensor] : model.state()) tensor.eval();  // from this seed
    return model;
}

std::unique_ptr<optim::Optimizer> optimizer_of(const std::string& kind) {
    const optim::Schedule schedule = optim::warm_up(3, optim::cosine(50));
    if (kind == "sgd")
        return std::make_unique<optim::Sgd>(
            optim::SgdOptions{.lr = 0.05, .momentum = 0.9, .schedule = schedule});
    if (kind == "adafactor")
        return std::make_unique<optim::Adafactor>(optim::AdafactorOptions{.schedule = schedule});
    if (kind == "muon")
        return std::make_unique<optim::Muon>(optim::MuonOptions{.lr = 0.01, .schedule = schedule});
    return std::make_unique<optim::AdamW>(
        optim::AdamOptions{.lr = 3e-3, .weight_decay = 0.01, .schedule = schedule});
}

}  // namespace

Training::Training(const std::string& kind, std::uint64_t seed, const train::StepOptions& options)
    : model(drawn_model(seed)),
      optimizer(optimizer_of(kind)),
      step(
          model, *optimizer,
          [this](const std::vector<Tensor>& batch) {
              return cross_entropy(model(batch[0]), batch[1]);
          },
          options) {
    for (std::uint64_t i = 0; i < 5; ++i) {
        batches_.push_back(
            {randn(key(100 + i), {kBatch, kWidth}), randint(key(200 + i), 0, kClasses, {kBatch})});
        eval(batches_.back());
    }
}

std::vector<float> Training::run(int steps) {
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) {
        const auto at = static_cast<std::size_t>(step.calls()) % batches_.size();
        losses.push_back(step(batches_[at]).loss.item<float>());
    }
    return losses;
}

void Training::save(const std::string& path) {
    train::save_checkpoint(path, model, *optimizer, step,
                           {{"calls", std::to_string(step.calls())}});
}

void Training::load(const std::string& path) {
    train::load_checkpoint(path, model, *optimizer, step);
}

std::map<std::string, std::string> Training::all() {
    NamedTensors out;
    const auto put = [&](const std::string& owner, const NamedTensors& tensors) {
        for (const auto& [name, tensor] : tensors) out.emplace_back(owner + name, tensor);
    };
    put("model/", model.state());
    put("optimizer/", optimizer->state());
    put("step/", step.state());
    return bits(out);
}

void train_forever(const std::string& path) {
    Training training("adamw", 1);
    if (std::filesystem::exists(path)) training.load(path);
    for (int saved = 1;; ++saved) {
        training.run(1);
        training.save(path);
        if (saved != 2) continue;  // the first step waits for code
        std::puts("saved");
        std::fflush(stdout);
    }
}

void go_on(const std::string& path, const std::string& kind, int steps) {
    Training training(kind, 2);
    training.load(path);
    training.run(steps);
    training.save(path);
}

}  // namespace lazuli::tests
