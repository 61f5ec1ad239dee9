#pragma once

/// @file
/// Attention, and the block that transformers are made of.

#include "lazuli/nn/layers.h"

namespace lazuli::nn {

/// What attention is like.
struct AttentionOptions {
    std::int64_t width = 0;     ///< Of what goes in and comes out.
    std::int64_t heads = 1;     ///< That it is divided among.
    std::int64_t kv_heads = 0;  ///< Heads of keys and values; 0: as many as of queries.
    bool bias = true;           ///< Whether the four products add something.
    bool causal = false;        ///< Whether a token sees only those before it.
    double dropout = 0;         ///< The share of what comes out that training drops.
    double rope_base = 0;       ///< Positions are turned in by `rope` with it; 0: they are not.
    DType dtype = f32;          ///< Of its parameters.
};
/// Attention of several heads, between the tokens of [batch, tokens, width] or to those of another
/// tensor.
class MultiHeadAttention : public Layer {
   public:
    Linear query;              ///< width -> heads * length.
    Linear key;                ///< width -> kv_heads * length.
    Linear value;              ///< width -> kv_heads * length.
    Linear output;             ///< Back to the width.
    AttentionOptions options;  ///< As given.

    /// ArgumentError where heads do not divide the width, or heads of keys those of queries.
    explicit MultiHeadAttention(const AttentionOptions& options);
    void parts(Parts& parts) override;
    std::string kind() const override;
    /// Of tokens to themselves.
    Tensor operator()(const Tensor& x) const override { return attend(x, x); }
    /// Of tokens to those of `context`. A mask that broadcasts to [batch, heads, tokens, context]
    /// is added to the scores, or says as truth values who is seen.
    Tensor attend(const Tensor& x, const Tensor& context, const Tensor& mask = {}) const;
};

/// Two products with a function between them.
class FeedForward : public Layer {
   public:
    Linear up;    ///< width -> hidden.
    Linear down;  ///< hidden -> width.

    /// gelu, by its tanh formula, lies between them.
    FeedForward(std::int64_t width, std::int64_t hidden, const LinearOptions& options = {});
    void parts(Parts& parts) override;
    Tensor operator()(const Tensor& x) const override;
};

/// What a transformer block is like.
struct TransformerOptions {
    AttentionOptions attention;  ///< Its attention.
    std::int64_t hidden = 0;     ///< Width within the feed-forward part; 0: four times the width.
    double dropout = 0;          ///< The share of what each part adds that training drops.
};
/// Attention and a feed-forward part, each behind a norm and added to what came in.
class TransformerBlock : public Layer {
   public:
    LayerNorm norm1;               ///< Before attention.
    MultiHeadAttention attention;  ///< Between tokens.
    LayerNorm norm2;               ///< Before the feed-forward part.
    FeedForward feed_forward;      ///< Of each token.
    Dropout dropout;               ///< Of what is added.

    /// Of this kind.
    explicit TransformerBlock(const TransformerOptions& options);
    void parts(Parts& parts) override;
    Tensor operator()(const Tensor& x) const override;
};

}  // namespace lazuli::nn
