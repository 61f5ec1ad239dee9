#include "lazuli/nn/language.h"

#include <fmt/format.h>

#include <cmath>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/grad.h"
#include "lazuli/nn/init.h"
#include "lazuli/ops.h"

namespace lazuli::nn {

namespace {

void expect_tokens(std::string_view model, const Tensor& tokens, std::int64_t most) {
    if (tokens.rank() == 2 && (most == 0 || tokens.size(1) <= most)) return;
    const std::string wanted =
        most == 0 ? "[batch, tokens]" : fmt::format("[batch, up to {} tokens]", most);
    throw ShapeError(fmt::format("{}: {} is not {}", model, tokens.shape().str(), wanted), wanted,
                     tokens.shape().str());
}

}  // namespace

Tensor LanguageModel::loss(const Tensor& tokens, const Tensor& next) const {
    return cross_entropy((*this)(tokens), next);
}

// ---- GPT

namespace {

TransformerOptions block_options(const GptOptions& options) {
    return {.attention = {.width = options.width,
                          .heads = options.heads,
                          .causal = true,
                          .dtype = options.dtype},
            .hidden = options.hidden,
            .dropout = options.dropout};
}

void begin_normal(Linear& linear, double deviation) {
    linear.weight = tensor(init::normal(linear.weight.shape(), deviation), linear.weight.dtype());
    if (linear.bias.defined()) linear.bias = zeros_like(linear.bias);
}

}  // namespace

Gpt::Gpt(const GptOptions& options)
    : token_embedding(options.vocabulary, options.width, options.dtype),
      position_embedding(options.context, options.width, options.dtype),
      norm(options.width, 1e-5, options.dtype),
      head(options.width, options.vocabulary, {.bias = false, .dtype = options.dtype}) {
    constexpr double kDeviation = 0.02;
    const double added = kDeviation / std::sqrt(2.0 * static_cast<double>(options.layers));
    for (std::int64_t i = 0; i < options.layers; ++i) {
        TransformerBlock& block = blocks.emplace_back(block_options(options));
        for (Linear* linear : {&block.attention.query, &block.attention.key, &block.attention.value,
                               &block.feed_forward.up})
            begin_normal(*linear, kDeviation);
        for (Linear* linear : {&block.attention.output, &block.feed_forward.down})
            begin_normal(*linear, added);
    }
    for (Embedding* table : {&token_embedding, &position_embedding})
        table->weight = table->weight * kDeviation;
    begin_normal(head, kDeviation);
}

void Gpt::parts(Parts& parts) {
    parts("token_embedding", token_embedding)("position_embedding", position_embedding);
    parts("blocks", blocks)("norm", norm)("head", head);
}

Tensor Gpt::operator()(const Tensor& tokens) const {
    expect_tokens("Gpt", tokens, position_embedding.weight.size(0));
    const std::int64_t length = tokens.size(1);
    const std::int64_t width = norm.weight.size(0);
    Tensor x = token_embedding(tokens) + slice(position_embedding.weight, {0, 0}, {length, width});
    for (const TransformerBlock& block : blocks) {
        if (recompute)
            x = checkpoint([&](const Tensor& in) { return block(in); })(x);
        else
            x = block(x);
    }
    return head(norm(x));
}

// ---- RWKV-7

Rwkv7::Rwkv7(const Rwkv7ModelOptions& options)
    : emb(options.vocabulary, options.block.width, options.block.dtype),
      ln_out(options.block.width, 1e-5, options.block.dtype),
      head(options.block.width, options.vocabulary, {.bias = false, .dtype = options.block.dtype}) {
    for (std::int64_t i = 0; i < options.block.layers; ++i) blocks.emplace_back(options.block, i);
    const DType dtype = options.block.dtype;
    // Tokens begin near 0: the norm of the first block brings them to size.
    emb.weight = tensor(init::uniform(emb.weight.shape(), -1e-4, 1e-4), dtype);
    const double ratio =
        static_cast<double>(options.vocabulary) / static_cast<double>(options.block.width);
    const double gain = 0.5 * (ratio > 1 ? std::sqrt(ratio) : 1);
    head.weight = tensor(init::orthogonal(head.weight.shape(), gain), dtype);
}

void Rwkv7::parts(Parts& parts) {
    parts("emb", emb)("blocks", blocks)("ln_out", ln_out)("head", head);
}

Tensor Rwkv7::operator()(const Tensor& tokens) const {
    expect_tokens("Rwkv7", tokens, 0);
    Tensor x = emb(tokens);
    Tensor first_value;
    for (const Rwkv7Block& block : blocks) {
        if (recompute && !block.att.is_first) {
            x = checkpoint([&](const Tensor& in, const Tensor& value) {
                Tensor same = value;
                return block(in, same);
            })(x, first_value);
        } else {
            x = block(x, first_value);
        }
    }
    return head(ln_out(x));
}

}  // namespace lazuli::nn
