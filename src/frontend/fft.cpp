// Fourier transforms: arguments as users have them become what the records take.

#include "lazuli/fft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"

namespace lazuli::fft {

namespace {

using frontend::Call;
using frontend::OpRef;

Tensor as_complex(std::string_view op, const Tensor& x) {
    const DType dtype = frontend::require_node(op, x).spec.dtype;
    if (is_complex(dtype)) return x;
    return x.cast(dtype == f64 ? c128 : c64);
}

Tensor as_real(std::string_view op, const Tensor& x) {
    const DType dtype = frontend::require_node(op, x).spec.dtype;
    if (is_complex(dtype))
        throw DTypeError(fmt::format("{}: reals are needed, not {}", op, x.spec().str()));
    return dtype == f32 || dtype == f64 ? x : x.cast(f32);
}

/// The axis, and the longer side's length: `there` where none is given.
struct Line {
    int axis;
    std::int64_t n;
    Line(std::string_view op, const Tensor& x, const Options& options)
        : axis(static_cast<int>(ensure_axis(op, options.axis, x.shape()))),
          n(options.n == -1 ? x.shape()[axis] : options.n) {
        if (options.n != -1 && options.n < 1) {
            throw ArgumentError(fmt::format("{}: n is {}; at least 1 is needed (axis {} of {})", op,
                                            options.n, axis, x.shape().str()));
        }
    }
};

/// What a transform of n elements is multiplied by.
double factor(std::int64_t n, Norm norm, bool inverse) {
    const auto size = static_cast<double>(std::max<std::int64_t>(n, 1));
    if (norm == Norm::ortho) return 1 / std::sqrt(size);
    return (norm == Norm::forward) == inverse ? 1 : 1 / size;
}

Tensor r2c(const Tensor& x, const Line& line, Norm norm, bool full) {
    static const OpRef op("fft_r2c");
    const Operand operand(x);
    Call call(op);
    call.arg(operand).arg(std::int64_t{line.axis}).arg(line.n).arg(full);
    return call.arg(factor(line.n, norm, false)).done();
}

Tensor c2c(const Tensor& x, const Line& line, Norm norm, bool inverse) {
    static const OpRef op("fft_c2c");
    const Operand operand(x);
    Call call(op);
    call.arg(operand).arg(std::int64_t{line.axis}).arg(line.n).arg(inverse);
    return call.arg(factor(line.n, norm, inverse)).done();
}

/// The axes of a transform along several, and their lengths (-1: as many as there are).
struct Lines {
    Ints axes, sizes;
    Lines(std::string_view op, const Tensor& x, const OptionsN& options) : sizes(options.sizes) {
        (void)frontend::require_node(op, x);
        axes = ensure_axes(op, options.axes, x.shape());
        const int rank = x.rank();
        if (!options.axes.given && !sizes.empty() && sizes.rank() <= rank) {
            axes = {};
            for (int i = rank - sizes.rank(); i < rank; ++i) axes.push_back(i);
        }
        if (sizes.empty()) sizes = Shape::filled(axes.rank(), -1);
        if (sizes.rank() != axes.rank()) {
            throw ArgumentError(fmt::format("{}: {} sizes {} for {} axes {} of {}", op,
                                            sizes.rank(), sizes.str(), axes.rank(), axes.str(),
                                            x.shape().str()));
        }
    }
    Options at(int i, Norm norm) const { return {.n = sizes[i], .axis = axes[i], .norm = norm}; }
    int count() const { return axes.rank(); }
};

void require_axes(std::string_view op, const Lines& lines) {
    if (lines.count() == 0) throw ArgumentError(fmt::format("{}: no axes are given", op));
}

// One axis, under the name of the function that was called.

Tensor fft_as(std::string_view op, const Tensor& given, const Options& options) {
    const bool complex = is_complex(frontend::require_node(op, given).spec.dtype);
    const Tensor x = complex ? given : as_real(op, given);
    const Line line(op, x, options);
    if (complex || line.n == 0) return c2c(as_complex(op, x), line, options.norm, false);
    return r2c(x, line, options.norm, true);
}

Tensor ifft_as(std::string_view op, const Tensor& given, const Options& options) {
    const Tensor x = as_complex(op, given);
    return c2c(x, Line(op, x, options), options.norm, true);
}

Tensor rfft_as(std::string_view op, const Tensor& given, const Options& options) {
    const Tensor x = as_real(op, given);
    const Line line(op, x, options);
    if (line.n == 0) {
        throw ShapeError(fmt::format("{}: axis {} of {} has no elements to transform", op,
                                     line.axis, x.shape().str()),
                         "1 or more", "0");
    }
    return r2c(x, line, options.norm, false);
}

Tensor irfft_as(std::string_view name, const Tensor& given, const Options& options) {
    static const OpRef op("fft_c2r");
    const Tensor x = as_complex(name, given);
    const Line line(name, x, options);
    const std::int64_t n = options.n == -1 ? 2 * (line.n - 1) : line.n;
    if (n < 1) {
        throw ArgumentError(fmt::format("{}: n is {}; at least 1 is needed (axis {} of {})", name,
                                        n, line.axis, x.shape().str()));
    }
    const Operand operand(x);
    Call call(op);
    call.arg(operand).arg(std::int64_t{line.axis}).arg(n);
    return call.arg(factor(n, options.norm, true)).done();
}

Tensor fftn_as(std::string_view op, const Tensor& x, const OptionsN& options) {
    const Lines lines(op, x, options);
    if (lines.count() == 0) return as_complex(op, x);
    Tensor out = x;
    for (int i = lines.count(); i-- > 0;) out = fft_as(op, out, lines.at(i, options.norm));
    return out;
}

Tensor ifftn_as(std::string_view op, const Tensor& x, const OptionsN& options) {
    const Lines lines(op, x, options);
    Tensor out = as_complex(op, x);
    for (int i = lines.count(); i-- > 0;) out = ifft_as(op, out, lines.at(i, options.norm));
    return out;
}

}  // namespace

Tensor fft(const Tensor& x, Options options) { return fft_as("fft", x, options); }

Tensor ifft(const Tensor& x, Options options) { return ifft_as("ifft", x, options); }

Tensor rfft(const Tensor& x, Options options) { return rfft_as("rfft", x, options); }

Tensor irfft(const Tensor& x, Options options) { return irfft_as("irfft", x, options); }

Tensor fftn(const Tensor& x, const OptionsN& options) { return fftn_as("fftn", x, options); }

Tensor ifftn(const Tensor& x, const OptionsN& options) { return ifftn_as("ifftn", x, options); }

Tensor rfftn(const Tensor& x, const OptionsN& options) {
    const Lines lines("rfftn", x, options);
    require_axes("rfftn", lines);
    Tensor out = rfft_as("rfftn", x, lines.at(lines.count() - 1, options.norm));
    for (int i = lines.count() - 1; i-- > 0;) out = fft_as("rfftn", out, lines.at(i, options.norm));
    return out;
}

Tensor irfftn(const Tensor& x, const OptionsN& options) {
    const Lines lines("irfftn", x, options);
    require_axes("irfftn", lines);
    Tensor out = as_complex("irfftn", x);
    for (int i = 0; i < lines.count() - 1; ++i)
        out = ifft_as("irfftn", out, lines.at(i, options.norm));
    return irfft_as("irfftn", out, lines.at(lines.count() - 1, options.norm));
}

Tensor fft2(const Tensor& x) { return fftn_as("fft2", x, {.axes = {-2, -1}}); }

Tensor ifft2(const Tensor& x) { return ifftn_as("ifft2", x, {.axes = {-2, -1}}); }

}  // namespace lazuli::fft
