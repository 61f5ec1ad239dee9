// Windows over images: their largest elements and means, and images of other sizes.

#include <fmt/format.h>

#include <limits>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

enum : int { kWindow, kStrides, kPadding, kCountPadding };

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of windows, strides and padding

TensorSpec infer_pool(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const int dims = x.shape.rank() - 2;
    if (dims < 1 || dims > 3) {
        throw ShapeError(fmt::format("{}: needs [images, channels, sizes...] with one to three "
                                     "sizes, given {}",
                                     args.op.name, x.str()),
                         "rank 3 to 5", x.shape.str());
    }
    const Ints window = args.attrs.list(kWindow);
    const Ints strides = args.attrs.list(kStrides);
    const Ints padding = args.attrs.list(kPadding);
    if (window.rank() != dims || strides.rank() != dims || padding.rank() != 2 * dims) {
        throw ShapeError(fmt::format("{}: window {} and strides {} need one entry, padding {} two, "
                                     "for each of the {} sizes of {}",
                                     args.op.name, window.str(), strides.str(), padding.str(), dims,
                                     x.shape.str()),
                         fmt::format("{}", dims), window.str());
    }
    TensorSpec out{x.dtype, {x.shape.dim(0), x.shape.dim(1)}};
    for (int d = 0; d < dims; ++d) {
        const std::int64_t before = padding[d];
        const std::int64_t after = padding[dims + d];
        check_bounds(args,
                     {{"window", window[d], 1},
                      {"stride", strides[d], 1},
                      {"padding", before, 0},
                      {"padding", after, 0}},
                     kMost, d);
        const Dim whole = x.shape.dim(2 + d) + before + after;
        if (at_least(whole, window[d]) != Truth::yes) {
            throw ShapeError(
                fmt::format("{}: a window of {} {} fit {} elements, padding included (dimension "
                            "{}): {}",
                            args.op.name, window[d], whole.is_concrete() ? "does not" : "need not",
                            whole.str(), d, x.shape.str()),
                fmt::format("at most {}", whole.str()), fmt::format("{}", window[d]));
        }
        out.shape.push_back((whole - window[d]) / strides[d] + 1);
    }
    return out;
}

/// All windows of x, as new last axes.
Value windows(const Value& x, const InferArgs& args, const Scalar& fill) {
    const int dims = x.shape().rank() - 2;
    const Ints window = args.attrs.list(kWindow);
    const Ints strides = args.attrs.list(kStrides);
    const Ints padding = args.attrs.list(kPadding);
    Ints before = Shape::filled(2 + dims, 0);
    Ints after = before;
    bool pads = false;
    for (int d = 0; d < dims; ++d) {
        before[2 + d] = padding[d];
        after[2 + d] = padding[dims + d];
        pads = pads || padding[d] > 0 || padding[dims + d] > 0;
    }
    Value out = pads ? padded(x, before, after, fill) : x;
    for (int d = 0; d < dims; ++d) out = unfold(out, 2 + d, window[d], strides[d]);
    return out;
}

/// The axes that `windows` has added.
Axes window_axes(const Value& x) {
    const int dims = x.shape().rank() - 2;
    Ints axes;
    for (int d = 0; d < dims; ++d) axes.push_back(2 + dims + d);
    return Axes(axes);
}

Scalar lowest(DType dtype) {
    if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
    if (!info(dtype).is_signed) return 0;
    return static_cast<std::int64_t>(~std::uint64_t{0} << (8 * size_of(dtype) - 1));
}

Value build_max_pool(ProgramBuilder&, Inputs in, const InferArgs& args) {
    return max(windows(in[0], args, lowest(in[0].dtype())), window_axes(in[0]));
}

Value build_avg_pool(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Value x = widened(in[0]);
    const Axes axes = window_axes(x);
    const Value total = sum(windows(x, args, 0), axes);
    if (args.attrs.boolean(kCountPadding)) {
        double count = 1;
        for (const std::int64_t size : args.attrs.list(kWindow)) count *= static_cast<double>(size);
        return narrowed(total / count, in[0].dtype());
    }
    Shape one = x.shape();
    one[0] = 1;
    one[1] = 1;
    const Value there = broadcast_to(builder.constant(1, {x.dtype(), {}}), one);
    return narrowed(total / sum(windows(there, args, 0), axes), in[0].dtype());
}

// ---- other sizes

enum : int { kSizes, kLinear };

TensorSpec infer_interpolate(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const int dims = x.shape.rank() - 2;
    const Ints sizes = args.attrs.list(kSizes);
    if (dims < 1 || dims > 2 || sizes.rank() != dims) {
        throw ShapeError(fmt::format("interpolate: needs [images, channels, sizes...] with one or "
                                     "two sizes and as many new ones: {} to {}",
                                     x.str(), sizes.str()),
                         "rank 3 or 4", x.shape.str());
    }
    TensorSpec out = x;
    for (int d = 0; d < dims; ++d) {
        const Dim from = x.shape.dim(2 + d);
        if (sizes[d] < 0 || sizes[d] > kMost || (sizes[d] > 0 && at_least(from, 1) != Truth::yes)) {
            throw ShapeError(fmt::format("interpolate: {} elements cannot be made of {} (dimension "
                                         "{}): {} to {}",
                                         sizes[d], from.str(), d, x.str(), sizes.str()),
                             "a size", fmt::format("{}", sizes[d]));
        }
        out.shape[2 + d] = sizes[d];
    }
    return out;
}

Value nearest(ProgramBuilder& builder, const Value& x, int axis, std::int64_t size) {
    const Value at = positions(builder, {size}, 0, i64);
    const Value taken = number_of(builder, x.shape().dim(axis), i64);
    const Value from = floor_divide(at * taken, constant_like(at, size));
    return gather(x, from, axis);
}

Value linear(ProgramBuilder& builder, const Value& x, int axis, std::int64_t size) {
    const Dim taken = x.shape().dim(axis);
    const Value centre = positions(builder, {size}, 0, f64) + 0.5;
    const Value ratio =
        taken.is_concrete()
            ? constant_like(centre, static_cast<double>(taken.value()) / static_cast<double>(size))
            : number_of(builder, taken, f64) / static_cast<double>(size);
    const Value place = centre * ratio - 0.5;
    const Value from = maximum(place, constant_like(place, 0));
    const Value below = floor(from);
    const Value first = cast(below, i64);
    const Value second =
        minimum(first + constant_like(first, 1), number_of(builder, taken - 1, i64));
    Shape beside = Shape::filled(x.shape().rank(), 1);
    beside[axis] = size;
    const Value share = reshape(narrowed(from - below, x.dtype()), beside);
    const Value a = gather(x, first, axis);
    return a + share * (gather(x, second, axis) - a);
}

Value build_interpolate(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Ints sizes = args.attrs.list(kSizes);
    const bool by_line = args.attrs.boolean(kLinear);
    Value x = by_line ? widened(in[0]) : in[0];
    for (int d = 0; d < sizes.rank(); ++d) {
        const Truth stays = equal(x.shape().dim(2 + d), sizes[d]);
        if (stays == Truth::yes) continue;
        // Lines through elements would make NaN of infinite ones that stay as they are.
        if (by_line && stays == Truth::depends) {
            throw ShapeError(
                fmt::format("interpolate: along lines, whether {} elements are the {} there are "
                            "needs a number (dimension {} of {})",
                            sizes[d], x.shape().dim(2 + d).str(), d, x.spec().str()),
                "a number", x.shape().dim(2 + d).str());
        }
        x = by_line ? linear(builder, x, 2 + d, sizes[d]) : nearest(builder, x, 2 + d, sizes[d]);
    }
    return narrowed(x, in[0].dtype());
}

std::vector<Case> pool_cases(bool counts) {
    const auto attributes = [&](const Ints& window, const Ints& strides, const Ints& padding,
                                bool count) {
        std::vector<Attribute> out{window, strides, padding};
        if (counts) out.emplace_back(count);
        return out;
    };
    return {{{{2, 3, 7}}, attributes({3}, {2}, {0, 0}, true)},
            {{{2, 3, 6, 5}}, attributes({2, 3}, {2, 1}, {1, 0, 0, 1}, false)},
            {{{1, 2, 4, 3, 5}}, attributes({2, 2, 2}, {1, 2, 2}, {0, 1, 0, 0, 0, 1}, true)},
            {{{1, 1, 1}}, attributes({1}, {1}, {0, 0}, false)},
            {{{0, 2, 4, 4}}, attributes({2, 2}, {2, 2}, {0, 0, 0, 0}, true)}};
}

}  // namespace

std::vector<OpDef> pooling() {
    const std::vector<AttrDef> attrs{
        {"window", AttrKind::ints}, {"strides", AttrKind::ints}, {"padding", AttrKind::ints}};
    std::vector<AttrDef> counted = attrs;
    counted.push_back({"count_padding", AttrKind::boolean});
    return {
        {
            .name = "max_pool",
            .doc = "Largest elements of windows over the one to three dimensions behind the "
                   "channels, [images, channels, sizes...].",
            .edge = "Padding never wins over an element: a window of padding alone is -inf, or the "
                    "type's lowest integer. NaN in a window is its result.",
            .traits = Trait::keep_if_held,
            .dtypes = kReal,
            .attrs = attrs,
            .infer = infer_pool,
            .implementations = {{.name = "unfold", .build = build_max_pool}},
            .cases = pool_cases(false),
        },
        {
            .name = "avg_pool",
            .doc = "Means of windows over the one to three dimensions behind the channels, "
                   "[images, channels, sizes...]; padding is 0 and counts as elements where "
                   "`count_padding`.",
            .edge = "A window of padding alone that does not count is NaN. f16 and bf16 are "
                    "computed in f32.",
            .traits = Trait::keep_if_held | Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .attrs = counted,
            .infer = infer_pool,
            .implementations = {{.name = "unfold", .build = build_avg_pool}},
            .tolerance = {.ulps = 32, .absolute = 1e-5},
            .cases = pool_cases(true),
        },
        {
            .name = "interpolate",
            .doc = "Images [images, channels, sizes...] brought to other sizes, one or two: by the "
                   "nearest element below, or along lines between elements' centres where "
                   "`linear`.",
            .edge = "Beyond the outermost centres lies the outermost element. Along lines, inf "
                    "gives inf or NaN as a + t * (b - a) says; f16 and bf16 are computed in f32.",
            .traits = Trait::keep_if_held | Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .attrs = {{"sizes", AttrKind::ints}, {"linear", AttrKind::boolean}},
            .infer = infer_interpolate,
            .implementations = {{.name = "gather", .build = build_interpolate}},
            .tolerance = {.ulps = 32, .absolute = 1e-5},
            .cases = {{{{2, 3, 5}}, {Ints{8}, false}},
                      {{{2, 3, 5}}, {Ints{8}, true}},
                      {{{2, 3, 6}}, {Ints{4}, true}},
                      {{{1, 2, 4, 3}}, {Ints{7, 6}, false}},
                      {{{1, 2, 4, 3}}, {Ints{2, 9}, true}},
                      {{{1, 2, 4, 3}}, {Ints{4, 3}, true}},
                      {{{1, 1, 1}}, {Ints{3}, true}},
                      {{{0, 1, 2}}, {Ints{3}, true}},
                      {{{1, 1, 2}}, {Ints{0}, false}}},
        },
    };
}

}  // namespace lazuli::ops
