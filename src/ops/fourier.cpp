// Fourier transforms along one axis, as their sums say. What is fast is in
// src/backend/host/fourier.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

using Complex = std::complex<double>;

enum : int { kAxis, kLength, kInverse, kFull = kInverse };  // the scale is the last

/// Throws where fewer than `least` elements are to be transformed.
std::int64_t length_of(const InferArgs& args, std::int64_t least) {
    const std::int64_t n = args.attrs.integer(kLength);
    if (n < least) {
        throw ArgumentError(fmt::format("{}: n {} must be at least {} (axis {} of {})",
                                        args.op.name, n, least, axis_of(args),
                                        args.inputs[0]->shape.str()));
    }
    return n;
}

TensorSpec infer_c2c(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    out.shape[axis_of(args)] = length_of(args, 0);
    return out;
}

TensorSpec infer_r2c(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    const std::int64_t n = length_of(args, 1);
    out.dtype = out.dtype == f64 ? c128 : c64;
    out.shape[axis_of(args)] = args.attrs.boolean(kFull) ? n : n / 2 + 1;
    return out;
}

TensorSpec infer_c2r(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    out.dtype = real_part(out.dtype);
    out.shape[axis_of(args)] = length_of(args, 1);
    return out;
}

/// exp(sign 2 pi i k / n) for k from 0 to n.
std::vector<Complex> turns(std::int64_t n, double sign) {
    std::vector<Complex> out;
    for (std::int64_t k = 0; k < n; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
        out.emplace_back(std::cos(angle), sign * std::sin(angle));
    }
    return out;
}

/// sum over j of x[j] exp(sign 2 pi i j k / n), for the first `wanted` k.
std::vector<Complex> transform(const std::vector<Complex>& x, std::size_t wanted, double sign) {
    const std::vector<Complex> turn = turns(static_cast<std::int64_t>(x.size()), sign);
    std::vector<Complex> out(wanted);
    for (std::size_t k = 0; k < wanted; ++k) {
        for (std::size_t j = 0; j < x.size(); ++j) out[k] += x[j] * turn[j * k % x.size()];
    }
    return out;
}

/// Calls f with the offsets at which each line along the axis starts: in the operand, and in the
/// result, whose lines are `to` long; and with the step from one element of a line to the next.
template <class F>
void for_each_line(const Shape& shape, int axis, std::int64_t to, F&& f) {
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i)
            f(o * shape[axis] * inner + i, o * to * inner + i, inner);
    }
}

/// The transform of each line, of which `taken` elements are read, or zeros where there are fewer:
/// `spread` makes the whole line of them.
template <class In, class Out, class Spread>
void evaluate_lines(const EvalArgs& args, std::int64_t taken, double sign, double scale,
                    const Spread& spread) {
    const Shape& shape = args.inputs[0].spec->shape;
    const auto axis = static_cast<int>(args.attrs.integer(kAxis));
    const std::int64_t there = shape[axis];
    const std::int64_t to = args.spec->shape[axis];
    const In* in = args.inputs[0].as<In>();
    Out* out = args.result<Out>();
    for_each_line(shape, axis, to, [&](std::int64_t from, std::int64_t at, std::int64_t step) {
        std::vector<Complex> line(static_cast<std::size_t>(taken));
        for (std::int64_t j = 0; j < std::min(taken, there); ++j)
            line[static_cast<std::size_t>(j)] =
                static_cast<Complex>(static_cast<Compute<In>>(in[from + j * step]));
        spread(line);
        const auto done = transform(line, static_cast<std::size_t>(to), sign);
        for (std::int64_t k = 0; k < to; ++k) {
            const Complex value = done[static_cast<std::size_t>(k)] * scale;
            if constexpr (is_complex_v<Out>) {
                out[at + k * step] = convert<Out>(value);
            } else {
                out[at + k * step] = convert<Out>(value.real());
            }
        }
    });
}

template <class F>
void by_precision(DType dtype, F&& f) {
    if (real_part(dtype) == f64) {
        f.template operator()<double>();
    } else {
        f.template operator()<float>();
    }
}

void evaluate_c2c(const EvalArgs& args) {
    by_precision(args.spec->dtype, [&]<class R>() {
        evaluate_lines<std::complex<R>, std::complex<R>>(args, args.attrs.integer(kLength),
                                                         args.attrs.boolean(kInverse) ? 1 : -1,
                                                         args.attrs.real(3), [](auto&) {});
    });
}

void evaluate_r2c(const EvalArgs& args) {
    by_precision(args.spec->dtype, [&]<class R>() {
        evaluate_lines<R, std::complex<R>>(args, args.attrs.integer(kLength), -1,
                                           args.attrs.real(3), [](auto&) {});
    });
}

void evaluate_c2r(const EvalArgs& args) {
    const auto n = static_cast<std::size_t>(args.attrs.integer(kLength));
    by_precision(args.spec->dtype, [&]<class R>() {
        evaluate_lines<std::complex<R>, R>(args, static_cast<std::int64_t>(n / 2 + 1), 1,
                                           args.attrs.real(2), [&](std::vector<Complex>& line) {
                                               // The other half mirrors this one; what mirrors
                                               // itself is real.
                                               line[0] = line[0].real();
                                               if (n % 2 == 0) line[n / 2] = line[n / 2].real();
                                               for (std::size_t k = line.size(); k < n; ++k)
                                                   line.push_back(std::conj(line[n - k]));
                                               line.resize(n);
                                           });
    });
}

// ---- gradients: transforms in the other direction

Value fft_c2c(const Value& x, std::int64_t axis, std::int64_t n, bool inverse, double scale) {
    return call("fft_c2c", x, axis, n, inverse, scale);
}

/// The line that was read: the first elements, or zeros behind them.
Value to_operand(const GradientArgs& g, const Value& x) {
    const int axis = axis_of(g.call);
    const Dim more = g[0].shape().dim(axis) - x.shape().dim(axis);
    if (more == Dim(0)) return x;
    const Ints none = Shape::filled(x.shape().rank(), 0);
    Ints after = none;
    after.set(axis, more);
    return padded(x, none, after, Scalar(0).as(x.dtype()));
}

/// Halves of a line of frequencies: each but those that mirror themselves, times a factor.
Value with_mirrored_times(const GradientArgs& g, const Value& x, double factor) {
    const int axis = axis_of(g.call);
    const std::int64_t n = g.call.attrs.integer(kLength);
    Shape line = Shape::filled(x.shape().rank(), 1);
    line[axis] = x.shape()[axis];
    const Value k = positions(g.builder, line, axis, i64);
    const Value alone = logical_or(eq(k, constant_like(k, 0)), eq(k + k, constant_like(k, n)));
    return select(alone, x, x * factor);
}

Gradients c2c_gradient(const GradientArgs& g) {
    const Attrs& attrs = g.call.attrs;
    return {to_operand(g, fft_c2c(g.cotangent(), axis_of(g.call), attrs.integer(kLength),
                                  !attrs.boolean(kInverse), attrs.real(3)))};
}

Gradients r2c_gradient(const GradientArgs& g) {
    const std::int64_t axis = axis_of(g.call);
    const std::int64_t n = g.call.attrs.integer(kLength);
    const double scale = g.call.attrs.real(3);
    if (g.call.attrs.boolean(kFull))
        return {to_operand(g, real(fft_c2c(g.cotangent(), axis, n, true, scale)))};
    // Mirror images, which fft_c2r adds, are not there.
    const Value half = with_mirrored_times(g, g.cotangent(), 0.5);
    return {to_operand(g, call("fft_c2r", half, axis, n, scale))};
}

Gradients c2r_gradient(const GradientArgs& g) {
    const std::int64_t axis = axis_of(g.call);
    const std::int64_t n = g.call.attrs.integer(kLength);
    const Value half = call("fft_r2c", g.cotangent(), axis, n, false, g.call.attrs.real(2));
    return {to_operand(g, with_mirrored_times(g, half, 2))};
}

}  // namespace

// Sensitive, since how far NaN and infinity spread along a line depends on the length's factors,
// and which digits cancel on the order of sums: drawn programs could not be compared bit by bit.
std::vector<OpDef> fourier() {
    const Sample sample{.low = -1, .high = 1, .edges = false};
    const Tolerance tolerance{.ulps = 64, .absolute = 2e-5};
    return {
        {
            .name = "fft_c2c",
            .doc = "The Fourier transform of n elements along an axis: sums of elements times "
                   "exp(-2 pi i j k / n), or with the other sign, times a scale.",
            .edge = "Of more than n elements the first n count; fewer are followed by zeros. NaN "
                    "and infinity spread along their line. Where n is 0 nothing.",
            .traits = Trait::keep_if_held | Trait::sensitive,
            .dtypes = kComplex,
            .attrs = {{"axis", AttrKind::integer},
                      {"n", AttrKind::integer},
                      {"inverse", AttrKind::boolean},
                      {"scale", AttrKind::real}},
            .infer = infer_c2c,
            .evaluate = evaluate_c2c,
            .gradient = c2c_gradient,
            .tolerance = tolerance,
            .sample = sample,
            .cases = {{{{3, 8}}, {std::int64_t{1}, std::int64_t{8}, false, 1.0}},
                      {{{6, 5}}, {std::int64_t{0}, std::int64_t{6}, true, 0.25}},
                      {{{2, 30, 3}}, {std::int64_t{1}, std::int64_t{30}, false, 1.0}},
                      {{{1}}, {std::int64_t{0}, std::int64_t{1}, false, 1.0}},
                      {{{37}}, {std::int64_t{0}, std::int64_t{37}, true, 1.0}},
                      {{{74}}, {std::int64_t{0}, std::int64_t{74}, false, 1.0}},
                      {{{210}}, {std::int64_t{0}, std::int64_t{210}, false, 0.5}},
                      {{{128}}, {std::int64_t{0}, std::int64_t{128}, true, 1.0}},
                      {{{3, 8}}, {std::int64_t{1}, std::int64_t{5}, false, 1.0}},
                      {{{5, 3}}, {std::int64_t{0}, std::int64_t{12}, true, 1.0}},
                      {{{2, 0}}, {std::int64_t{1}, std::int64_t{3}, false, 1.0}},
                      {{{0, 4}}, {std::int64_t{1}, std::int64_t{4}, false, 1.0}},
                      {{{2, 0}}, {std::int64_t{1}, std::int64_t{0}, true, 1.0}}},
        },
        {
            .name = "fft_r2c",
            .doc = "The Fourier transform of n reals along an axis, times a scale: its first n / 2 "
                   "+ 1 frequencies, or all, of which the others are mirror images.",
            .edge = "Of more than n elements the first n count; fewer are followed by zeros. NaN "
                    "and infinity spread along their line. Where n is 0 an error.",
            .traits = Trait::keep_if_held | Trait::sensitive,
            .dtypes = {f32, f64},
            .attrs = {{"axis", AttrKind::integer},
                      {"n", AttrKind::integer},
                      {"full", AttrKind::boolean},
                      {"scale", AttrKind::real}},
            .infer = infer_r2c,
            .evaluate = evaluate_r2c,
            .gradient = r2c_gradient,
            .tolerance = tolerance,
            .sample = sample,
            .cases = {{{{3, 8}}, {std::int64_t{1}, std::int64_t{8}, false, 1.0}},
                      {{{6, 5}}, {std::int64_t{0}, std::int64_t{6}, true, 0.5}},
                      {{{5, 3}}, {std::int64_t{0}, std::int64_t{5}, false, 1.0}},
                      {{{5, 3}}, {std::int64_t{0}, std::int64_t{5}, true, 1.0}},
                      {{{1}}, {std::int64_t{0}, std::int64_t{1}, false, 1.0}},
                      {{{2}}, {std::int64_t{0}, std::int64_t{2}, true, 1.0}},
                      {{{74}}, {std::int64_t{0}, std::int64_t{74}, false, 1.0}},
                      {{{9, 3}}, {std::int64_t{0}, std::int64_t{6}, true, 1.0}},
                      {{{4}}, {std::int64_t{0}, std::int64_t{7}, false, 1.0}},
                      {{{0, 4}}, {std::int64_t{1}, std::int64_t{4}, false, 1.0}}},
        },
        {
            .name = "fft_c2r",
            .doc = "The n reals along an axis, times a scale, that are the sums of n frequencies "
                   "times exp(2 pi i j k / n), of which the first n / 2 + 1 are given.",
            .edge = "Of more frequencies the first n / 2 + 1 count; fewer are followed by zeros. "
                    "Imaginary parts of frequency 0, and of n / 2 where n is even, count as 0. NaN "
                    "and infinity spread along their line.",
            .traits = Trait::keep_if_held | Trait::sensitive,
            .dtypes = kComplex,
            .attrs = {{"axis", AttrKind::integer},
                      {"n", AttrKind::integer},
                      {"scale", AttrKind::real}},
            .infer = infer_c2r,
            .evaluate = evaluate_c2r,
            .gradient = c2r_gradient,
            .tolerance = tolerance,
            .sample = sample,
            .cases = {{{{3, 5}}, {std::int64_t{1}, std::int64_t{8}, 0.125}},
                      {{{3, 5}}, {std::int64_t{1}, std::int64_t{9}, 1.0}},
                      {{{4, 5}}, {std::int64_t{0}, std::int64_t{6}, 1.0}},
                      {{{1}}, {std::int64_t{0}, std::int64_t{1}, 1.0}},
                      {{{2}}, {std::int64_t{0}, std::int64_t{2}, 0.5}},
                      {{{38}}, {std::int64_t{0}, std::int64_t{74}, 1.0}},
                      {{{3, 2}}, {std::int64_t{0}, std::int64_t{12}, 1.0}},
                      {{{2, 0}}, {std::int64_t{1}, std::int64_t{3}, 1.0}},
                      {{{0, 3}}, {std::int64_t{1}, std::int64_t{4}, 1.0}}},
        },
    };
}

}  // namespace lazuli::ops
