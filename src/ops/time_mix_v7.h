#pragma once

// What time_mix_v7 and its gradient share, and the kernels of both: operands, and the plain step
// from one token to the next.

#include <vector>

#include "lazuli/program.h"

namespace lazuli::ops {

/// The operands of time_mix_v7, in order.
enum TimeMixOperand : int { kReceptance, kDecay, kPacked, kState, kRuns };

/// The operands of time_mix_v7_grad behind the first four, which are those of time_mix_v7.
enum TimeMixGradOperand : int { kOutputFlow = 4, kStateFlow, kGradRuns };

/// The planes of what pack_kvakk makes.
enum TimeMixPlane : int { kKeys, kValues, kRates, kDirections };

/// Output, then the new state.
std::vector<TensorSpec> time_mix_results(std::span<const TensorSpec* const> inputs);

/// Throws where the first operands, or the runs at `runs`, do not fit together.
void check_time_mix(const InferArgs& args, std::size_t runs);

/// What flows back through time_mix_v7: recorded as one time_mix_v7_grad.
std::vector<Value> time_mix_gradient(const GradientArgs& g);

/// A token's numbers for one head.
template <class T>
struct HeadToken {
    /// `at`: where they begin in [tokens, heads, size].
    HeadToken(std::span<const HostArray> inputs, std::int64_t at)
        : r(inputs[kReceptance].as<T>() + at), w(inputs[kDecay].as<T>() + at) {
        const std::int64_t plane = inputs[kReceptance].spec->shape.numel();
        const T* packed = inputs[kPacked].as<T>() + at;
        k = packed + kKeys * plane;
        v = packed + kValues * plane;
        a = packed + kRates * plane;
        kk = packed + kDirections * plane;
    }
    const T* r;
    const T* w;
    const T* k;
    const T* v;
    const T* a;
    const T* kk;
};

/// How much of each row of a state lies along kk, negated: what a token takes away.
template <class T>
double removed_by(const HeadToken<T>& token, std::int64_t size, const float* row) {
    double removed = 0;
    for (std::int64_t m = 0; m < size; ++m)
        removed -= static_cast<double>(row[m]) * static_cast<double>(token.kk[m]);
    return removed;
}

/// The state after a token, which may lie where the state before it did.
template <class T>
void plain_step(const HeadToken<T>& token, std::int64_t size, const float* before, float* after) {
    const auto wide = [](T x) { return static_cast<double>(x); };
    for (std::int64_t i = 0; i < size; ++i, before += size, after += size) {
        const double removed = removed_by(token, size, before);
        for (std::int64_t j = 0; j < size; ++j) {
            // The state is f32 after every token, so that it does not matter how tokens are cut
            // into calls.
            after[j] = static_cast<float>(static_cast<double>(before[j]) * wide(token.w[j]) +
                                          removed * wide(token.kk[j]) * wide(token.a[j]) +
                                          wide(token.v[i]) * wide(token.k[j]));
        }
    }
}

}  // namespace lazuli::ops
