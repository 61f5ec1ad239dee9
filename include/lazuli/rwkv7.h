#pragma once

/// @file
/// The recurrence of RWKV-7. Its other ops stand with all others in ops.h.

#include "lazuli/tensor.h"

namespace lazuli {

/// What time_mix_v7 gives.
struct TimeMix {
    Tensor output;  ///< [tokens, heads, size], of r's type.
    Tensor state;   ///< f32 [states, heads, size, size], for the tokens that follow.
};

/// The recurrence over tokens, for each head of its own, in ragged batches: each line of `runs`,
/// integers [runs, 3], is the number of a state, a first token and a count of tokens.
/// `r` and `w` (the decay itself, not its logarithm) are [tokens, heads, size], `kvakk` is what
/// pack_kvakk makes, `state` is f32 [states, heads, size, size].
TimeMix time_mix_v7(const Tensor& r, const Tensor& w, const Tensor& kvakk, const Tensor& state,
                    const Tensor& runs);

}  // namespace lazuli
