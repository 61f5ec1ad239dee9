#pragma once

// What the plain evaluation of time_mix_v7 and its kernel share.

#include "lazuli/op.h"

namespace lazuli::ops {

/// The operands of time_mix_v7, in order.
enum TimeMixOperand : int { kReceptance, kDecay, kPacked, kState, kRuns };

/// The planes of what pack_kvakk makes.
enum TimeMixPlane : int { kKeys, kValues, kRates, kDirections };

/// Output, then the new state.
std::vector<TensorSpec> time_mix_results(std::span<const TensorSpec* const> inputs);

}  // namespace lazuli::ops
