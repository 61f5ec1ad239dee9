#include "lazuli/nn/transformer.h"

#include <fmt/format.h>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"

namespace lazuli::nn {

namespace {

AttentionOptions checked(AttentionOptions options) {
    if (options.kv_heads == 0) options.kv_heads = options.heads;
    if (options.width < 1 || options.heads < 1 || options.width % options.heads != 0)
        throw ArgumentError(fmt::format("MultiHeadAttention: {} heads do not divide a width of {}",
                                        options.heads, options.width));
    if (options.kv_heads < 1 || options.heads % options.kv_heads != 0)
        throw ArgumentError(
            fmt::format("MultiHeadAttention: {} heads of keys do not divide {} of queries",
                        options.kv_heads, options.heads));
    return options;
}

/// [batch, tokens, heads * length] as [batch, heads, tokens, length].
Tensor by_heads(const Tensor& x, std::int64_t heads) {
    return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const AttentionOptions& given)
    : query(given.width, given.width, {given.bias, given.dtype}),
      key(given.width, given.width / given.heads * checked(given).kv_heads,
          {given.bias, given.dtype}),
      value(given.width, given.width / given.heads * checked(given).kv_heads,
            {given.bias, given.dtype}),
      output(given.width, given.width, {given.bias, given.dtype}),
      options(checked(given)) {}

void MultiHeadAttention::parts(Parts& parts) {
    parts("query", query)("key", key)("value", value)("output", output);
}

std::string MultiHeadAttention::kind() const {
    return fmt::format("MultiHeadAttention({}, {} heads{})", options.width, options.heads,
                       options.causal ? ", causal" : "");
}

Tensor MultiHeadAttention::attend(const Tensor& x, const Tensor& context,
                                  const Tensor& mask) const {
    for (const Tensor* t : {&x, &context}) {
        if (t->rank() == 3 && t->shape().dim(2) == Dim(options.width)) continue;
        throw ShapeError(fmt::format("MultiHeadAttention: {} is not [batch, tokens, {}]",
                                     t->shape().str(), options.width),
                         fmt::format("[batch, tokens, {}]", options.width), t->shape().str());
    }
    Tensor q = by_heads(query(x), options.heads);
    Tensor k = by_heads(key(context), options.kv_heads);
    const Tensor v = by_heads(value(context), options.kv_heads);
    if (options.rope_base > 0) {
        q = rope(q, arange(x.size(1)), options.rope_base);
        k = rope(k, arange(context.size(1)), options.rope_base);
    }
    const Tensor seen = options.kv_heads == options.heads
                            ? attention(q, k, v, mask, 0, options.causal)
                            : attention_general(q, k, v, mask, Tensor(), 0, options.causal);
    const Tensor joined = reshape(permute(seen, {0, 2, 1, 3}), x.shape());
    const Tensor out = output(joined);
    return options.dropout > 0 && is_training() ? lazuli::dropout(out, options.dropout, next_key())
                                                : out;
}

FeedForward::FeedForward(std::int64_t width, std::int64_t hidden, const LinearOptions& options)
    : up(width, hidden, options), down(hidden, width, options) {}
void FeedForward::parts(Parts& parts) { parts("up", up)("down", down); }
Tensor FeedForward::operator()(const Tensor& x) const { return down(gelu(up(x), true)); }

TransformerBlock::TransformerBlock(const TransformerOptions& options)
    : norm1(options.attention.width, 1e-5, options.attention.dtype),
      attention(options.attention),
      norm2(options.attention.width, 1e-5, options.attention.dtype),
      feed_forward(options.attention.width,
                   options.hidden == 0 ? 4 * options.attention.width : options.hidden,
                   {options.attention.bias, options.attention.dtype}),
      dropout(options.dropout) {}

void TransformerBlock::parts(Parts& parts) {
    parts("norm1", norm1)("attention", attention)("norm2", norm2)("feed_forward", feed_forward)(
        "dropout", dropout);
}

Tensor TransformerBlock::operator()(const Tensor& x) const {
    const Tensor attended = x + dropout(attention(norm1(x)));
    return attended + dropout(feed_forward(norm2(attended)));
}

}  // namespace lazuli::nn
