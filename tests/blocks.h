#pragma once

// Blocks of models with made-up weights, as functions of tokens: for tests and benchmarks that need
// more than an op.

#include <cmath>
#include <random>
#include <vector>

#include "lazuli/lazuli.h"

namespace lazuli::blocks {

/// Numbers that another seed would not give, about as large as weights are.
class Weights {
   public:
    explicit Weights(std::uint32_t seed) : draw_(seed) {}
    Tensor operator()(const Shape& shape, float spread = 0.2F) {
        std::uniform_real_distribution<float> uniform(-spread, spread);
        std::vector<float> values(static_cast<std::size_t>(shape.numel()));
        for (float& value : values) value = uniform(draw_);
        return Tensor::from(values, shape);
    }

   private:
    std::mt19937 draw_;
};

/// A block as GPT-style models have: norm, attention with turned positions, norm, two products.
class Transformer {
   public:
    Transformer(std::int64_t channels, std::int64_t heads, std::uint32_t seed = 1)
        : channels_(channels), heads_(heads) {
        Weights weights(seed);
        for (Tensor* w : {&q_, &k_, &v_, &out_}) *w = weights({channels, channels});
        up_ = weights({channels, 4 * channels});
        down_ = weights({4 * channels, channels});
        for (Tensor* w : {&norm_, &bias_, &norm2_, &bias2_}) *w = weights({channels});
    }
    /// Of [batch, tokens, channels].
    Tensor operator()(const Tensor& x) const {
        const Dim b = x.shape().dim(0);
        const Dim t = x.shape().dim(1);
        const Tensor in = layer_norm(x, norm_ + 1, bias_);
        const auto in_heads = [&](const Tensor& w) {
            return matmul(in, w)
                .reshape(Shape{b, t, heads_, channels_ / heads_})
                .permute({0, 2, 1, 3});
        };
        const Tensor places = iota(Shape{t}, 0, f32);
        const Tensor seen = attention(rope(in_heads(q_), places), rope(in_heads(k_), places),
                                      in_heads(v_), {}, 0, true);
        const Tensor joined = seen.permute({0, 2, 1, 3}).reshape(Shape{b, t, channels_});
        const Tensor mixed = x + matmul(joined, out_);
        return mixed + matmul(gelu(matmul(layer_norm(mixed, norm2_ + 1, bias2_), up_)), down_);
    }

   private:
    std::int64_t channels_;
    std::int64_t heads_;
    Tensor q_, k_, v_, out_, up_, down_, norm_, bias_, norm2_, bias2_;
};

/// A block of RWKV-7 over one run of tokens: time mix and channel mix.
class Rwkv7 {
   public:
    Rwkv7(std::int64_t channels, std::int64_t heads, std::uint32_t seed = 2)
        : channels_(channels), heads_(heads) {
        Weights weights(seed);
        for (Tensor* w : {&r_, &k_, &v_, &out_}) *w = weights({channels, channels});
        for (Tensor& mix : mixes_) mix = weights({channels}, 0.5F);
        for (Lora* l : {&decay_, &rate_, &gate_})
            *l = {weights({channels, 16}), weights({16, channels}), weights({channels})};
        for (Tensor* w : {&norm_, &bias_, &norm2_, &bias2_, &head_norm_, &head_bias_, &k_k_, &k_a_})
            *w = weights({channels});
        r_k_ = weights({heads, channels / heads});
        key_ = weights({4 * channels, channels});
        value_ = weights({channels, 4 * channels});
    }
    /// Of x [tokens, channels], what was before it (f32 [1, channels], twice), the state (f32 [1,
    /// heads, size, size]) and the run, i64 [1, 3]. Gives x and the three that follow.
    std::vector<Tensor> operator()(const std::vector<Tensor>& given) const {
        const Tensor& x = given[0];
        const Tensor& runs = given[4];
        const Dim t = x.shape().dim(0);
        const std::int64_t size = channels_ / heads_;
        const Shape in_heads{t, heads_, size};
        const Tensor in = layer_norm(x, norm_ + 1, bias_);
        const auto shifted = [&](int i) { return token_shift(in, given[1], mixes_[i], runs); };
        const auto lora_of = [](const Tensor& v, const Lora& l) {
            return matmul(matmul(v, l.down), l.up) + l.bias;
        };
        const Tensor r = matmul(shifted(0), r_).reshape(in_heads);
        const Tensor w =
            exp(sigmoid(lora_of(tanh(shifted(1)), decay_)) * -0.606531).reshape(in_heads);
        const Tensor key = matmul(shifted(2), k_);
        const Tensor v = matmul(shifted(3), v_).reshape(in_heads);
        const Tensor a = sigmoid(lora_of(shifted(4), rate_));
        const Tensor g = sigmoid(lora_of(shifted(5), gate_));
        const Tensor kk = l2_norm((key * k_k_).reshape(in_heads));
        const Tensor k = control_k_v7(key, a, k_a_).reshape(in_heads);
        const TimeMix mixed =
            time_mix_v7(r, w, pack_kvakk(k, v, a.reshape(in_heads), kk), given[3], runs);
        const Tensor flat = mixed.output.reshape(Shape{t, channels_});
        const Tensor normed =
            group_norm(flat, head_norm_ + 1, head_bias_, heads_).reshape(in_heads);
        const Tensor heads = time_first_v7(normed, r, k, v, r_k_);
        const Tensor y = x + matmul(heads.reshape(Shape{t, channels_}) * g, out_);
        const Tensor in2 = layer_norm(y, norm2_ + 1, bias2_);
        const Tensor z = y + channel_mix_v7(in2, given[2], mixes_[6], key_, value_, runs);
        return {z, shift_state(in, given[1], runs), shift_state(in2, given[2], runs), mixed.state};
    }
    std::vector<TensorSpec> specs(Dim tokens) const {
        const std::int64_t size = channels_ / heads_;
        return {{f32, Shape{tokens, channels_}},
                {f32, {1, channels_}},
                {f32, {1, channels_}},
                {f32, {1, heads_, size, size}},
                {i64, {1, 3}}};
    }
    /// Arguments for that many tokens.
    std::vector<Tensor> arguments(std::int64_t tokens, std::uint32_t seed) const {
        Weights weights(seed);
        std::vector<Tensor> out;
        for (const TensorSpec& spec : specs(tokens)) {
            if (spec.dtype == f32) out.push_back(weights(spec.shape, 1));
        }
        out.push_back(Tensor::from(std::vector<std::int64_t>{0, 0, tokens}, {1, 3}));
        return out;
    }

   private:
    struct Lora {
        Tensor down, up, bias;
    };
    std::int64_t channels_;
    std::int64_t heads_;
    Tensor r_, k_, v_, out_, norm_, bias_, norm2_, bias2_, head_norm_, head_bias_, k_k_, k_a_, r_k_,
        key_, value_;
    Tensor mixes_[7];
    Lora decay_, rate_, gate_;
};

}  // namespace lazuli::blocks
