// Fourier transforms along one axis, as their sums say. What is fast is in
// src/backend/host/fourier.cpp.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ops/eval.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

using Complex = std::complex<double>;

TensorSpec infer_c2c(const InferArgs& args) {
    (void)ensure_axis(args.op.name, args.attrs.integer(0), args.inputs[0]->shape);
    return *args.inputs[0];
}

TensorSpec infer_r2c(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    const auto axis = static_cast<int>(ensure_axis(args.op.name, args.attrs.integer(0), out.shape));
    if (out.shape[axis] == 0) {
        throw ShapeError(
            fmt::format("{}: axis {} of {} is empty", args.op.name, axis, out.shape.str()),
            "1 or more", "0");
    }
    out.dtype = out.dtype == f64 ? c128 : c64;
    out.shape[axis] = out.shape[axis] / 2 + 1;
    return out;
}

TensorSpec infer_c2r(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    const auto axis = static_cast<int>(ensure_axis(args.op.name, args.attrs.integer(0), out.shape));
    const std::int64_t n = args.attrs.integer(1);
    if (n < 1 || n / 2 + 1 != out.shape[axis]) {
        throw ShapeError(
            fmt::format("{}: {} elements along axis {} need n / 2 + 1 frequencies, not those of {}",
                        args.op.name, n, axis, out.shape.str()),
            fmt::format("{}", n / 2 + 1), out.shape.str());
    }
    out.dtype = real_part(out.dtype);
    out.shape[axis] = n;
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

/// The transform of each line: `Spread` makes the whole line of what is stored.
template <class In, class Out, class Spread>
void evaluate_lines(const EvalArgs& args, double sign, double scale, const Spread& spread) {
    const Shape& shape = args.inputs[0].spec->shape;
    const auto axis = static_cast<int>(args.attrs.integer(0));
    const std::int64_t n = shape[axis];
    const std::int64_t to = args.spec->shape[axis];
    const In* in = args.inputs[0].as<In>();
    Out* out = args.result<Out>();
    for_each_line(shape, axis, to, [&](std::int64_t from, std::int64_t at, std::int64_t step) {
        std::vector<Complex> line;
        for (std::int64_t j = 0; j < n; ++j)
            line.push_back(static_cast<Complex>(static_cast<Compute<In>>(in[from + j * step])));
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
    const bool inverse = args.attrs.boolean(1);
    const auto n = static_cast<double>(args.spec->shape[static_cast<int>(args.attrs.integer(0))]);
    by_precision(args.spec->dtype, [&]<class R>() {
        evaluate_lines<std::complex<R>, std::complex<R>>(args, inverse ? 1 : -1,
                                                         inverse ? 1 / n : 1, [](auto&) {});
    });
}

void evaluate_r2c(const EvalArgs& args) {
    by_precision(args.spec->dtype,
                 [&]<class R>() { evaluate_lines<R, std::complex<R>>(args, -1, 1, [](auto&) {}); });
}

void evaluate_c2r(const EvalArgs& args) {
    const auto n = static_cast<std::size_t>(args.attrs.integer(1));
    by_precision(args.spec->dtype, [&]<class R>() {
        evaluate_lines<std::complex<R>, R>(args, 1, 1 / static_cast<double>(n),
                                           [&](std::vector<Complex>& line) {
                                               // The other half mirrors this one; what mirrors
                                               // itself is real.
                                               line[0] = line[0].real();
                                               if (n % 2 == 0) line[n / 2] = line[n / 2].real();
                                               for (std::size_t k = line.size(); k < n; ++k)
                                                   line.push_back(std::conj(line[n - k]));
                                           });
    });
}

}  // namespace

std::vector<OpDef> fourier() {
    const Sample sample{.low = -1, .high = 1, .edges = false};
    const Tolerance tolerance{.ulps = 64, .absolute = 2e-5};
    return {
        {
            .name = "fft_c2c",
            .doc = "The Fourier transform along an axis: sums of elements times "
                   "exp(-2 pi i j k / n), or the inverse, with the other sign and divided by n.",
            .edge = "NaN and infinity spread along their line. Of an empty axis nothing.",
            .traits = Trait::keep_if_held | Trait::sensitive,
            .dtypes = kComplex,
            .attrs = {{"axis", AttrKind::integer}, {"inverse", AttrKind::boolean}},
            .infer = infer_c2c,
            .evaluate = evaluate_c2c,
            .tolerance = tolerance,
            .sample = sample,
            .cases = {{{{3, 8}}, {std::int64_t{1}, false}},
                      {{{6, 5}}, {std::int64_t{0}, true}},
                      {{{2, 30, 3}}, {std::int64_t{1}, false}},
                      {{{1}}, {std::int64_t{0}, false}},
                      {{{37}}, {std::int64_t{0}, true}},
                      {{{74}}, {std::int64_t{0}, false}},
                      {{{210}}, {std::int64_t{0}, false}},
                      {{{128}}, {std::int64_t{0}, true}},
                      {{{0, 4}}, {std::int64_t{1}, false}},
                      {{{2, 0}}, {std::int64_t{1}, true}}},
        },
        {
            .name = "fft_r2c",
            .doc = "The Fourier transform of reals along an axis: its first n / 2 + 1 frequencies, "
                   "of which the others are mirror images.",
            .edge = "NaN and infinity spread along their line. An empty axis is an error.",
            .traits = Trait::keep_if_held | Trait::sensitive,
            .dtypes = {f32, f64},
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_r2c,
            .evaluate = evaluate_r2c,
            .tolerance = tolerance,
            .sample = sample,
            .cases = {{{{3, 8}}, {std::int64_t{1}}},
                      {{{6, 5}}, {std::int64_t{0}}},
                      {{{5, 3}}, {std::int64_t{0}}},
                      {{{1}}, {std::int64_t{0}}},
                      {{{2}}, {std::int64_t{0}}},
                      {{{74}}, {std::int64_t{0}}},
                      {{{0, 4}}, {std::int64_t{1}}}},
        },
        {
            .name = "fft_c2r",
            .doc = "The reals, n along an axis, whose first n / 2 + 1 frequencies are given.",
            .edge = "Imaginary parts of frequency 0, and of n / 2 where n is even, count as 0. NaN "
                    "and infinity spread along their line.",
            .traits = Trait::keep_if_held | Trait::sensitive,
            .dtypes = kComplex,
            .attrs = {{"axis", AttrKind::integer}, {"n", AttrKind::integer}},
            .infer = infer_c2r,
            .evaluate = evaluate_c2r,
            .tolerance = tolerance,
            .sample = sample,
            .cases = {{{{3, 5}}, {std::int64_t{1}, std::int64_t{8}}},
                      {{{3, 5}}, {std::int64_t{1}, std::int64_t{9}}},
                      {{{4, 5}}, {std::int64_t{0}, std::int64_t{6}}},
                      {{{1}}, {std::int64_t{0}, std::int64_t{1}}},
                      {{{2}}, {std::int64_t{0}, std::int64_t{2}}},
                      {{{38}}, {std::int64_t{0}, std::int64_t{74}}},
                      {{{0, 3}}, {std::int64_t{1}, std::int64_t{4}}}},
        },
    };
}

}  // namespace lazuli::ops
