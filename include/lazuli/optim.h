#pragma once

/// @file
/// Optimisers: from gradients to new values of parameters. They record: with the loss and its
/// gradients, a whole training step is one program, whose results take the places of what they are
/// computed from. What an optimiser remembers is kept by the names of parameters.
///
///     optim::AdamW optimizer({.lr = 3e-4});
///     optimizer.step(model, gradients);

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lazuli/nn/module.h"
#include "lazuli/safetensors.h"
#include "lazuli/tensor.h"

namespace lazuli::optim {

// ---- schedules: a learning rate for each step, counted from 0

/// From a step's number to the factor by which the learning rate is multiplied.
using Schedule = std::function<double(std::int64_t step)>;

/// Always 1.
Schedule constant();
/// From `first` to `last` on a straight line over so many steps, and `last` from there on.
Schedule linear(double first, double last, std::int64_t steps);
/// From 1 to `last` on half a cosine over so many steps, and `last` from there on.
Schedule cosine(std::int64_t steps, double last = 0);
/// Multiplied by `factor` every so many steps.
Schedule steps(std::int64_t every, double factor = 0.1);
/// From near 0 up to 1 on a straight line over so many steps, then another schedule from its start.
Schedule warm_up(std::int64_t steps, Schedule then = constant());

// ---- gradients before they are used

/// The root of the sum of the squares of all elements, in f32 at least.
Tensor global_norm(std::span<const Tensor> gradients);
/// Gradients scaled down to a common norm where theirs is greater.
struct Clipped {
    std::vector<Tensor> gradients;  ///< Scaled.
    Tensor norm;                    ///< What their norm was.
};
/// Scales gradients so that their common norm is `most` at most.
Clipped clip_by_norm(std::span<const Tensor> gradients, double most);
/// Brings each element between -most and most.
std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double most);

// ---- optimisers

/// What an optimiser remembers of one parameter, by name: `momentum`, ...
using Slots = std::map<std::string, Tensor>;

/// What an update is told beside the gradient.
struct StepInfo {
    std::int64_t count;  ///< Which step it is, counted from 1.
    double lr;           ///< The learning rate, as the schedule has it.
    DType dtype;         ///< In which the update is computed.

    /// A number of that type that changes from step to step: passed to the plan, which stays.
    Tensor number(double value) const;
};

/// What all optimisers have.
struct OptimizerOptions {
    double lr = 1e-3;                ///< The learning rate.
    Schedule schedule = constant();  ///< Its factor from step to step.
    /// Parameters of 16 bits are kept in f32 beside, and updated there.
    bool master_weights = true;
};

/// An optimiser. Who derives from it says how one parameter is updated.
class Optimizer {
   public:
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    /// Makes what is remembered of the parameters that a model trains, and computes it: the first
    /// step then is the same program as the others. Done by the first `step` where it was not.
    void begin(nn::Module& model);
    /// Gives the parameters that a model trains new values, recorded: gradients are in the order of
    /// `model.trainable()`. Where a truth value `accept` is given and does not hold, values stay as
    /// they are. ArgumentError where numbers or shapes differ; then nothing has changed.
    void step(nn::Module& model, std::span<const Tensor> gradients, const Tensor& accept = {});

    /// How many steps there were.
    std::int64_t count() const { return count_; }
    /// Takes the last step back, as far as it is counted: it was not accepted.
    void discount() { --count_; }
    /// The learning rate of the next step.
    double lr() const;
    /// All that is remembered: `momentum/blocks.0.up.weight`, and the count as `count`.
    NamedTensors state() const;
    /// Takes that over. ArgumentError where there is no count, and listing all names that are
    /// missing or unknown where it was begun with a model; ShapeError and DTypeError where shapes
    /// or types differ. Then nothing has changed.
    void load(const NamedTensors& state);
    /// The tensors that are remembered, to be evaluated with the parameters.
    std::vector<Tensor> tensors() const;

   protected:
    /// With what all of them have.
    explicit Optimizer(OptimizerOptions options) : options_(std::move(options)) {}
    /// Makes what is remembered of a parameter.
    virtual void remember(const Tensor& parameter, Slots& slots) const = 0;
    /// The new value of a parameter; changes what is remembered.
    virtual Tensor update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                          const StepInfo& info) const = 0;

   private:
    Slots& slots_of(const std::string& name, const Tensor& parameter);
    OptimizerOptions options_;
    std::map<std::string, Slots> slots_;
    std::int64_t count_ = 0;
};

/// What SGD has.
struct SgdOptions {
    double lr = 1e-3;                ///< The learning rate.
    double momentum = 0;             ///< How much of the last direction stays.
    double dampening = 0;            ///< How much less of the gradient is added to it.
    bool nesterov = false;           ///< Whether it looks a step ahead.
    double weight_decay = 0;         ///< Of parameters, added to gradients.
    Schedule schedule = constant();  ///< Of the learning rate.
};
/// Stochastic gradient descent.
class Sgd : public Optimizer {
   public:
    /// ArgumentError for Nesterov without momentum, or with dampening.
    explicit Sgd(const SgdOptions& options = {});

   protected:
    void remember(const Tensor& parameter, Slots& slots) const override;
    Tensor update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                  const StepInfo& info) const override;

   private:
    SgdOptions options_;
};

/// What Adam and AdamW have.
struct AdamOptions {
    double lr = 1e-3;      ///< The learning rate.
    double beta1 = 0.9;    ///< How much of the mean gradient stays,
    double beta2 = 0.999;  ///< and of the mean square.
    double eps = 1e-8;     ///< Added to the root of that.
    /// Of parameters; where nothing is said, 0 of Adam and 0.01 of AdamW.
    std::optional<double> weight_decay = {};
    bool amsgrad = false;            ///< Whether the largest mean square so far is taken.
    Schedule schedule = constant();  ///< Of the learning rate.
};
/// Adam: Kingma and Ba, 2015. Decay is added to gradients.
class Adam : public Optimizer {
   public:
    /// With these options.
    explicit Adam(const AdamOptions& options = {}) : Adam(options, false) {}

   protected:
    /// Where decay is `apart`, it is of the parameter itself.
    Adam(const AdamOptions& options, bool apart);
    void remember(const Tensor& parameter, Slots& slots) const override;
    Tensor update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                  const StepInfo& info) const override;

   private:
    AdamOptions options_;
    bool apart_;
};
/// Adam whose decay is apart from gradients: Loshchilov and Hutter, 2019.
class AdamW : public Adam {
   public:
    /// With these options.
    explicit AdamW(const AdamOptions& options = {}) : Adam(options, true) {}
};

/// What Lion has.
struct LionOptions {
    double lr = 1e-4;                ///< The learning rate.
    double beta1 = 0.9;              ///< How much of the momentum is in an update,
    double beta2 = 0.99;             ///< and how much of it stays.
    double weight_decay = 0;         ///< Of parameters, apart from gradients.
    Schedule schedule = constant();  ///< Of the learning rate.
};
/// The sign of a momentum: Chen et al., 2023.
class Lion : public Optimizer {
   public:
    /// With these options.
    explicit Lion(const LionOptions& options = {});

   protected:
    void remember(const Tensor& parameter, Slots& slots) const override;
    Tensor update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                  const StepInfo& info) const override;

   private:
    LionOptions options_;
};

/// What Adafactor has.
struct AdafactorOptions {
    double lr = 1e-2;                ///< The learning rate, at most; it falls with the steps' root.
    double beta2_decay = -0.8;       ///< How fast more of the mean square stays.
    double eps1 = 0;                 ///< Least mean square; 0: the type's rounding unit.
    double eps2 = 1e-3;              ///< Least size of a parameter, by which updates are scaled.
    double d = 1;                    ///< Updates are scaled down to this root mean square.
    double weight_decay = 0;         ///< Of parameters, apart from gradients.
    Schedule schedule = constant();  ///< Of the learning rate.
};
/// Adam whose mean squares are kept as a row and a column: Shazeer and Stern, 2018.
class Adafactor : public Optimizer {
   public:
    /// With these options.
    explicit Adafactor(const AdafactorOptions& options = {});

   protected:
    void remember(const Tensor& parameter, Slots& slots) const override;
    Tensor update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                  const StepInfo& info) const override;

   private:
    AdafactorOptions options_;
};

/// How Muon scales updates of matrices.
enum class MuonScale : std::uint8_t {
    shape,     ///< By the root of rows / columns, 1 at least.
    as_adamw,  ///< By 0.2 times the root of the longer side: to the size of AdamW's updates.
};
/// What Muon has.
struct MuonOptions {
    double lr = 1e-3;                    ///< The learning rate.
    double momentum = 0.95;              ///< How much of the last direction stays.
    bool nesterov = true;                ///< Whether it looks a step ahead.
    double weight_decay = 0.1;           ///< Of parameters, apart from gradients.
    int iterations = 5;                  ///< Towards an orthogonal matrix.
    MuonScale scale = MuonScale::shape;  ///< Of updates.
    AdamOptions others = {};             ///< AdamW, for what is no matrix.
    Schedule schedule = constant();      ///< Of the learning rate.
};
/// Momentum made orthogonal by Newton and Schulz's iteration: Jordan et al., 2024. What is no
/// matrix is updated by AdamW, whose learning rate has the same schedule.
class Muon : public Optimizer {
   public:
    /// With these options.
    explicit Muon(const MuonOptions& options = {});

   protected:
    void remember(const Tensor& parameter, Slots& slots) const override;
    Tensor update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                  const StepInfo& info) const override;

   private:
    MuonOptions options_;
};

}  // namespace lazuli::optim
