#pragma once

// A training that is stopped and goes on, also in another process.

#include <memory>
#include <string>
#include <vector>

#include "lazuli/nn.h"
#include "lazuli/optim.h"
#include "lazuli/train.h"

namespace lazuli::tests {

/// Options that make the test program a process that trains.
inline constexpr const char* kTrainForever = "--train-forever";
inline constexpr const char* kGoOn = "--go-on";

/// A model with all that must be remembered: parameters, running figures, dropout.
struct Training {
    /// With an optimiser `sgd`, `adamw`, `adafactor` or `muon`, from weights by a seed.
    explicit Training(const std::string& kind, std::uint64_t seed = 1,
                      const train::StepOptions& options = {.seed = 5});
    nn::Sequential model;
    std::unique_ptr<optim::Optimizer> optimizer;
    train::Step step;

    /// The losses of so many steps. Which batch one has depends on how many there were.
    std::vector<float> run(int steps);
    void save(const std::string& path);
    void load(const std::string& path);
    /// All that a checkpoint has, as bytes.
    std::map<std::string, std::string> all();

   private:
    std::vector<std::vector<Tensor>> batches_;
};

/// Goes on from the checkpoint at the path where there is one, and makes another behind each step.
/// Prints a line when the second is there.
[[noreturn]] void train_forever(const std::string& path);
/// Goes on from the checkpoint at the path for so many steps, and makes another there.
void go_on(const std::string& path, const std::string& kind, int steps);

}  // namespace lazuli::tests
