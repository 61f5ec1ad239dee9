#pragma once

/// @file
/// First values of parameters. They are recorded and computed when somebody asks, so a model whose
/// weights come from a file never computes them. Without a key they draw as `randn` does.

#include "lazuli/factories.h"
#include "lazuli/tensor.h"

namespace lazuli::nn::init {

/// How many inputs one element of the result of a weight [out, in, window...] is a sum of, and how
/// many results one input is in.
struct Fans {
    std::int64_t in;   ///< Inputs of a result.
    std::int64_t out;  ///< Results of an input.
};
/// The fans of a weight; ArgumentError for one of less than two dimensions.
Fans fans(const Shape& shape);

/// Uniform from low to high.
Tensor uniform(const Shape& shape, double low, double high, const Tensor& key = {});
/// Normal, with a mean and a deviation.
Tensor normal(const Shape& shape, double deviation = 1, double mean = 0, const Tensor& key = {});
/// Normal, drawn again beyond two deviations: the tails are left out.
Tensor truncated_normal(const Shape& shape, double deviation = 1, const Tensor& key = {});
/// Uniform, with a variance of 2 / (in + out), times gain squared: Glorot and Bengio, 2010.
Tensor xavier_uniform(const Shape& shape, double gain = 1, const Tensor& key = {});
/// Normal, with the same variance.
Tensor xavier_normal(const Shape& shape, double gain = 1, const Tensor& key = {});
/// Uniform, with a variance of gain squared / in; a gain of sqrt(2) is for relu: He et al., 2015.
Tensor kaiming_uniform(const Shape& shape, double gain = 1.4142135623730951,
                       const Tensor& key = {});
/// Normal, with the same variance.
Tensor kaiming_normal(const Shape& shape, double gain = 1.4142135623730951, const Tensor& key = {});
/// Rows, or columns where there are fewer, at right angles and of length gain.
Tensor orthogonal(const Shape& shape, double gain = 1, const Tensor& key = {});

}  // namespace lazuli::nn::init
