#pragma once

/// @file
/// The block of RWKV-7, for training: all tokens of a batch at once, from states of 0. Names of
/// parameters are those of published weights.

#include "lazuli/nn/layers.h"

namespace lazuli::nn {

/// What a block is like. Ranks of 0 are chosen by the width.
struct Rwkv7Options {
    std::int64_t width = 0;       ///< A multiple of the head's size.
    std::int64_t head_size = 64;  ///< Of each head.
    std::int64_t layers = 1;      ///< Of the whole model: first values depend on it.
    std::int64_t hidden = 0;      ///< Width within the channel mix; 0: four times the width.
    std::int64_t decay_rank = 0;  ///< Of the decay's two factors,
    std::int64_t rate_rank = 0;   ///< the learning rate's,
    std::int64_t value_rank = 0;  ///< that of the first layer's value,
    std::int64_t gate_rank = 0;   ///< and the gate's.
    DType dtype = f32;            ///< Of its parameters.
};

/// What is remembered of tokens: matrices that each token changes.
class Rwkv7TimeMix : public Module {
   public:
    Parameter x_r, x_w, x_k, x_v, x_a, x_g;  ///< How much of the token before is mixed in: [width].
    Parameter w0, w1, w2;                    ///< The decay.
    Parameter a0, a1, a2;                    ///< The learning rate.
    Parameter v0, v1, v2;                    ///< The share of the first layer's value.
    Parameter g1, g2;                        ///< The gate.
    Parameter k_k, k_a;                      ///< How keys are changed: [width].
    Parameter r_k;                           ///< The bonus of a token itself: [heads, head size].
    Linear receptance, key, value, output;   ///< Four products.
    LayerNorm ln_x;                          ///< Of each head on its own.
    std::int64_t heads;                      ///< That the width is divided among.
    bool is_first;                           ///< Whether its value is the first one.

    /// The time mix of a layer, counted from 0.
    Rwkv7TimeMix(const Rwkv7Options& options, std::int64_t layer);
    void parts(Parts& parts) override;
    /// Of [batch, tokens, width]. The first layer sets `first_value`, the others read it.
    Tensor operator()(const Tensor& x, Tensor& first_value) const;
};

/// What is made of each token.
class Rwkv7ChannelMix : public Layer {
   public:
    Parameter x_k;      ///< How much of the token before is mixed in.
    Linear key, value;  ///< Two products, with a squared relu between them.

    /// The channel mix of a layer, counted from 0.
    Rwkv7ChannelMix(const Rwkv7Options& options, std::int64_t layer);
    void parts(Parts& parts) override;
    Tensor operator()(const Tensor& x) const override;
};

/// Time mix and channel mix, each behind a norm and added to what came in.
class Rwkv7Block : public Module {
   public:
    std::optional<LayerNorm> ln0;  ///< Of the first block alone: it norms the tokens.
    LayerNorm ln1, ln2;            ///< Before the two mixes.
    Rwkv7TimeMix att;              ///< Between tokens.
    Rwkv7ChannelMix ffn;           ///< Of each token.

    /// The block of a layer, counted from 0.
    Rwkv7Block(const Rwkv7Options& options, std::int64_t layer);
    void parts(Parts& parts) override;
    /// Of [batch, tokens, width]. The first block sets `first_value`, the others read it.
    Tensor operator()(const Tensor& x, Tensor& first_value) const;
};

}  // namespace lazuli::nn
