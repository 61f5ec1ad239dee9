#pragma once

/// @file
/// Fourier transforms along axes. Results are c64 for f32 and c64, c128 for f64 and c128; integers,
/// bool and narrow floats are transformed as f32. Any length is fast.

#include "lazuli/tensor.h"

namespace lazuli::fft {

/// By what a transform of n elements is multiplied.
enum class Norm : std::uint8_t {
    backward,  ///< The inverse by 1 / n.
    ortho,     ///< Both by 1 / sqrt(n).
    forward,   ///< The transform by 1 / n, the inverse by nothing.
};

/// A transform along one axis.
struct Options {
    std::int64_t n = -1;         ///< Elements of the longer side: input is cut or filled up with
                                 ///< zeros; -1: as many as there are.
    Axis axis = -1;              ///< The axis.
    Norm norm = Norm::backward;  ///< The factor.
};

/// A transform along several axes, the last of them first.
struct OptionsN {
    Ints sizes = {};             ///< As `n` of each axis; none: as many as there are.
    Axes axes = {};              ///< The axes; none given: all, or the last ones that `sizes` has.
    Norm norm = Norm::backward;  ///< The factor.
};

/// The transform: sums of x[j] exp(-2 pi i j k / n).
Tensor fft(const Tensor& x, Options options = {});
/// The inverse of `fft`.
Tensor ifft(const Tensor& x, Options options = {});
/// The first n / 2 + 1 frequencies of reals; the others mirror them.
Tensor rfft(const Tensor& x, Options options = {});
/// The inverse of `rfft`: n reals; where n is not given, twice the frequencies less 2.
Tensor irfft(const Tensor& x, Options options = {});
/// `fft` along several axes.
Tensor fftn(const Tensor& x, const OptionsN& options = {});
/// The inverse of `fftn`.
Tensor ifftn(const Tensor& x, const OptionsN& options = {});
/// `rfft` along the last of several axes, `fft` along the others.
Tensor rfftn(const Tensor& x, const OptionsN& options = {});
/// The inverse of `rfftn`.
Tensor irfftn(const Tensor& x, const OptionsN& options = {});
/// `fftn` along the last two axes.
Tensor fft2(const Tensor& x);
/// The inverse of `fft2`.
Tensor ifft2(const Tensor& x);

}  // namespace lazuli::fft
