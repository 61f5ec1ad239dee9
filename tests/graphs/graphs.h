#pragma once

// Graphs that stay: a transformer and an RWKV-7 block, forward, out of the ops there are. Weights
// are small random numbers; what counts is the shape of the graph.

#include <cmath>

#include "lazuli/lazuli.h"

namespace lazuli::tests {

/// Makes weights, each with a key of its own.
class Weights {
   public:
    Tensor operator()(Shape shape) { return (key(++made_).random_normal(shape) * 0.1).eval(); }

   private:
    std::uint64_t made_ = 0;
};

/// GPT-2's block: causal attention and a feed-forward network, each behind a norm and beside a
/// residual.
struct TransformerBlock {
    TransformerBlock(Weights& make, std::int64_t width, std::int64_t heads)
        : heads(heads),
          norm1_weight(make({width})),
          norm1_bias(make({width})),
          qkv(make({width, 3 * width})),
          qkv_bias(make({3 * width})),
          out(make({width, width})),
          out_bias(make({width})),
          norm2_weight(make({width})),
          norm2_bias(make({width})),
          up(make({width, 4 * width})),
          up_bias(make({4 * width})),
          down(make({4 * width, width})),
          down_bias(make({width})) {}

    /// x: [batch, time, width].
    Tensor operator()(const Tensor& x) const {
        const std::int64_t batch = x.size(0);
        const std::int64_t time = x.size(1);
        const std::int64_t width = x.size(2);
        const std::int64_t size = width / heads;
        const Tensor fused = x.layer_norm(norm1_weight, norm1_bias).matmul_bias(qkv, qkv_bias);
        const auto head = [&](std::int64_t which) {
            return fused(ellipsis, slice(which * width, (which + 1) * width))
                .reshape({batch, time, heads, size})
                .permute({0, 2, 1, 3});
        };
        const Tensor scores = head(0).matmul(head(1).permute({0, 1, 3, 2})) *
                              (1.0 / std::sqrt(static_cast<double>(size)));
        const Tensor row = iota({time, time}, 0);
        const Tensor column = iota({time, time}, 1);
        const Tensor masked = select(column <= row, scores, -1e9);
        const Tensor mixed =
            masked.softmax().matmul(head(2)).permute({0, 2, 1, 3}).reshape({batch, time, width});
        const Tensor h = x + mixed.matmul_bias(out, out_bias);
        return h + h.layer_norm(norm2_weight, norm2_bias)
                       .matmul_bias(up, up_bias, Activation::gelu)
                       .matmul_bias(down, down_bias);
    }

    std::int64_t heads;
    Tensor norm1_weight, norm1_bias, qkv, qkv_bias, out, out_bias;
    Tensor norm2_weight, norm2_bias, up, up_bias, down, down_bias;
};

/// RWKV-7's block for one token: time mix with its state, channel mix.
struct Rwkv7Block {
    Rwkv7Block(Weights& make, std::int64_t width, std::int64_t size)
        : heads(width / size), size(size) {
        const auto vector = [&] { return make({width}); };
        const auto matrix = [&] { return make({width, width}); };
        for (Tensor& mix : mixes) mix = vector();
        for (Tensor* t : {&w0, &a0, &v0, &k_k, &k_a, &norm1_weight, &norm1_bias, &norm2_weight,
                          &norm2_bias, &group_weight, &group_bias, &channel_mix})
            *t = vector();
        for (Tensor* t : {&receptance, &key, &value, &output}) *t = matrix();
        for (Tensor* t : {&w1, &a1, &v1, &g1}) *t = make({width, rank});
        for (Tensor* t : {&w2, &a2, &v2, &g2}) *t = make({rank, width});
        r_k = make({heads, size});
        channel_key = make({width, 4 * width});
        channel_value = make({4 * width, width});
    }

    struct State {
        Tensor time_shift, channel_shift, matrix;  // [width], [width], [heads, size, size]
    };

    /// x: [width]. `v_first` is what layer 0 had for v; empty in layer 0.
    Tensor operator()(const Tensor& x, State& state, Tensor& v_first) const {
        const Tensor xn = x.layer_norm(norm1_weight, norm1_bias);
        const auto mixed = [&](int which) {
            return xn + (state.time_shift - xn) * mixes[static_cast<std::size_t>(which)];
        };
        const Tensor xr = mixed(0), xw = mixed(1), xk = mixed(2), xv = mixed(3), xa = mixed(4),
                     xg = mixed(5);
        const Tensor r = xr.matmul(receptance);
        Tensor k = xk.matmul(key);
        Tensor v = xv.matmul(value);
        const Tensor w = ((w0 + xw.matmul(w1).tanh().matmul(w2)).sigmoid() * -0.606531).exp();
        const Tensor a = (a0 + xa.matmul(a1).matmul(a2)).sigmoid();
        const Tensor g = xg.matmul(g1).sigmoid().matmul(g2);
        const auto by_head = [&](const Tensor& t) { return t.reshape({heads, size}); };
        const Tensor direction = by_head(k * k_k);
        const Tensor length = (direction * direction).sum(-1, true).sqrt();
        const Tensor kk = direction / maximum(length, 1e-12);
        k = k * (1.0 + (a - 1.0) * k_a);
        if (!v_first.defined()) {
            v_first = v;
        } else {
            v = v + (v_first - v) * (v0 + xv.matmul(v1).matmul(v2)).sigmoid();
        }
        const Tensor removed = (state.matrix * -kk.unsqueeze(1)).sum(-1, true);
        state.matrix = state.matrix * by_head(w).unsqueeze(1) +
                       removed * (kk * by_head(a)).unsqueeze(1) +
                       by_head(v).unsqueeze(2) * by_head(k).unsqueeze(1);
        const Tensor read = (state.matrix * by_head(r).unsqueeze(1)).sum(-1);
        const Tensor centred = read - read.mean(-1, true);
        const Tensor variance = (centred * centred).mean(-1, true);
        Tensor y = (centred / (variance + 64e-5).sqrt()).reshape({heads * size}) * group_weight +
                   group_bias;
        const Tensor bonus = (by_head(r) * by_head(k) * r_k).sum(-1, true) * by_head(v);
        y = y + bonus.reshape({heads * size});
        state.time_shift = xn;
        const Tensor h = x + (y * g).matmul(output);
        const Tensor hn = h.layer_norm(norm2_weight, norm2_bias);
        const Tensor channel =
            (hn + (state.channel_shift - hn) * channel_mix).matmul(channel_key).relu();
        state.channel_shift = hn;
        return h + (channel * channel).matmul(channel_value);
    }

    static constexpr std::int64_t rank = 8;
    std::int64_t heads;
    std::int64_t size;
    Tensor mixes[6];
    Tensor w0, w1, w2, a0, a1, a2, v0, v1, v2, g1, g2, k_k, k_a, r_k;
    Tensor receptance, key, value, output, group_weight, group_bias;
    Tensor norm1_weight, norm1_bias, norm2_weight, norm2_bias;
    Tensor channel_mix, channel_key, channel_value;
};

/// The whole forward of a transformer, from [batch, time, width] to the same.
inline Tensor transformer(int layers, std::int64_t batch, std::int64_t time, std::int64_t width,
                          std::int64_t heads) {
    Weights make;
    Tensor x = make({batch, time, width});
    for (int i = 0; i < layers; ++i) x = TransformerBlock(make, width, heads)(x);
    return x;
}

/// Layers of RWKV-7 on one token.
inline Tensor rwkv7(int layers, std::int64_t width, std::int64_t size) {
    Weights make;
    Tensor x = make({width});
    Tensor v_first;
    for (int i = 0; i < layers; ++i) {
        Rwkv7Block::State state{make({width}), make({width}), make({width / size, size, size})};
        x = Rwkv7Block(make, width, size)(x, state, v_first);
    }
    return x;
}

}  // namespace lazuli::tests
