#include "lazuli/nn/rwkv7.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/nn/init.h"
#include "lazuli/ops.h"
#include "lazuli/rwkv7.h"

namespace lazuli::nn {

namespace {

/// Ranks grow with the root of the width, in steps of 32: 1.8, 1.8, 1.3 and 0.6 * width^0.8.
std::int64_t rank_or(std::int64_t given, double factor, double power, std::int64_t width) {
    if (given > 0) return given;
    const double wanted = factor * std::pow(static_cast<double>(width), power);
    return std::max<std::int64_t>(32, 32 * std::llround(wanted / 32));
}

Rwkv7Options checked(Rwkv7Options options) {
    if (options.head_size < 1 || options.width < 1 || options.width % options.head_size != 0)
        throw ArgumentError(fmt::format("Rwkv7: heads of {} do not divide a width of {}",
                                        options.head_size, options.width));
    if (options.hidden == 0) options.hidden = 4 * options.width;
    options.decay_rank = rank_or(options.decay_rank, 1.8, 0.5, options.width);
    options.rate_rank = rank_or(options.rate_rank, 1.8, 0.5, options.width);
    options.value_rank = rank_or(options.value_rank, 1.3, 0.5, options.width);
    options.gate_rank = rank_or(options.gate_rank, 0.6, 0.8, options.width);
    return options;
}

/// The channels' place from 0 to below 1.
Tensor places(std::int64_t width) { return arange(width).cast(f32) / static_cast<double>(width); }

/// Later channels see less of the token before, and later layers less than early ones.
Tensor mix_at_first(const Rwkv7Options& options, std::int64_t layer, double power) {
    const double depth = 1 - static_cast<double>(layer) /
                                 static_cast<double>(std::max<std::int64_t>(1, options.layers));
    return tensor(1.0 - pow(places(options.width), power * depth), options.dtype);
}

/// From slow to fast over the channels.
Tensor decay_at_first(const Rwkv7Options& options, std::int64_t layer) {
    const double depth = static_cast<double>(layer) /
                         static_cast<double>(std::max<std::int64_t>(1, options.layers - 1));
    const auto last = static_cast<double>(std::max<std::int64_t>(1, options.width - 1));
    const Tensor place = arange(options.width).cast(f32) / last;
    return tensor(pow(place, 0.85 + std::sqrt(depth)) * 5.0 - 6.5, options.dtype);
}

Tensor zero(const Shape& shape, DType dtype) { return zeros(shape, dtype); }

Linear product(std::int64_t in, std::int64_t out, DType dtype, double bound) {
    Linear made(in, out, {.bias = false, .dtype = dtype});
    const double limit = bound / std::sqrt(static_cast<double>(in));
    made.weight = bound == 0 ? zeros({out, in}, dtype)
                             : tensor(init::uniform({out, in}, -limit, limit), dtype);
    return made;
}

/// Each token's difference to the one before it; the first has 0 before it.
Tensor to_before(const Tensor& x) { return pad(x, {0, 1, 0}, {0, -1, 0}) - x; }

Tensor mixed(const Tensor& x, const Tensor& change, const Tensor& share) {
    return x + change * share;
}

}  // namespace

Rwkv7TimeMix::Rwkv7TimeMix(const Rwkv7Options& given, std::int64_t layer)
    : receptance(product(given.width, given.width, given.dtype, 0.5)),
      key(product(given.width, given.width, given.dtype, 0.05)),
      value(product(given.width, given.width, given.dtype, 0.5)),
      output(product(given.width, given.width, given.dtype, 0)),
      ln_x(given.width, 64e-5, given.dtype),
      heads(given.width / given.head_size),
      is_first(layer == 0) {
    const Rwkv7Options options = checked(given);
    const std::int64_t width = options.width;
    const DType dtype = options.dtype;
    const auto second = [&](std::int64_t rank) {
        return tensor(init::orthogonal({rank, width}, 0.1), dtype);
    };
    x_r = mix_at_first(options, layer, 0.2);
    x_w = mix_at_first(options, layer, 0.9);
    x_k = mix_at_first(options, layer, 0.7);
    x_v = mix_at_first(options, layer, 0.7);
    x_a = mix_at_first(options, layer, 0.9);
    x_g = mix_at_first(options, layer, 0.2);
    w0 = decay_at_first(options, layer);
    w1 = zero({width, options.decay_rank}, dtype);
    w2 = second(options.decay_rank);
    a0 = zero({width}, dtype);
    a1 = zero({width, options.rate_rank}, dtype);
    a2 = second(options.rate_rank);
    if (!is_first) {
        v0 = ones({width}, dtype);
        v1 = zero({width, options.value_rank}, dtype);
        v2 = second(options.value_rank);
    }
    g1 = zero({width, options.gate_rank}, dtype);
    g2 = second(options.gate_rank);
    k_k = full({width}, 0.85, dtype);
    k_a = ones({width}, dtype);
    r_k = zero({heads, options.head_size}, dtype);
}

void Rwkv7TimeMix::parts(Parts& parts) {
    parts("x_r", x_r)("x_w", x_w)("x_k", x_k)("x_v", x_v)("x_a", x_a)("x_g", x_g);
    parts("w0", w0)("w1", w1)("w2", w2)("a0", a0)("a1", a1)("a2", a2);
    parts("v0", v0)("v1", v1)("v2", v2)("g1", g1)("g2", g2)("k_k", k_k)("k_a", k_a)("r_k", r_k);
    parts("receptance", receptance)("key", key)("value", value)("output", output)("ln_x", ln_x);
}

Tensor Rwkv7TimeMix::operator()(const Tensor& x, Tensor& first_value) const {
    const std::int64_t batch = x.size(0);
    const std::int64_t tokens = x.size(1);
    const std::int64_t width = x.size(2);
    const std::int64_t size = width / heads;
    const Tensor change = to_before(x);
    const auto by_head = [&](const Tensor& t) { return reshape(t, {batch * tokens, heads, size}); };

    const Tensor r = receptance(mixed(x, change, x_r));
    const Tensor low = matmul(tanh(matmul(mixed(x, change, x_w), w1)), w2);
    const Tensor w = exp(sigmoid((low + w0).cast(f32)) * -0.606531);
    const Tensor plain_key = key(mixed(x, change, x_k));
    const Tensor xv = mixed(x, change, x_v);
    Tensor v = value(xv);
    if (is_first) {
        first_value = v;
    } else {
        const Tensor share = sigmoid(matmul(matmul(xv, v1), v2) + v0);
        v = v + (first_value - v) * share;
    }
    const Tensor a = sigmoid(matmul(matmul(mixed(x, change, x_a), a1), a2) + a0);
    const Tensor g = matmul(sigmoid(matmul(mixed(x, change, x_g), g1)), g2);
    const Tensor direction = l2_norm(by_head(plain_key * k_k), -1, 1e-12);
    const Tensor k = control_k_v7(plain_key, a, k_a);

    const Tensor packed = pack_kvakk(by_head(k), by_head(v), by_head(a), direction);
    // A run for each sequence: its state, its first token and how many there are.
    const Tensor numbers = arange(batch);
    const Tensor runs = stack({numbers, numbers * tokens, full_like(numbers, tokens)}, 1);
    const Tensor state = zeros({batch, heads, size, size}, f32);
    const Tensor seen = time_mix_v7(by_head(r), by_head(w), packed, state, runs).output;
    const Tensor normed =
        group_norm(reshape(seen, {batch * tokens, width}), ln_x.weight, ln_x.bias, heads, ln_x.eps);
    const Tensor with_bonus =
        time_first_v7(by_head(normed), by_head(r), by_head(k), by_head(v), r_k);
    return output(reshape(with_bonus, x.shape()) * g);
}

Rwkv7ChannelMix::Rwkv7ChannelMix(const Rwkv7Options& given, std::int64_t layer)
    : key(product(given.width, checked(given).hidden, given.dtype, 0.5)),
      value(product(checked(given).hidden, given.width, given.dtype, 0)) {
    const double depth = 1 - static_cast<double>(layer) /
                                 static_cast<double>(std::max<std::int64_t>(1, given.layers));
    x_k = tensor(1.0 - pow(places(given.width), std::pow(depth, 4)), given.dtype);
}

void Rwkv7ChannelMix::parts(Parts& parts) { parts("x_k", x_k)("key", key)("value", value); }

Tensor Rwkv7ChannelMix::operator()(const Tensor& x) const {
    return value(squared_relu(key(mixed(x, to_before(x), x_k))));
}

Rwkv7Block::Rwkv7Block(const Rwkv7Options& options, std::int64_t layer)
    : ln1(options.width, 1e-5, options.dtype),
      ln2(options.width, 1e-5, options.dtype),
      att(options, layer),
      ffn(options, layer) {
    if (layer == 0) ln0.emplace(options.width, 1e-5, options.dtype);
}

void Rwkv7Block::parts(Parts& parts) {
    parts("ln0", ln0)("ln1", ln1)("ln2", ln2)("att", att)("ffn", ffn);
}

Tensor Rwkv7Block::operator()(const Tensor& x, Tensor& first_value) const {
    if (x.rank() != 3 || x.size(2) != ln1.weight.size(0))
        throw ShapeError(fmt::format("Rwkv7Block: {} is not [batch, tokens, {}]", x.shape().str(),
                                     ln1.weight.size(0)),
                         fmt::format("[batch, tokens, {}]", ln1.weight.size(0)), x.shape().str());
    const Tensor begun = ln0 ? (*ln0)(x) : x;
    const Tensor remembered = begun + att(ln1(begun), first_value);
    return remembered + ffn(ln2(remembered));
}

}  // namespace lazuli::nn
