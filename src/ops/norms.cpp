// Rows brought to a common size: by their exponentials' sum, their length, their mean and variance.

#include <fmt/format.h>

#include <limits>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_axis(const InferArgs& args) {
    (void)axis_of(args);
    return *args.inputs[0];
}

Value build_log_softmax(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const int at = axis_of(args);
    if (is_empty(args, in[0].shape().dim(at))) return in[0];
    const Axes axis(at);
    const Value x = widened(in[0]);
    const Value shifted = x - max(x, axis, true);
    return narrowed(shifted - log(sum(exp(shifted), axis, true)), in[0].dtype());
}

Gradients log_softmax_gradient(const GradientArgs& g) {
    const int at = axis_of(g.call);
    if (is_empty(g.call, g[0].shape().dim(at))) return {g.cotangent()};
    const Value flow = widened(g.cotangent());
    const Value share = exp(widened(g.result)) * sum(flow, Axes(at), true);
    return {narrowed(flow - share, g[0].dtype())};
}

Value build_l2_norm(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Axes axis(axis_of(args));
    const Value x = widened(in[0]);
    const Value length = sqrt(sum(x * x, axis, true));
    return narrowed(x / maximum(length, constant_like(length, args.attrs.real(1))), in[0].dtype());
}

/// A row shorter than eps is divided by a number that does not change with it: not even its length
/// is looked at, whose slope at 0 is infinite.
Gradients l2_norm_gradient(const GradientArgs& g) {
    const Axes axis(axis_of(g.call));
    const Value x = widened(g[0]);
    const Value flow = widened(g.cotangent());
    const Value length = sqrt(sum(x * x, axis, true));
    const Value eps = constant_like(length, g.call.attrs.real(1));
    const Value is_long = gt(length, eps);
    const Value by = select(is_long, length, eps);
    const Value y = widened(g.result);
    const Value along = select(is_long, sum(flow * y, axis, true), constant_like(flow, 0));
    return {narrowed((flow - y * along) / by, g[0].dtype())};
}

/// The size along axis 1, which weights and the like have; ShapeError where one has not.
TensorSpec infer_channels(const InferArgs& args) {
    check_one_type(args, 0, args.inputs.size());
    const TensorSpec& x = *args.inputs[0];
    if (x.shape.rank() < 2) {
        throw ShapeError(
            fmt::format("{}: needs [images, channels, sizes...], given {}", args.op.name, x.str()),
            "rank >= 2", x.shape.str());
    }
    const Shape channels{x.shape.dim(1)};
    for (const TensorSpec* other : args.inputs.subspan(1)) {
        if (!(other->shape == channels)) {
            throw ShapeError(
                fmt::format("{}: operands have one element a channel, {}; given {} "
                            "for {}",
                            args.op.name, channels.str(), other->shape.str(), x.shape.str()),
                channels.str(), other->shape.str());
        }
    }
    return x;
}

TensorSpec infer_group_norm(const InferArgs& args) {
    const TensorSpec out = infer_channels(args);
    const std::int64_t groups = args.attrs.integer(0);
    check_bounds(args, {{"groups", groups, 1}}, std::numeric_limits<std::int64_t>::max());
    const Dim channels = out.shape.dim(1);
    if (equal(channels % groups, 0) != Truth::yes) {
        throw ShapeError(
            fmt::format("group_norm: {} groups {} divide the {} channels of {}", groups,
                        channels.is_concrete() ? "do not" : "need not", channels.str(), out.str()),
            "a divisor of the channels", fmt::format("{}", groups));
    }
    return out;
}

/// One number a channel, beside a tensor of [images, channels, sizes...].
Value beside_channels(const Value& x, int rank) {
    Shape shape = Shape::filled(rank, 1);
    shape.set(1, x.shape().dim(0));
    return reshape(widened(x), shape);
}

Value build_group_norm(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Shape shape = in[0].shape();
    const std::int64_t groups = args.attrs.integer(0);
    if (is_empty(args, shape.count())) return in[0];
    Dim each = shape.dim(1) / groups;
    for (int i = 2; i < shape.rank(); ++i) each = each * shape.dim(i);
    const Value x = reshape(widened(in[0]), {shape.dim(0), groups, each});
    const Value centred = x - mean(x, 2, true);
    const Value variance = mean(centred * centred, 2, true);
    const Value normal = reshape(centred * (1.0 / sqrt(variance + args.attrs.real(1))), shape);
    return narrowed(
        normal * beside_channels(in[1], shape.rank()) + beside_channels(in[2], shape.rank()),
        in[0].dtype());
}

Value build_batch_norm(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const int rank = in[0].shape().rank();
    const auto channel = [&](std::size_t i) { return beside_channels(in[i], rank); };
    const Value normal =
        (widened(in[0]) - channel(1)) * (1.0 / sqrt(channel(2) + args.attrs.real(0)));
    return narrowed(normal * channel(3) + channel(4), in[0].dtype());
}

}  // namespace

std::vector<OpDef> norms() {
    return {
        {
            .name = "log_softmax",
            .doc = "Logarithms of the softmax along an axis.",
            .edge = "The largest element is subtracted first. A row with NaN or +inf is NaN, a row "
                    "of -inf alone is NaN; -inf beside numbers stays -inf; an empty axis gives an "
                    "empty result. f16 and bf16 are computed in f32.",
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_axis,
            .implementations = {{.name = "stable", .build = build_log_softmax}},
            .gradient = log_softmax_gradient,
            .tolerance = {.ulps = 32, .absolute = 1e-6},
            .cases = {{{{3, 5}}, {std::int64_t{1}}},
                      {{{3, 5, 2}}, {std::int64_t{1}}},
                      {{{1}}, {std::int64_t{0}}},
                      {{{2, 0}}, {std::int64_t{1}}}},
        },
        {
            .name = "l2_norm",
            .doc = "Elements divided by the length of their row along an axis, the root of the sum "
                   "of squares, which is taken as eps at least.",
            .edge = "A row of zeros stays zeros. NaN or inf in a row: NaN, and 0 for what is "
                    "finite beside inf. f16 and bf16 are computed in f32; squares may overflow.",
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"axis", AttrKind::integer}, {"eps", AttrKind::real}},
            .infer = infer_axis,
            .implementations = {{.name = "formula", .build = build_l2_norm}},
            .gradient = l2_norm_gradient,
            .tolerance = {.ulps = 32, .absolute = 1e-6},
            .cases = {{{{3, 5}}, {std::int64_t{1}, 1e-12}},
                      {{{3, 5, 2}}, {std::int64_t{1}, 1e-12}},
                      {{{1}}, {std::int64_t{0}, 8.0}},
                      {{{2, 0}}, {std::int64_t{1}, 1e-12}}},
        },
        {
            .name = "group_norm",
            .doc = "Elements of each group of channels brought to mean 0 and variance 1, scaled "
                   "and shifted a channel; [images, channels, sizes...].",
            .edge = "The variance is that of the population; eps is added to it. NaN anywhere in a "
                    "group of an image makes it NaN.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"groups", AttrKind::integer}, {"eps", AttrKind::real}},
            .infer = infer_group_norm,
            .implementations = {{.name = "two_pass", .build = build_group_norm}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .cases = {{{{3, 6}, {6}, {6}}, {std::int64_t{2}, 1e-5}},
                      {{{2, 4, 3, 2}, {4}, {4}}, {std::int64_t{2}, 1e-3}},
                      {{{2, 3, 4}, {3}, {3}}, {std::int64_t{1}, 1e-3}},
                      {{{0, 4, 2}, {4}, {4}}, {std::int64_t{4}, 1e-5}}},
        },
        {
            .name = "batch_norm",
            .doc = "Elements less their channel's mean, divided by the root of its variance, "
                   "scaled and shifted; [images, channels, sizes...], then mean, variance, weight "
                   "and bias.",
            .edge = "eps is added to the variance; one that is below 0 then gives NaN.",
            .min_inputs = 5,
            .max_inputs = 5,
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"eps", AttrKind::real}},
            .infer = infer_channels,
            .implementations = {{.name = "formula", .build = build_batch_norm}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = 0.5, .high = 4},
            .cases = {{{{3, 6}, {6}, {6}, {6}, {6}}, {1e-5}},
                      {{{2, 4, 3, 2}, {4}, {4}, {4}, {4}}, {1e-3}},
                      {{{0, 4, 2}, {4}, {4}, {4}, {4}}, {1e-5}}},
        },
    };
}

}  // namespace lazuli::ops
