#pragma once

/// @file
/// Training: steps that are one plan each, and checkpoints that a run goes on from, bit for bit.
///
///     train::Step step(model, optimizer, [&](const auto& batch) {
///         return cross_entropy(model(batch[0]), batch[1]);
///     });
///     const double loss = step(batch).loss.item<double>();

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lazuli/explanation.h"
#include "lazuli/nn/module.h"
#include "lazuli/optim.h"
#include "lazuli/tensor.h"

namespace lazuli::train {

/// From a batch to one number that is to fall. It calls the model.
using LossFunction = std::function<Tensor(const std::vector<Tensor>& batch)>;

/// How losses are scaled up, so that small gradients do not vanish in f16.
struct LossScale {
    double first = 65536;       ///< At first.
    double grow = 2;            ///< By which it grows,
    std::int64_t after = 2000;  ///< after so many steps whose gradients were all finite.
    double shrink = 0.5;        ///< By which it falls where they were not.
};

/// What a step does beside gradients and updates.
struct StepOptions {
    double clip_norm = 0;         ///< The greatest common norm of gradients; 0: any.
    double clip_value = 0;        ///< The greatest element of gradients; 0: any.
    std::int64_t accumulate = 1;  ///< Calls whose gradients are averaged for one update.
    std::uint64_t seed = 0;       ///< Of what is random in the model, with the count of calls.
    std::optional<LossScale> loss_scale = {};  ///< For f16: none unless it is given.
};

/// What a step gives.
struct StepResult {
    Tensor loss;          ///< Before the update.
    Tensor norm = {};     ///< Of gradients before they were clipped; where they were, by norm.
    bool updated = true;  ///< Whether parameters were updated.
};

/// Training steps of a model. A call is one plan: loss, gradients, clipping and update; parameters
/// and what the optimiser remembers are overwritten where nobody else holds them. The model and the
/// optimiser live longer than it.
class Step {
   public:
    /// Evaluates parameters and the optimiser's state, so that all calls are alike.
    Step(nn::Module& model, optim::Optimizer& optimizer, LossFunction loss,
         StepOptions options = {});
    /// A step. Throws what the loss function does, and then nothing has changed.
    StepResult operator()(const std::vector<Tensor>& batch);
    /// What a step does; computes nothing, and changes nothing.
    Explanation explain(const std::vector<Tensor>& batch);

    /// How many calls there were.
    std::int64_t calls() const { return calls_; }
    /// By what losses are scaled now; 1 where they are not.
    double loss_scale() const { return scale_; }
    /// The calls so far, sums of gradients and the loss scale: all that is neither the model's nor
    /// the optimiser's.
    NamedTensors state() const;
    /// Takes that over. ArgumentError where it is of a step that averages gradients and this one
    /// does not, or the other way round; ShapeError where they have other shapes.
    void load(const NamedTensors& state);

   private:
    struct Slopes;
    struct Recorded;
    Slopes slopes(const std::vector<Tensor>& batch);
    Recorded record(const std::vector<Tensor>& batch);
    void update(std::vector<Tensor> gradients, Recorded& out);
    nn::Module& model_;
    optim::Optimizer& optimizer_;
    LossFunction loss_;
    StepOptions options_;
    std::vector<Tensor> sums_;  // of gradients, where several calls make an update
    std::int64_t calls_ = 0;
    double scale_ = 1;
    std::int64_t finite_steps_ = 0;
};

/// Writes a model, its optimiser and a step's state to a safetensors file, with texts beside. The
/// file at the path stays as it is until the new one is complete on the disk.
void save_checkpoint(const std::string& path, nn::Module& model, const optim::Optimizer& optimizer,
                     const Step& step, const std::map<std::string, std::string>& notes = {});
/// Takes over what `save_checkpoint` wrote, and returns the texts. ArgumentError or ShapeError
/// where it is of another model; then nothing has changed.
std::map<std::string, std::string> load_checkpoint(const std::string& path, nn::Module& model,
                                                   optim::Optimizer& optimizer, Step& step);

/// A line of a picture: numbers over steps.
struct Curve {
    std::string name;                                     ///< What it shows.
    std::vector<std::pair<std::int64_t, double>> points;  ///< Steps and values.
};
/// Curves over steps as an SVG picture, with axes and a legend.
std::string curves_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace lazuli::train
