// The transposed convolution: a convolution over an image whose elements stand `strides` apart,
// with zeros between them, by a window that is flipped.

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

enum : int { kStrides, kPadding, kMore, kDilation, kGroups };

constexpr std::int64_t kMost = std::int64_t{1} << 30;  // of strides, padding, dilation and groups

TensorSpec infer_transpose(const InferArgs& args) {
    check_one_type(args, 0, 2);
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& w = *args.inputs[1];
    const auto wrong = [&](const std::string& what) {
        return ShapeError(
            fmt::format("convolution_transpose: {}: {} by {}", what, x.shape.str(), w.shape.str()),
            x.shape.str(), w.shape.str());
    };
    const int dims = x.shape.rank() - 2;
    if (dims < 1 || w.shape.rank() != x.shape.rank()) {
        throw wrong(
            "needs [images, channels, sizes...] and [channels, channels made by a group, "
            "sizes...]");
    }
    const Ints strides = args.attrs.list(kStrides);
    const Ints padding = args.attrs.list(kPadding);
    const Ints more = args.attrs.list(kMore);
    const Ints dilation = args.attrs.list(kDilation);
    const std::int64_t groups = args.attrs.integer(kGroups);
    if (strides.rank() != dims || padding.rank() != 2 * dims || more.rank() != dims ||
        dilation.rank() != dims) {
        throw wrong(
            fmt::format("strides {}, output_padding {} and dilation {} need one entry, "
                        "padding {} two, for each of {} dimensions",
                        strides.str(), more.str(), dilation.str(), padding.str(), dims));
    }
    const Dim channels = x.shape.dim(1);
    if (equal(w.shape.dim(0), channels) != Truth::yes)
        throw wrong(
            fmt::format("channels differ ({} vs {})", channels.str(), w.shape.dim(0).str()));
    check_bounds(args, {{"groups", groups, 1}}, kMost);
    if (equal(channels % groups, 0) != Truth::yes)
        throw wrong(fmt::format("{} groups {} divide the channels", groups,
                                channels.is_concrete() ? "do not" : "need not"));
    std::int64_t many = 0;
    if (w.shape.dim(1).is_concrete() && __builtin_mul_overflow(w.shape[1], groups, &many))
        throw wrong(fmt::format("{} groups make too many channels", groups));
    TensorSpec out{x.dtype, {x.shape.dim(0), w.shape.dim(1) * groups}};
    for (int d = 0; d < dims; ++d) {
        check_bounds(args,
                     {{"stride", strides[d], 1},
                      {"dilation", dilation[d], 1},
                      {"padding", padding[d], 0},
                      {"padding", padding[dims + d], 0},
                      {"output_padding", more[d], 0}},
                     kMost, d);
        if (more[d] >= std::max(strides[d], dilation[d])) {
            throw ArgumentError(fmt::format(
                "convolution_transpose: output_padding {} must be less than the stride {} or the "
                "dilation {} (dimension {}): {} by {}",
                more[d], strides[d], dilation[d], d, x.shape.str(), w.shape.str()));
        }
        const Dim from = x.shape.dim(2 + d);
        const Dim window = w.shape.dim(2 + d);
        if (at_least(from, 1) != Truth::yes || at_least(window, 1) != Truth::yes)
            throw wrong(fmt::format("nothing along dimension {}", d));
        const Dim size = (from - 1) * strides[d] + (window - 1) * dilation[d] + 1 + more[d] -
                         padding[d] - padding[dims + d];
        if (at_least(size, 1) != Truth::yes)
            throw wrong(fmt::format("padding leaves {} along dimension {}", size.str(), d));
        out.shape.push_back(size);
    }
    return out;
}

/// Elements along an axis with `step - 1` zeros behind each.
Value spread(const Value& x, int axis, std::int64_t step) {
    if (step == 1) return x;
    const Value pairs = with_axis(x, axis + 1);
    Ints before = Shape::filled(pairs.shape().rank(), 0);
    Ints after = before;
    after[axis + 1] = step - 1;
    Shape flat = x.shape();
    flat.set(axis, flat.dim(axis) * step);
    return reshape(padded(pairs, before, after, 0), flat);
}

Value build_transpose(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Shape sw = in[1].shape();
    const int dims = sw.rank() - 2;
    const Ints strides = args.attrs.list(kStrides);
    const Ints padding = args.attrs.list(kPadding);
    const Ints more = args.attrs.list(kMore);
    const Ints dilation = args.attrs.list(kDilation);
    const std::int64_t groups = args.attrs.integer(kGroups);

    Value x = in[0];
    Ints before = Shape::filled(2 + dims, 0);
    Ints after = before;
    for (int d = 0; d < dims; ++d) {
        x = spread(x, 2 + d, strides[d]);
        const Dim reach = (sw.dim(2 + d) - 1) * dilation[d];
        before.set(2 + d, reach - padding[d]);
        after.set(2 + d, reach - padding[dims + d] + more[d] - (strides[d] - 1));
    }
    x = padded(x, before, after, 0);

    // [groups * taken, made, sizes] becomes [groups * made, taken, sizes], flipped.
    Shape split{groups, sw.dim(0) / groups, sw.dim(1)};
    Ints order{0, 2, 1};
    Ints spatial;
    Shape whole{sw.dim(1) * groups, sw.dim(0) / groups};
    for (int d = 0; d < dims; ++d) {
        split.push_back(sw.dim(2 + d));
        order.push_back(3 + d);
        spatial.push_back(2 + d);
        whole.push_back(sw.dim(2 + d));
    }
    const Value w =
        flip(reshape(permute(reshape(in[1], split), Axes(order)), whole), Axes(spatial));
    const Value operands[] = {x, w};
    const Attribute attrs[] = {Shape::filled(dims, 1), Shape::filled(2 * dims, 0), dilation,
                               groups};
    return builder.op("convolution", operands, attrs);
}

}  // namespace

std::vector<OpDef> convolution_transpose() {
    const auto attributes = [](const Ints& strides, const Ints& padding, const Ints& more,
                               const Ints& dilation, std::int64_t groups) {
        return std::vector<Attribute>{strides, padding, more, dilation, groups};
    };
    return {
        {
            .name = "convolution_transpose",
            .doc = "Each element of [images, channels, sizes...] times a window, summed where the "
                   "windows lie, `strides` apart; by [channels, channels made by a group, "
                   "sizes...].",
            .edge = "padding takes elements away at the ends, output_padding adds some behind. "
                    "Whether zeros between elements are multiplied with inf and NaN of a window "
                    "is left open. Integers wrap.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held | Trait::promotes,
            .dtypes = kNumeric,
            .attrs = {{"strides", AttrKind::ints},
                      {"padding", AttrKind::ints},
                      {"output_padding", AttrKind::ints},
                      {"dilation", AttrKind::ints},
                      {"groups", AttrKind::integer}},
            .infer = infer_transpose,
            .implementations = {{.name = "convolution", .build = build_transpose}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{2, 3, 5}, {3, 4, 3}}, attributes({1}, {0, 0}, {0}, {1}, 1)},
                      {{{2, 3, 4}, {3, 2, 3}}, attributes({2}, {1, 1}, {1}, {1}, 1)},
                      {{{1, 4, 3, 4}, {4, 2, 3, 2}},
                       attributes({2, 3}, {1, 0, 2, 0}, {0, 1}, {1, 2}, 2)},
                      {{{1, 2, 2, 2, 2}, {2, 1, 2, 1, 2}},
                       attributes({1, 2, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1)},
                      {{{1, 1, 1}, {1, 1, 1}}, attributes({1}, {0, 0}, {0}, {1}, 1)},
                      {{{0, 2, 3}, {2, 2, 2}}, attributes({2}, {0, 0}, {0}, {1}, 1)}},
        },
    };
}

}  // namespace lazuli::ops
