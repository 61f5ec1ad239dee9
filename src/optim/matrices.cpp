// Optimisers that see a parameter as a matrix: Adafactor and Muon.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"
#include "lazuli/optim.h"

namespace lazuli::optim {

// ---- Adafactor

Adafactor::Adafactor(const AdafactorOptions& options)
    : Optimizer({.lr = options.lr, .schedule = options.schedule}), options_(options) {}

void Adafactor::remember(const Tensor& parameter, Slots& slots) const {
    if (parameter.rank() < 2) {
        slots["square"] = zeros_like(parameter);
        return;
    }
    slots["rows"] = zeros_like(mean(parameter, -1, true));
    slots["columns"] = zeros_like(mean(parameter, -2, true));
}

Tensor Adafactor::update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                         const StepInfo& info) const {
    const auto count = static_cast<double>(info.count);
    const double unit = info.dtype == f64 ? std::pow(2.0, -52) : std::pow(2.0, -23);
    const double least = options_.eps1 > 0 ? options_.eps1 : unit;
    const double root_count = static_cast<double>(parameter.numel());
    const Tensor share = info.number(std::pow(count, options_.beta2_decay));
    const auto moved = [&](Tensor& old, const Tensor& seen) -> Tensor& {
        return old = old + (seen - old) * share;
    };

    Tensor scale;
    if (parameter.rank() < 2) {
        scale = rsqrt(maximum(moved(slots.at("square"), square(gradient)), least * least));
    } else {
        // The mean squares of a matrix are taken as the product of those of its rows and columns.
        const Tensor rows = moved(slots.at("rows"), mean(square(gradient), -1, true));
        const Tensor columns = moved(slots.at("columns"), mean(square(gradient), -2, true));
        const Tensor product = rows * columns / maximum(mean(rows, -2, true), least);
        scale = rsqrt(maximum(product, least * least));
    }
    const Tensor way = scale * gradient;
    const Tensor size = sqrt(sum(square(way))) / (std::sqrt(root_count) * options_.d);
    const double relative = std::min(info.lr, 1 / std::sqrt(count));
    const Tensor own_size = sqrt(sum(square(parameter))) / std::sqrt(root_count);
    const Tensor rate = maximum(own_size, options_.eps2) * info.number(relative);
    const Tensor kept = options_.weight_decay == 0
                            ? parameter
                            : parameter * info.number(1 - info.lr * options_.weight_decay);
    return kept - way * (rate / maximum(size, 1.0));
}

// ---- Muon

namespace {

/// Newton and Schulz's iteration towards the nearest orthogonal matrix, with a polynomial that
/// brings singular values near 1 in few steps.
Tensor orthogonal(const Tensor& matrix, int iterations) {
    const bool is_tall = matrix.size(0) > matrix.size(1);
    Tensor x = is_tall ? matrix.transpose() : matrix;
    x = x / maximum(sqrt(sum(square(x))), 1e-7);
    for (int i = 0; i < iterations; ++i) {
        const Tensor gram = matmul(x, x.transpose());
        const Tensor mixed = gram * -4.775 + matmul(gram, gram) * 2.0315;
        x = x * 3.4445 + matmul(mixed, x);
    }
    return is_tall ? x.transpose() : x;
}

/// AdamW's way to update, lent to another optimiser.
class Lent : public AdamW {
   public:
    using AdamW::AdamW;
    using AdamW::remember;
    using AdamW::update;
};

}  // namespace

Muon::Muon(const MuonOptions& options)
    : Optimizer({.lr = options.lr, .schedule = options.schedule}), options_(options) {
    if (options.iterations < 1)
        throw ArgumentError(fmt::format("Muon: {} iterations, below 1", options.iterations));
}

void Muon::remember(const Tensor& parameter, Slots& slots) const {
    if (parameter.rank() == 2)
        slots["momentum"] = zeros_like(parameter);
    else
        Lent(options_.others).remember(parameter, slots);
}

Tensor Muon::update(const Tensor& parameter, const Tensor& gradient, Slots& slots,
                    const StepInfo& info) const {
    if (parameter.rank() != 2) {
        const double factor = options_.lr == 0 ? 0 : info.lr / options_.lr;
        return Lent(options_.others)
            .update(parameter, gradient, slots,
                    {info.count, options_.others.lr * factor, info.dtype});
    }
    Tensor& momentum = slots.at("momentum");
    momentum = momentum + (gradient - momentum) * (1 - options_.momentum);
    const Tensor way =
        options_.nesterov ? gradient + (momentum - gradient) * options_.momentum : momentum;
    const auto rows = static_cast<double>(parameter.size(0));
    const auto columns = static_cast<double>(parameter.size(1));
    const double scale = options_.scale == MuonScale::shape
                             ? std::sqrt(std::max(1.0, rows / columns))
                             : 0.2 * std::sqrt(std::max(rows, columns));
    const Tensor kept = parameter * info.number(1 - info.lr * options_.weight_decay);
    return kept - orthogonal(way, options_.iterations) * info.number(info.lr * scale);
}

}  // namespace lazuli::optim
