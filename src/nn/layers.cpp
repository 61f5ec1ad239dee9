#include "lazuli/nn/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/nn/init.h"
#include "lazuli/ops.h"

namespace lazuli::nn {

namespace {

void expect_sizes(std::string_view layer, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes)
        if (size < 1) throw ArgumentError(fmt::format("{}: a size of {}, below 1", layer, size));
}

Tensor as(DType dtype, const Tensor& drawn) { return tensor(drawn, dtype); }

/// Uniform up to 1 / sqrt(inputs): as PyTorch begins.
Tensor up_to_root(const Shape& shape, std::int64_t inputs, DType dtype) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    return as(dtype, init::uniform(shape, -bound, bound));
}

/// A list with an entry a dimension; one stands for all.
Ints for_all(std::string_view layer, std::string_view what, const Ints& given, int rank) {
    if (given.size() == static_cast<std::size_t>(rank)) return given;
    if (given.size() == 1) {
        Ints out;
        for (int i = 0; i < rank; ++i) out.push_back(given[0]);
        return out;
    }
    throw ArgumentError(
        fmt::format("{}: {} has {} entries, for {} dimensions", layer, what, given.size(), rank));
}

std::string list_text(const Ints& list) { return fmt::format("{}", fmt::join(list, "x")); }

}  // namespace

// ---- products and tables

Linear::Linear(std::int64_t in, std::int64_t out, const LinearOptions& options) {
    expect_sizes("Linear", {in, out});
    weight = up_to_root({out, in}, in, options.dtype);
    if (options.bias) bias = up_to_root({out}, in, options.dtype);
}

void Linear::parts(Parts& parts) {
    parts("weight", weight)("bias", bias);
    for (auto& [name, adapter] : adapters) {
        parts("lora." + name + ".down", adapter.down)("lora." + name + ".up", adapter.up);
    }
}

std::string Linear::kind() const {
    const Shape& shape = weight.shape();
    const std::string with = active.empty() ? "" : fmt::format(", lora {}", active);
    return fmt::format("Linear({}, {}{}{})", shape[1], shape[0], bias.defined() ? "" : ", no bias",
                       with);
}

Tensor Linear::operator()(const Tensor& x) const {
    const Tensor turned = weight.transpose();
    const auto found = adapters.find(active);
    if (found == adapters.end() || found->second.merged)
        return bias.defined() ? matmul_bias(x, turned, bias) : matmul(x, turned);
    const Adapter& adapter = found->second;
    const Tensor down = adapter.down.transpose();
    const Tensor up = adapter.up.transpose();
    if (adapter.dropout > 0 && is_training()) {
        const Tensor seen = dropout(x, adapter.dropout, next_key());
        const Tensor plain = bias.defined() ? matmul_bias(x, turned, bias) : matmul(x, turned);
        return plain + matmul(matmul(seen, down), up) * adapter.scale;
    }
    const Tensor out = lora(x, turned, down, up, adapter.scale);
    return bias.defined() ? out + bias : out;
}

Embedding::Embedding(std::int64_t rows, std::int64_t width, DType dtype) {
    expect_sizes("Embedding", {rows, width});
    weight = as(dtype, init::normal({rows, width}));
}
void Embedding::parts(Parts& parts) { parts("weight", weight); }
std::string Embedding::kind() const {
    return fmt::format("Embedding({}, {})", weight.size(0), weight.size(1));
}
Tensor Embedding::operator()(const Tensor& ids) const { return embedding(weight, ids); }

// ---- norms

LayerNorm::LayerNorm(std::int64_t width, double eps, DType dtype)
    : weight(ones({width}, dtype)), bias(zeros({width}, dtype)), eps(eps) {
    expect_sizes("LayerNorm", {width});
}
void LayerNorm::parts(Parts& parts) { parts("weight", weight)("bias", bias); }
std::string LayerNorm::kind() const { return fmt::format("LayerNorm({})", weight.size(0)); }
Tensor LayerNorm::operator()(const Tensor& x) const { return layer_norm(x, weight, bias, eps); }

RmsNorm::RmsNorm(std::int64_t width, double eps, DType dtype)
    : weight(ones({width}, dtype)), eps(eps) {
    expect_sizes("RmsNorm", {width});
}
void RmsNorm::parts(Parts& parts) { parts("weight", weight); }
std::string RmsNorm::kind() const { return fmt::format("RmsNorm({})", weight.size(0)); }
Tensor RmsNorm::operator()(const Tensor& x) const { return rms_norm(x, weight, eps); }

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, double eps, DType dtype)
    : weight(ones({channels}, dtype)), bias(zeros({channels}, dtype)), groups(groups), eps(eps) {
    expect_sizes("GroupNorm", {groups, channels});
    if (channels % groups != 0)
        throw ArgumentError(
            fmt::format("GroupNorm: {} groups do not divide {} channels", groups, channels));
}
void GroupNorm::parts(Parts& parts) { parts("weight", weight)("bias", bias); }
std::string GroupNorm::kind() const {
    return fmt::format("GroupNorm({}, {})", groups, weight.size(0));
}
Tensor GroupNorm::operator()(const Tensor& x) const {
    return group_norm(x, weight, bias, groups, eps);
}

BatchNorm::BatchNorm(std::int64_t channels, const BatchNormOptions& options)
    : weight(ones({channels}, options.dtype)),
      bias(zeros({channels}, options.dtype)),
      running_mean(zeros({channels}, options.dtype)),
      running_var(ones({channels}, options.dtype)),
      num_batches_tracked(zeros({}, i64)),
      options(options) {
    expect_sizes("BatchNorm", {channels});
}
void BatchNorm::parts(Parts& parts) {
    parts("weight", weight)("bias", bias)("running_mean", running_mean)("running_var", running_var)(
        "num_batches_tracked", num_batches_tracked);
}
std::string BatchNorm::kind() const { return fmt::format("BatchNorm({})", weight.size(0)); }

Tensor BatchNorm::operator()(const Tensor& x) const {
    if (!is_training()) return batch_norm(x, running_mean, running_var, weight, bias, options.eps);
    if (x.rank() < 2)
        throw ShapeError(fmt::format("BatchNorm: {} has no channels", x.shape().str()),
                         "[images, channels, ...]", x.shape().str());
    Ints axes{0};
    for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
    const std::int64_t each = x.numel() / std::max<std::int64_t>(x.size(1), 1);
    if (each < 2)
        throw ShapeError(
            fmt::format("BatchNorm: {} has {} value a channel: there is no variance of that",
                        x.shape().str(), each),
            "two values a channel", x.shape().str());
    const Tensor mean = lazuli::mean(x, axes);
    const Tensor variance = var(x, axes);
    // The running variance is that of the channel, and not of this sample of it.
    const double wider = static_cast<double>(each) / static_cast<double>(each - 1);
    const auto mixed = [&](const Tensor& old, const Tensor& seen) {
        return (old * (1 - options.momentum) + stop_gradient(seen) * options.momentum)
            .cast(old.dtype());
    };
    running_mean = mixed(running_mean, mean);
    running_var = mixed(running_var, variance * wider);
    num_batches_tracked = num_batches_tracked + 1;
    return batch_norm(x, mean, variance, weight, bias, options.eps);
}

// ---- windows

Conv::Conv(std::int64_t in, std::int64_t out, Ints window, int rank, ConvOptions given)
    : options(std::move(given)) {
    const std::string name = fmt::format("Conv{}d", rank);
    window = for_all(name, "window", window, rank);
    options.stride = for_all(name, "stride", options.stride, rank);
    options.padding = for_all(name, "padding", options.padding, rank);
    options.dilation = for_all(name, "dilation", options.dilation, rank);
    expect_sizes(name, {in, out, options.groups});
    if (in % options.groups != 0 || out % options.groups != 0)
        throw ArgumentError(fmt::format("{}: {} groups do not divide {} and {} channels", name,
                                        options.groups, in, out));
    Shape shape{out, in / options.groups};
    std::int64_t inputs = in / options.groups;
    for (const std::int64_t size : window) {
        expect_sizes(name, {size});
        shape.push_back(size);
        inputs *= size;
    }
    weight = up_to_root(shape, inputs, options.dtype);
    if (options.bias) bias = up_to_root({out}, inputs, options.dtype);
}

void Conv::parts(Parts& parts) { parts("weight", weight)("bias", bias); }

std::string Conv::kind() const {
    const Shape& shape = weight.shape();
    Ints window;
    for (int axis = 2; axis < shape.rank(); ++axis) window.push_back(shape[axis]);
    return fmt::format("Conv{}d({}, {}, {})", shape.rank() - 2, shape[1] * options.groups, shape[0],
                       list_text(window));
}

Tensor Conv::operator()(const Tensor& x) const {
    const Tensor out =
        convolution(x, weight, options.stride, options.padding, options.dilation, options.groups);
    if (!bias.defined()) return out;
    Shape shape{bias.size(0)};
    for (int axis = 2; axis < weight.rank(); ++axis) shape.push_back(1);
    return out + reshape(bias, shape);
}

std::string MaxPool::kind() const { return fmt::format("MaxPool({})", list_text(window_)); }
Tensor MaxPool::operator()(const Tensor& x) const {
    return max_pool(x, window_, options_.strides, options_.padding);
}
std::string AvgPool::kind() const { return fmt::format("AvgPool({})", list_text(window_)); }
Tensor AvgPool::operator()(const Tensor& x) const {
    return avg_pool(x, window_, options_.strides, options_.padding);
}

// ---- dropout

Dropout::Dropout(double p) : p(p) {
    if (!(p >= 0 && p < 1))
        throw ArgumentError(fmt::format("Dropout: a share of {}, not from 0 to below 1", p));
}
std::string Dropout::kind() const { return fmt::format("Dropout({})", p); }
Tensor Dropout::operator()(const Tensor& x) const {
    return is_training() && p > 0 ? dropout(x, p, next_key()) : x;
}

}  // namespace lazuli::nn
