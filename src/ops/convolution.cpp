#include "ops/convolution.h"

#include <fmt/format.h>

#include "ops/build.h"
#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

Window::Window(const Attrs& attrs)
    : strides(attrs.list(0)), dilation(attrs.list(2)), groups(attrs.integer(3)) {
    const Ints padding = attrs.list(1);
    const int count = padding.rank() / 2;
    for (int i = 0; i < padding.rank(); ++i) (i < count ? before : after).push_back(padding[i]);
}

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of strides, padding, dilation and groups

TensorSpec infer_convolution(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& w = *args.inputs[1];
    const auto wrong = [&](const std::string& what, const std::string& expected,
                           const std::string& actual) {
        return ShapeError(
            fmt::format("convolution: {}: {} by {}", what, x.shape.str(), w.shape.str()), expected,
            actual);
    };
    if (x.dtype != w.dtype) {
        throw DTypeError(
            fmt::format("convolution: operands have different types: {} by {}", x.str(), w.str()));
    }
    const int rank = x.shape.rank();
    if (rank < 3 || w.shape.rank() != rank) {
        throw wrong(
            "needs [images, channels, sizes...] and [channels made, channels of a group, "
            "sizes...]",
            fmt::format("rank {}", std::max(rank, 3)), fmt::format("rank {}", w.shape.rank()));
    }
    const int dims = rank - 2;
    const Ints padding = args.attrs.list(1);
    const Window window(args.attrs);
    if (window.strides.rank() != dims || padding.rank() != 2 * dims ||
        window.dilation.rank() != dims) {
        throw ShapeError(
            fmt::format("convolution: strides {} and dilation {} need one entry, padding {} two, "
                        "for each of the {} dimensions behind the channels: {} by {}",
                        window.strides.str(), window.dilation.str(), padding.str(), dims,
                        x.shape.str(), w.shape.str()),
            fmt::format("{}", dims), window.strides.str());
    }
    check_bounds(args, {{"groups", window.groups, 1}}, kMost);
    const Dim channels = x.shape.dim(1);
    const Dim taken = w.shape.dim(1);
    if (equal(channels % window.groups, 0) != Truth::yes ||
        equal(w.shape.dim(0) % window.groups, 0) != Truth::yes) {
        throw wrong(
            fmt::format("{} groups {} divide the channels", window.groups,
                        detail::are_numbers(channels, w.shape.dim(0)) ? "do not" : "need not"),
            "a divisor of the channels", fmt::format("{}", window.groups));
    }
    if (equal(channels / window.groups, taken) != Truth::yes) {
        throw wrong(fmt::format("channels differ ({} in {} groups vs {})", channels.str(),
                                window.groups, taken.str()),
                    (channels / window.groups).str(), taken.str());
    }
    TensorSpec out{x.dtype, {x.shape.dim(0), w.shape.dim(0)}};
    for (int d = 0; d < dims; ++d) {
        const std::int64_t stride = window.strides[d];
        const std::int64_t step = window.dilation[d];
        check_bounds(args,
                     {{"stride", stride, 1},
                      {"dilation", step, 1},
                      {"padding", window.before[d], 0},
                      {"padding", window.after[d], 0}},
                     kMost, d);
        const Dim whole = x.shape.dim(2 + d) + window.before[d] + window.after[d];
        const Dim size = w.shape.dim(2 + d);
        if (at_least(size, 1) != Truth::yes)
            throw wrong("a window of no elements", "1", size.str());
        std::int64_t far = 0;
        const bool overflows =
            size.is_concrete() && __builtin_mul_overflow(size.value() - 1, step, &far);
        if (overflows || less((size - 1) * step, whole) != Truth::yes) {
            throw wrong(fmt::format("the window {} over {} where there are {}, padding included "
                                    "(dimension {})",
                                    detail::are_numbers(size, whole) ? "reaches" : "may reach",
                                    size.str(), whole.str(), d),
                        fmt::format("at most {}", whole.str()), size.str());
        }
        out.shape.push_back((whole - (size - 1) * step - 1) / stride + 1);
    }
    return out;
}

void evaluate_convolution(const EvalArgs& args) {
    const Shape& sx = args.inputs[0].spec->shape;
    const Shape& sw = args.inputs[1].spec->shape;
    const Shape& so = args.spec->shape;
    const Window window(args.attrs);
    const int dims = sx.rank() - 2;
    const Ints dx = dense_strides(sx);
    const std::int64_t made = sw[0] / window.groups;  // channels of a group
    const std::int64_t taken = sw[1];
    const Shape kernel(Ints(sw.dims().subspan(1)).dims());  // channels, then the window
    const Shape inside(Ints(so.dims().subspan(2)).dims());
    // The position of a number in a shape, the last dimension fastest.
    const auto position = [](const Shape& shape, std::int64_t number) {
        Ints out = Shape::filled(shape.rank(), 0);
        for (int d = shape.rank() - 1; d >= 0; --d) {
            out[d] = number % shape[d];
            number /= shape[d];
        }
        return out;
    };
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (!std::is_same_v<T, bool>) {
            using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Compute<T>>;
            const T* x = args.inputs[0].as<T>();
            const T* w = args.inputs[1].as<T>();
            T* out = args.result<T>();
            for (std::int64_t i = 0; i < so.numel(); ++i) {
                const Ints at = position(so, i);
                Sum total{};
                for (std::int64_t k = 0; k < kernel.numel(); ++k) {
                    const Ints tap = position(kernel, k);
                    std::int64_t offset = at[0] * dx[0] + (at[1] / made * taken + tap[0]) * dx[1];
                    bool valid = true;
                    for (int d = 0; d < dims; ++d) {
                        const std::int64_t p = at[2 + d] * window.strides[d] +
                                               tap[1 + d] * window.dilation[d] - window.before[d];
                        valid = valid && p >= 0 && p < sx[2 + d];
                        offset += p * dx[2 + d];
                    }
                    const T element = valid ? x[offset] : T{};
                    total +=
                        static_cast<Sum>(element) * static_cast<Sum>(w[at[1] * kernel.numel() + k]);
                }
                if constexpr (std::is_integral_v<T>) {
                    out[i] = static_cast<T>(total);
                } else {
                    out[i] = convert<T>(total);
                }
            }
        }
    });
}

/// [a, groups * b, sizes] as [b, groups * a, sizes], or with the groups in front of b.
Value turned(const Value& x, std::int64_t groups, bool groups_stay) {
    const Shape from = x.shape();
    const Dim inner = from.dim(1) / groups;
    Shape split{from.dim(0), groups, inner};
    Ints order = groups_stay ? Ints{1, 2, 0} : Ints{2, 1, 0};
    Shape whole =
        groups_stay ? Shape{from.dim(1), from.dim(0)} : Shape{inner, from.dim(0) * groups};
    for (int d = 2; d < from.rank(); ++d) {
        split.push_back(from.dim(d));
        order.push_back(d + 1);
        whole.push_back(from.dim(d));
    }
    return reshape(permute(reshape(x, split), Axes(order)), whole);
}

/// To the images: each cotangent times its window, where the window lay. To the windows: the
/// images' channels by the cotangents', images and channels having changed places, and strides and
/// dilation too.
Gradients convolution_gradient(const GradientArgs& g) {
    const Window window(g.call.attrs);
    const Shape x = g[0].shape();
    const Shape w = g[1].shape();
    const Shape made = g.cotangent().shape();
    if (made.count() == Dim(0) || w.count() == Dim(0)) return {zeros_like(g[0]), zeros_like(g[1])};
    const int dims = x.rank() - 2;
    Ints padding;
    for (const Ints* side : {&window.before, &window.after}) {
        for (int d = 0; d < dims; ++d) padding.push_back((*side)[d]);
    }
    Ints more;
    Ints none = Shape::filled(x.rank(), 0);
    Ints cut = none;
    for (int d = 0; d < dims; ++d) {
        const Dim reach = (w.dim(2 + d) - 1) * window.dilation[d] + 1;
        const Dim used = (made.dim(2 + d) - 1) * window.strides[d] + reach;
        const Dim left = x.dim(2 + d) + window.before[d] + window.after[d] - used;
        more.push_back(left);
        // Windows that begin in what no window reached are made, and taken away.
        cut.set(2 + d, Dim(0) - left / window.dilation[d]);
    }
    const Value images[] = {g.cotangent(), conjugate(g[1])};
    const Attribute back[] = {window.strides, padding, more, window.dilation, window.groups};
    const Value to_images = g.builder.op("convolution_transpose", images, back);

    const Value windows[] = {turned(conjugate(g[0]), window.groups, false),
                             turned(g.cotangent(), window.groups, true)};
    const Attribute across[] = {window.dilation, padding, window.strides, window.groups};
    const Value all = g.builder.op("convolution", windows, across);
    Ints order{1, 0};
    for (int d = 0; d < dims; ++d) order.push_back(2 + d);
    const Value to_windows =
        permute(padded(all, none, cut, Scalar(0).as(all.dtype())), Axes(order));
    return {to_images, to_windows};
}

/// Strides, padding (before, then behind), dilation, groups.
std::vector<Attribute> attributes(const Ints& strides, const Ints& padding, const Ints& dilation,
                                  std::int64_t groups) {
    return {strides, padding, dilation, groups};
}

}  // namespace

std::vector<OpDef> convolution() {
    return {
        {
            .name = "convolution",
            .doc = "Sums of products of windows over the dimensions behind the channels, "
                   "[images, channels, sizes...] by [channels made, channels of a group, "
                   "sizes...]; windows are not flipped.",
            .edge = "Padding is 0; whether it is multiplied with inf and NaN of a window is left "
                    "open. Integers wrap. "
                    "f16, bf16 and f32 are summed in f64 and rounded once.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held | Trait::promotes,
            .dtypes = kNumeric,
            .attrs = {{"strides", AttrKind::ints},
                      {"padding", AttrKind::ints},
                      {"dilation", AttrKind::ints},
                      {"groups", AttrKind::integer}},
            .infer = infer_convolution,
            .evaluate = evaluate_convolution,
            .lowering = Lowering::convolution,
            .kernels = {"onednn", "microkernel", "loops"},
            .gradient = convolution_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{2, 3, 5, 6}, {4, 3, 3, 3}}, attributes({1, 1}, {1, 1, 1, 1}, {1, 1}, 1)},
                      {{{1, 4, 5, 5}, {6, 2, 3, 2}}, attributes({2, 1}, {0, 1, 2, 0}, {1, 2}, 2)},
                      {{{1, 3, 4, 4}, {5, 3, 1, 1}}, attributes({1, 1}, {0, 0, 0, 0}, {1, 1}, 1)},
                      {{{1, 3, 4, 4}, {5, 3, 1, 1}}, attributes({2, 2}, {0, 0, 0, 0}, {1, 1}, 1)},
                      {{{2, 4, 7}, {4, 1, 3}}, attributes({1}, {2, 0}, {1}, 4)},
                      {{{1, 1, 3, 3, 3}, {2, 1, 2, 2, 2}},
                       attributes({1, 1, 1}, {0, 0, 0, 1, 1, 1}, {1, 1, 1}, 1)},
                      {{{0, 2, 3}, {2, 2, 2}}, attributes({1}, {0, 0}, {1}, 1)},
                      {{{1, 0, 3}, {2, 0, 2}}, attributes({1}, {0, 0}, {1}, 1)}},
        },
    };
}

}  // namespace lazuli::ops
