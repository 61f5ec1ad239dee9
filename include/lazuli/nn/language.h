#pragma once

/// @file
/// Language models, for training: from tokens to what the next one may be.

#include <vector>

#include "lazuli/nn/rwkv7.h"
#include "lazuli/nn/transformer.h"

namespace lazuli::nn {

/// A model that says of each token of [batch, tokens], integers, what may follow it: logits
/// [batch, tokens, vocabulary].
class LanguageModel : public Layer {
   public:
    /// The mean cross entropy of what it says and the tokens that do follow.
    Tensor loss(const Tensor& tokens, const Tensor& next) const;
    /// Whether blocks compute what is in them again for their gradients, instead of keeping it.
    bool recompute = false;
};

/// What a GPT is like.
struct GptOptions {
    std::int64_t vocabulary = 256;  ///< How many tokens there are.
    std::int64_t context = 128;     ///< The longest sequence.
    std::int64_t width = 256;       ///< Of a token.
    std::int64_t layers = 2;        ///< How many blocks.
    std::int64_t heads = 4;         ///< Of attention.
    std::int64_t hidden = 0;        ///< Width within feed-forward parts; 0: four times the width.
    double dropout = 0;             ///< The share of what blocks add that training drops.
    DType dtype = f32;              ///< Of its parameters.
};
/// A transformer that sees the tokens before: Radford et al., 2019.
class Gpt : public LanguageModel {
   public:
    Embedding token_embedding;             ///< A row a token.
    Embedding position_embedding;          ///< A row a place.
    std::vector<TransformerBlock> blocks;  ///< One after the other.
    LayerNorm norm;                        ///< Behind the last.
    Linear head;                           ///< To logits; no bias.

    /// Weights are normal with deviation 0.02; products that are added to the flow are narrower by
    /// the root of their number.
    explicit Gpt(const GptOptions& options);
    void parts(Parts& parts) override;
    Tensor operator()(const Tensor& tokens) const override;
};

/// What an RWKV-7 model is like.
struct Rwkv7ModelOptions {
    std::int64_t vocabulary = 256;  ///< How many tokens there are.
    Rwkv7Options block = {};        ///< Its blocks, and how many.
};
/// RWKV-7: a recurrent network that is trained on all tokens at once.
class Rwkv7 : public LanguageModel {
   public:
    Embedding emb;                   ///< A row a token.
    std::vector<Rwkv7Block> blocks;  ///< One after the other.
    LayerNorm ln_out;                ///< Behind the last.
    Linear head;                     ///< To logits; no bias.

    /// Of this kind.
    explicit Rwkv7(const Rwkv7ModelOptions& options);
    void parts(Parts& parts) override;
    Tensor operator()(const Tensor& tokens) const override;
};

}  // namespace lazuli::nn
