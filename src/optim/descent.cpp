// Optimisers that move each element on its own: SGD, Adam, AdamW, Lion.

#include <fmt/format.h>

#include <cmath>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"
#include "lazuli/optim.h"

namespace lazuli::optim {

// ---- SGD

Sgd::Sgd(const SgdOptions& options)
    : Optimizer({.lr = options.lr, .schedule = options.schedule}), options_(options) {
    if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
        throw ArgumentError(
            fmt::format("Sgd: Nesterov wants momentum and no dampening; they are {} and {}",
                        options.momentum, options.dampening));
}

void Sgd::remember(const Tensor& parameter, Slots& slots) const {
    if (options_.momentum != 0) slots["momentum"] = zeros_like(parameter);
}

Tensor Sgd::update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                   const StepInfo& info) const {
    const Tensor slope =
        options_.weight_decay == 0 ? gradient : gradient + parameter * options_.weight_decay;
    if (options_.momentum == 0) return parameter - slope * info.number(info.lr);
    Tensor& momentum = slots.at("momentum");
    // The first step takes the whole gradient, dampened or not.
    const double added = info.count == 1 ? 1 : 1 - options_.dampening;
    const Tensor fresh = options_.dampening == 0 ? slope : slope * info.number(added);
    momentum = momentum * options_.momentum + fresh;
    const Tensor way = options_.nesterov ? slope + momentum * options_.momentum : momentum;
    return parameter - way * info.number(info.lr);
}

// ---- Adam

Adam::Adam(const AdamOptions& options, bool apart)
    : Optimizer({.lr = options.lr, .schedule = options.schedule}),
      options_(options),
      apart_(apart) {
    if (!options_.weight_decay) options_.weight_decay = apart ? 1e-2 : 0;
    for (const double beta : {options.beta1, options.beta2})
        if (!(beta >= 0 && beta < 1))
            throw ArgumentError(fmt::format("Adam: a beta of {}, not from 0 to below 1", beta));
}

void Adam::remember(const Tensor& parameter, Slots& slots) const {
    slots["mean"] = zeros_like(parameter);
    slots["square"] = zeros_like(parameter);
    if (options_.amsgrad) slots["largest"] = zeros_like(parameter);
}

Tensor Adam::update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                    const StepInfo& info) const {
    const double decay = *options_.weight_decay;
    const bool decays = decay != 0;
    const Tensor slope = decays && !apart_ ? gradient + parameter * decay : gradient;
    Tensor& mean = slots.at("mean");
    Tensor& square = slots.at("square");
    mean = mean * options_.beta1 + slope * (1 - options_.beta1);
    square = square * options_.beta2 + lazuli::square(slope) * (1 - options_.beta2);
    Tensor size = square;
    if (options_.amsgrad) size = slots.at("largest") = maximum(slots.at("largest"), square);
    // Means of few gradients are too small by what their weights lack of 1. In double, on this
    // side: 1 - 0.999 has but four digits in f32.
    const auto count = static_cast<double>(info.count);
    const double lacks1 = 1 - std::pow(options_.beta1, count);
    const double lacks2 = 1 - std::pow(options_.beta2, count);
    const Tensor root = sqrt(size) * info.number(1 / std::sqrt(lacks2)) + options_.eps;
    const Tensor way = mean / root * info.number(info.lr / lacks1);
    if (!decays || !apart_) return parameter - way;
    return parameter * info.number(1 - info.lr * decay) - way;
}

// ---- Lion

Lion::Lion(const LionOptions& options)
    : Optimizer({.lr = options.lr, .schedule = options.schedule}), options_(options) {}

void Lion::remember(const Tensor& parameter, Slots& slots) const {
    slots["momentum"] = zeros_like(parameter);
}

Tensor Lion::update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                    const StepInfo& info) const {
    Tensor& momentum = slots.at("momentum");
    const Tensor way = sign(momentum * options_.beta1 + gradient * (1 - options_.beta1));
    momentum = momentum * options_.beta2 + gradient * (1 - options_.beta2);
    const Tensor moved = options_.weight_decay == 0 ? way : way + parameter * options_.weight_decay;
    return parameter - moved * info.number(info.lr);
}

}  // namespace lazuli::optim
