#pragma once

/// @file
/// Layers: products, tables, norms, convolutions, pooling and dropout. Weights lie as PyTorch has
/// them, and have its names.

#include <map>
#include <string>

#include "lazuli/nn/module.h"

namespace lazuli::nn {

/// A product of low rank beside a frozen weight: Hu et al., 2021. lora.h puts adapters into models.
struct Adapter {
    Parameter down;           ///< [rank, in].
    Parameter up;             ///< [out, rank].
    double scale = 1;         ///< Alpha / rank.
    double dropout = 0;       ///< The share of inputs that training drops.
    Tensor merged_into = {};  ///< The weight as it was before the adapter was merged into it.
    bool merged = false;      ///< Whether it is part of the weight now.
};

/// What a Linear layer has beside its sizes.
struct LinearOptions {
    bool bias = true;   ///< Whether something is added.
    DType dtype = f32;  ///< Of its parameters.
};
/// x @ weight^T + bias, on the last axis.
class Linear : public Layer {
   public:
    Parameter weight;  ///< [out, in].
    Parameter bias;    ///< [out], or none.
    /// Adapters by name; the one that is `active` counts.
    std::map<std::string, Adapter> adapters = {};
    /// The adapter in use; empty: none.
    std::string active = {};

    /// Weight and bias uniform up to 1 / sqrt(in).
    Linear(std::int64_t in, std::int64_t out, const LinearOptions& options = {});
    void parts(Parts& parts) override;
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;
};

/// A table of rows, picked by ids.
class Embedding : public Layer {
   public:
    Parameter weight;  ///< [rows, width].

    /// Normal with deviation 1.
    Embedding(std::int64_t rows, std::int64_t width, DType dtype = f32);
    void parts(Parts& parts) override;
    std::string kind() const override;
    /// Rows for ids of any shape, integers.
    Tensor operator()(const Tensor& ids) const override;
};

/// The last axis brought to mean 0 and variance 1, scaled and shifted.
class LayerNorm : public Layer {
   public:
    Parameter weight;  ///< [width], ones at first.
    Parameter bias;    ///< [width], zeros at first.
    double eps;        ///< Added to the variance.

    /// Of this width.
    explicit LayerNorm(std::int64_t width, double eps = 1e-5, DType dtype = f32);
    void parts(Parts& parts) override;
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;
};

/// The last axis divided by its root mean square, scaled.
class RmsNorm : public Layer {
   public:
    Parameter weight;  ///< [width], ones at first.
    double eps;        ///< Added to the mean square.

    /// Of this width.
    explicit RmsNorm(std::int64_t width, double eps = 1e-6, DType dtype = f32);
    void parts(Parts& parts) override;
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;
};

/// Groups of channels of [images, channels, sizes...] brought to mean 0 and variance 1.
class GroupNorm : public Layer {
   public:
    Parameter weight;     ///< [channels], ones at first.
    Parameter bias;       ///< [channels], zeros at first.
    std::int64_t groups;  ///< That the channels are in.
    double eps;           ///< Added to the variance.

    /// ArgumentError where the groups do not divide the channels.
    GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5, DType dtype = f32);
    void parts(Parts& parts) override;
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;
};

/// What a BatchNorm has beside its channels.
struct BatchNormOptions {
    double eps = 1e-5;      ///< Added to the variance.
    double momentum = 0.1;  ///< The share of a batch in the running figures.
    DType dtype = f32;      ///< Of its parameters.
};
/// Channels of [images, channels, sizes...] brought to mean 0 and variance 1: over the batch in
/// training, where running figures are kept, and by those else. A call in training changes the
/// running figures, and must not be made by two threads at once.
class BatchNorm : public Layer {
   public:
    Parameter weight;                    ///< [channels], ones at first.
    Parameter bias;                      ///< [channels], zeros at first.
    mutable Tensor running_mean;         ///< [channels], of the batches so far.
    mutable Tensor running_var;          ///< [channels], of the batches so far.
    mutable Tensor num_batches_tracked;  ///< How many there were; i64.
    BatchNormOptions options;            ///< As given.

    /// Of so many channels.
    explicit BatchNorm(std::int64_t channels, const BatchNormOptions& options = {});
    void parts(Parts& parts) override;
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;
};

/// What a convolution has beside channels and window. Lists of one entry stand for all dimensions.
struct ConvOptions {
    Ints stride = {1};        ///< Steps between windows.
    Ints padding = {0};       ///< Zeros on either side.
    Ints dilation = {1};      ///< Steps within a window.
    std::int64_t groups = 1;  ///< Of channels that do not see each other.
    bool bias = true;         ///< Whether something is added.
    DType dtype = f32;        ///< Of its parameters.
};
/// A convolution over the dimensions behind the channels.
class Conv : public Layer {
   public:
    Parameter weight;     ///< [out, in / groups, window...].
    Parameter bias;       ///< [out], or none.
    ConvOptions options;  ///< With an entry a dimension.

    void parts(Parts& parts) override;
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;

   protected:
    /// With a window of that many dimensions.
    Conv(std::int64_t in, std::int64_t out, Ints window, int rank, ConvOptions options);
};
/// Over [images, channels, length].
class Conv1d : public Conv {
   public:
    /// With a window of this length.
    Conv1d(std::int64_t in, std::int64_t out, std::int64_t window, ConvOptions options = {})
        : Conv(in, out, {window}, 1, std::move(options)) {}
};
/// Over [images, channels, height, width].
class Conv2d : public Conv {
   public:
    /// With a window of these sizes; one stands for both.
    Conv2d(std::int64_t in, std::int64_t out, Ints window, ConvOptions options = {})
        : Conv(in, out, std::move(window), 2, std::move(options)) {}
};

/// How windows are pooled; strides that are left out are the window.
struct PoolOptions {
    Ints strides = {};  ///< Steps between windows.
    Ints padding = {};  ///< On either side.
};
/// Largest elements of windows; as many dimensions as the window has entries.
class MaxPool : public Layer {
   public:
    /// With a window.
    explicit MaxPool(Ints window, PoolOptions options = {})
        : window_(std::move(window)), options_(std::move(options)) {}
    void parts(Parts&) override {}
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;

   private:
    Ints window_;
    PoolOptions options_;
};
/// Means of windows; as many dimensions as the window has entries.
class AvgPool : public Layer {
   public:
    /// With a window.
    explicit AvgPool(Ints window, PoolOptions options = {})
        : window_(std::move(window)), options_(std::move(options)) {}
    void parts(Parts&) override {}
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;

   private:
    Ints window_;
    PoolOptions options_;
};

/// In training sets a share of elements to 0 and scales the others up; else hands them on. Keys are
/// drawn as `rand` does: a SeedScope makes them repeatable.
class Dropout : public Layer {
   public:
    double p;  ///< The share.

    /// ArgumentError for a share that is not from 0 to below 1.
    explicit Dropout(double p = 0.5);
    void parts(Parts&) override {}
    std::string kind() const override;
    Tensor operator()(const Tensor& x) const override;
};

}  // namespace lazuli::nn
