#include "lazuli/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "lazuli/error.h"
#include "lazuli/linalg.h"
#include "lazuli/ops.h"

namespace lazuli::nn::init {

namespace {

Tensor key_or_next(const Tensor& key) { return key.defined() ? key : next_key(); }

}  // namespace

Fans fans(const Shape& shape) {
    if (shape.rank() < 2)
        throw ArgumentError(fmt::format(
            "fans: {} is no weight: it has no axes for results and inputs", shape.str()));
    std::int64_t window = 1;
    for (int axis = 2; axis < shape.rank(); ++axis) window *= shape[axis];
    return {shape[1] * window, shape[0] * window};
}

Tensor uniform(const Shape& shape, double low, double high, const Tensor& key) {
    return rand(key_or_next(key), shape) * (high - low) + low;
}

Tensor normal(const Shape& shape, double deviation, double mean, const Tensor& key) {
    const Tensor out = randn(key_or_next(key), shape) * deviation;
    return mean == 0 ? out : out + mean;
}

Tensor truncated_normal(const Shape& shape, double deviation, const Tensor& key) {
    // The inverse of the distribution function, on the part of it that lies within two deviations.
    const double edge = std::erf(2 / std::sqrt(2.0));
    const Tensor u = rand(key_or_next(key), shape) * (2 * edge) - edge;
    return clamp(erfinv(u) * (std::sqrt(2.0) * deviation), -2 * deviation, 2 * deviation);
}

Tensor xavier_uniform(const Shape& shape, double gain, const Tensor& key) {
    const auto [in, out] = fans(shape);
    const double bound = gain * std::sqrt(6.0 / static_cast<double>(in + out));
    return uniform(shape, -bound, bound, key);
}

Tensor xavier_normal(const Shape& shape, double gain, const Tensor& key) {
    const auto [in, out] = fans(shape);
    return normal(shape, gain * std::sqrt(2.0 / static_cast<double>(in + out)), 0, key);
}

Tensor kaiming_uniform(const Shape& shape, double gain, const Tensor& key) {
    const double bound = gain * std::sqrt(3.0 / static_cast<double>(fans(shape).in));
    return uniform(shape, -bound, bound, key);
}

Tensor kaiming_normal(const Shape& shape, double gain, const Tensor& key) {
    return normal(shape, gain / std::sqrt(static_cast<double>(fans(shape).in)), 0, key);
}

Tensor orthogonal(const Shape& shape, double gain, const Tensor& key) {
    const std::int64_t rows = shape.rank() < 2 ? 0 : shape[0];
    const std::int64_t columns = fans(shape).in;
    const Tensor drawn =
        randn(key_or_next(key), {std::max(rows, columns), std::min(rows, columns)});
    const Tensor q = linalg::qr(drawn).q;
    return reshape((rows < columns ? q.transpose() : q) * gain, shape);
}

}  // namespace lazuli::nn::init
