#include "ops/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

// Attributes of every reduction.
enum : int { kAxes, kKeepdims };

bool reduced(const Ints& axes, int axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Ints checked_axes(const InferArgs& args) {
    const Ints axes = args.attrs.list(kAxes);
    for (int i = 0; i < axes.rank(); ++i) {
        (void)ensure_axis(args.op.name, axes[i], args.inputs[0]->shape);
        if (i > 0 && axes[i] <= axes[i - 1]) {
            throw ArgumentError(
                fmt::format("{}: axes {} are not ascending", args.op.name, axes.str()));
        }
    }
    return axes;
}

}  // namespace

TensorSpec reduced_spec(const InferArgs& args, DType dtype) {
    const Ints axes = checked_axes(args);
    TensorSpec out{dtype, {}};
    for (int i = 0; i < args.inputs[0]->shape.rank(); ++i) {
        if (!reduced(axes, i)) {
            out.shape.push_back(args.inputs[0]->shape.dim(i));
        } else if (args.attrs.boolean(kKeepdims)) {
            out.shape.push_back(1);
        }
    }
    return out;
}

namespace {

Scalar zero(DType dtype) { return Scalar(0).as(dtype); }
Scalar one(DType dtype) { return Scalar(1).as(dtype); }

/// Not above any value of the type.
Scalar lowest(DType dtype) {
    switch (kind(dtype)) {
        case Kind::boolean: return false;
        case Kind::integer:
            return info(dtype).is_signed
                       ? Scalar(INT64_MIN >> (64 - 8 * static_cast<int>(size_of(dtype))))
                       : Scalar(0);
        case Kind::floating:
        case Kind::complex: return -std::numeric_limits<double>::infinity();
    }
    __builtin_unreachable();
}

/// Not below any value of the type.
Scalar highest(DType dtype) {
    const int unused = 64 - 8 * static_cast<int>(size_of(dtype));
    switch (kind(dtype)) {
        case Kind::boolean: return true;
        case Kind::integer:
            return info(dtype).is_signed ? Scalar(INT64_MAX >> unused)
                                         : Scalar(UINT64_MAX >> unused);
        case Kind::floating:
        case Kind::complex: return std::numeric_limits<double>::infinity();
    }
    __builtin_unreachable();
}

// Of sums and products.
TensorSpec infer_sum(const InferArgs& args) {
    const DType in = args.inputs[0]->dtype;
    DType out = in;
    if (in == DType::boolean || (is_integer(in) && info(in).is_signed)) out = i64;
    if (is_integer(in) && !info(in).is_signed) out = u64;
    return reduced_spec(args, out);
}

TensorSpec infer_mean(const InferArgs& args) { return reduced_spec(args, args.inputs[0]->dtype); }

// A reduction without a neutral element needs at least one element, also where there is no result
// to be filled.
void refuse_empty(const InferArgs& args) {
    const Ints axes = checked_axes(args);
    for (const std::int64_t axis : axes) {
        const Dim size = args.inputs[0]->shape.dim(static_cast<int>(axis));
        if (at_least(size, 1) == Truth::yes) continue;
        throw ShapeError(fmt::format("{}: no value over an {}: {}, axes {}", args.op.name,
                                     size.is_concrete() ? "empty axis" : "axis that may be empty",
                                     args.inputs[0]->str(), axes.str()),
                         "at least one element", args.inputs[0]->shape.str());
    }
}

TensorSpec infer_max(const InferArgs& args) {
    TensorSpec out = reduced_spec(args, args.inputs[0]->dtype);
    refuse_empty(args);
    return out;
}

TensorSpec infer_truth(const InferArgs& args) { return reduced_spec(args, DType::boolean); }

TensorSpec infer_argmax(const InferArgs& args) {
    TensorSpec out = reduced_spec(args, i64);
    refuse_empty(args);
    return out;
}

/// Which elements are reduced into each result: those at outer[i] + inner[k], k row-major over the
/// reduced axes.
struct Groups {
    std::vector<std::int64_t> outer;
    std::vector<std::int64_t> inner;
};

Groups groups_of(const EvalArgs& args) {
    const Shape& in = args.inputs[0].spec->shape;
    const Ints axes = args.attrs.list(kAxes);
    const Ints dense = dense_strides(in);
    Shape shapes[2];
    Ints strides[2];
    for (int i = 0; i < in.rank(); ++i) {
        const int side = reduced(axes, i) ? 1 : 0;
        shapes[side].push_back(in[i]);
        strides[side].push_back(dense[i]);
    }
    Groups out;
    for_each_offset(shapes[0], strides[0],
                    [&](std::int64_t, std::int64_t at) { out.outer.push_back(at); });
    for_each_offset(shapes[1], strides[1],
                    [&](std::int64_t, std::int64_t at) { out.inner.push_back(at); });
    return out;
}

void evaluate_sum(const EvalArgs& args) {
    const Groups groups = groups_of(args);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        const T* in = args.inputs[0].as<T>();
        for (std::size_t i = 0; i < groups.outer.size(); ++i) {
            const T* from = in + groups.outer[i];
            if constexpr (std::is_integral_v<T>) {
                std::uint64_t total = 0;
                for (const std::int64_t k : groups.inner)
                    total += static_cast<std::uint64_t>(from[k]);
                args.result<std::uint64_t>()[i] = total;  // i64 and u64 have the same bits
            } else {
                Compute<T> total{};
                for (const std::int64_t k : groups.inner) total += static_cast<Compute<T>>(from[k]);
                args.result<T>()[i] = convert<T>(total);
            }
        }
    });
}

void evaluate_prod(const EvalArgs& args) {
    const Groups groups = groups_of(args);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        const T* in = args.inputs[0].as<T>();
        for (std::size_t i = 0; i < groups.outer.size(); ++i) {
            const T* from = in + groups.outer[i];
            if constexpr (std::is_integral_v<T>) {
                std::uint64_t product = 1;
                for (const std::int64_t k : groups.inner)
                    product *= static_cast<std::uint64_t>(from[k]);
                args.result<std::uint64_t>()[i] = product;  // i64 and u64 have the same bits
            } else {
                Compute<T> product(1);
                for (const std::int64_t k : groups.inner)
                    product *= static_cast<Compute<T>>(from[k]);
                args.result<T>()[i] = convert<T>(product);
            }
        }
    });
}

/// Whether any element is as `Wanted` says, if it is true; whether all are, if it is false.
template <bool Wanted>
void evaluate_truth(const EvalArgs& args) {
    const Groups groups = groups_of(args);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        for (std::size_t i = 0; i < groups.outer.size(); ++i) {
            const T* from = args.inputs[0].as<T>() + groups.outer[i];
            const bool found =
                std::any_of(groups.inner.begin(), groups.inner.end(),
                            [&](std::int64_t k) { return convert<bool>(from[k]) == Wanted; });
            args.result<bool>()[i] = found == Wanted;
        }
    });
}

void evaluate_mean(const EvalArgs& args) {
    const Groups groups = groups_of(args);
    const auto count = static_cast<double>(groups.inner.size());
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (is_real_float_v<T> || is_complex_v<T>) {
            const T* in = args.inputs[0].as<T>();
            for (std::size_t i = 0; i < groups.outer.size(); ++i) {
                Compute<T> total{};
                for (const std::int64_t k : groups.inner) {
                    total += static_cast<Compute<T>>(in[groups.outer[i] + k]);
                }
                args.result<T>()[i] = convert<T>(total / count);
            }
        }
    });
}

template <class T>
bool is_nan(T v) {
    if constexpr (is_real_float_v<T>) return std::isnan(static_cast<double>(v));
    return false;
}

// The position among `inner` of the first NaN, else of the first largest (or smallest) element.
template <bool Largest, class T>
std::size_t find_extreme(const T* from, const std::vector<std::int64_t>& inner) {
    const auto is_less = [](const T& a, const T& b) {
        return static_cast<Compute<T>>(a) < static_cast<Compute<T>>(b);
    };
    std::size_t best = 0;
    for (std::size_t k = 1; k < inner.size() && !is_nan(from[inner[best]]); ++k) {
        const T& candidate = from[inner[k]];
        if (is_nan(candidate) || (Largest ? is_less(from[inner[best]], candidate)
                                          : is_less(candidate, from[inner[best]]))) {
            best = k;
        }
    }
    return best;
}

template <bool Largest>
void evaluate_extreme(const EvalArgs& args) {
    const Groups groups = groups_of(args);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            for (std::size_t i = 0; i < groups.outer.size(); ++i) {
                const T* from = args.inputs[0].as<T>() + groups.outer[i];
                T best = from[groups.inner[find_extreme<Largest>(from, groups.inner)]];
                if constexpr (is_real_float_v<T>) {
                    // Of several zeros, +0 is the largest and -0 the smallest, in whatever order
                    // they come.
                    for (const std::int64_t k : groups.inner) {
                        const auto v = static_cast<double>(from[k]);
                        if (static_cast<double>(best) == 0 && v == 0 && std::signbit(v) != Largest)
                            best = from[k];
                    }
                }
                args.result<T>()[i] = best;
            }
        }
    });
}

template <bool Largest>
void evaluate_position(const EvalArgs& args) {
    const Groups groups = groups_of(args);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            for (std::size_t i = 0; i < groups.outer.size(); ++i) {
                const T* from = args.inputs[0].as<T>() + groups.outer[i];
                args.result<std::int64_t>()[i] =
                    static_cast<std::int64_t>(find_extreme<Largest>(from, groups.inner));
            }
        }
    });
}

// ---- gradients

Gradients sum_gradient(const GradientArgs& g) { return {with_reduced_axes(g.cotangent(), g)}; }

Gradients mean_gradient(const GradientArgs& g) {
    const Value flow = with_reduced_axes(g.cotangent(), g);
    Dim count = 1;
    for (const std::int64_t axis : g.call.attrs.list(0))
        count = count * g.call.inputs[0]->shape.dim(static_cast<int>(axis));
    // By the reciprocal: f16 may not hold the number itself.
    if (count.is_concrete())
        return {flow * (count.value() == 0 ? 0 : 1 / static_cast<double>(count.value()))};
    return {flow / number_of(g.builder, count, flow.dtype())};
}

/// Elements that are the largest share it alike.
Gradients extreme_gradient(const GradientArgs& g) {
    const Value is_it = cast(eq(g[0], with_reduced_axes(g.result, g)), g[0].dtype());
    const Value count = sum(is_it, Axes(g.call.attrs.list(0)), true);
    return {is_it * (with_reduced_axes(g.cotangent(), g) / count)};
}

/// The product of the elements before each along the last axis.
Value product_before(const Value& x, bool reverse) {
    const int last = x.shape().rank() - 1;
    Ints front = Shape::filled(last + 1, 0);
    Ints back = front;
    front[last] = reverse ? -1 : 1;
    back[last] = reverse ? 1 : -1;
    return padded(cumprod(x, last, reverse), front, back, Scalar(1).as(x.dtype()));
}

/// Each element gets the product of all others, which holds beside zeros too.
Gradients prod_gradient(const GradientArgs& g) {
    const Shape from = g[0].shape();
    const Ints axes = g.call.attrs.list(0);
    if (axes.rank() == 0) return {g.cotangent()};
    if (from.count() == Dim(0)) return {zeros_like(g[0])};
    Ints order;
    Shape kept;
    for (int i = 0; i < from.rank(); ++i) {
        if (std::find(axes.begin(), axes.end(), i) != axes.end()) continue;
        order.push_back(i);
        kept.push_back(from.dim(i));
    }
    Shape moved = kept;
    Dim count = 1;
    for (const std::int64_t axis : axes) {
        order.push_back(axis);
        moved.push_back(from.dim(static_cast<int>(axis)));
        count = count * from.dim(static_cast<int>(axis));
    }
    kept.push_back(count);
    const Value rows = reshape(permute(g[0], Axes(order)), kept);
    const Value others = product_before(rows, false) * product_before(rows, true);
    Ints back = Shape::filled(from.rank(), 0);
    for (int i = 0; i < from.rank(); ++i) back[static_cast<int>(order[i])] = i;
    const Value there = permute(reshape(others, moved), Axes(back));
    return {with_reduced_axes(g.cotangent(), g) * conjugate(there)};
}

}  // namespace

std::vector<AttrDef> reduce_attrs() {
    return {{"axes", AttrKind::axes}, {"keepdims", AttrKind::boolean}};
}

std::vector<Case> reduce_cases(bool empty) {
    std::vector<Case> cases{
        {{{2, 3, 4}}, {Ints{0, 1, 2}, false}},
        {{{2, 3, 4}}, {Ints{1}, false}},
        {{{2, 3, 4}}, {Ints{0, 2}, true}},
        {{{5}}, {Ints{0}, true}},
        {{{}}, {Ints{}, false}},
        {{{1, 7}}, {Ints{0}, false}},
        {{{0, 3}}, {Ints{1}, false}},
        {{{3, 4}}, {Ints{}, false}},
        {{{2, 1, 2, 1, 2, 1, 2}}, {Ints{2, 6}, false}},
    };
    if (empty) {
        cases.push_back({{{0, 3}}, {Ints{0}, false}});
        cases.push_back({{{2, 0}}, {Ints{0, 1}, true}});
    }
    return cases;
}

std::vector<OpDef> reduction() {
    constexpr DTypeSet ordered = kReal | DTypeSet{DType::boolean};
    return {
        {
            .name = "sum",
            .doc = "Sum over axes (all of them where none are given); bool and small integers are "
                   "summed in 64 bits.",
            .edge = "Of no elements 0. Integers wrap. f16, bf16 and f32 are summed in f64 and "
                    "rounded once. NaN propagates.",
            .traits = Trait::keep_if_held,
            .attrs = reduce_attrs(),
            .infer = infer_sum,
            .evaluate = evaluate_sum,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "add", .initial = zero},
            .gradient = sum_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-6},
            .cases = reduce_cases(true),
        },
        {
            .name = "max",
            .doc = "Largest element over axes (all of them where none are given).",
            .edge = "NaN if any element is NaN. +0 is larger than -0. Over an empty axis an error.",
            .traits = Trait::keep_if_held,
            .dtypes = ordered,
            .attrs = reduce_attrs(),
            .infer = infer_max,
            .evaluate = evaluate_extreme<true>,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "maximum", .initial = lowest},
            .gradient = extreme_gradient,
            .cases = reduce_cases(false),
        },
        {
            .name = "mean",
            .doc = "Mean over axes (all of them where none are given); integers are averaged as "
                   "the default float.",
            .edge = "Of no elements NaN. f16, bf16 and f32 are summed in f64 and rounded once. NaN "
                    "propagates.",
            .traits = Trait::keep_if_held | Trait::to_float,
            .dtypes = kFloating | kComplex,
            .attrs = reduce_attrs(),
            .infer = infer_mean,
            .evaluate = evaluate_mean,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "add", .initial = zero, .mean = true},
            .gradient = mean_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-6},
            .cases = reduce_cases(true),
        },
        {
            .name = "argmax",
            .doc = "Position of the first largest element over axes (all of them where none are "
                   "given), counted row-major, as i64.",
            .edge = "The position of the first NaN if there is one. 0 and -0 are equal. Over an "
                    "empty axis an error.",
            .traits = Trait::keep_if_held,
            .dtypes = ordered,
            .attrs = reduce_attrs(),
            .infer = infer_argmax,
            .evaluate = evaluate_position<true>,
            .cases = reduce_cases(false),
        },
        {
            .name = "argmin",
            .doc = "Position of the first smallest element over axes (all of them where none are "
                   "given), counted row-major, as i64.",
            .edge = "The position of the first NaN if there is one. 0 and -0 are equal. Over an "
                    "empty axis an error.",
            .traits = Trait::keep_if_held,
            .dtypes = ordered,
            .attrs = reduce_attrs(),
            .infer = infer_argmax,
            .evaluate = evaluate_position<false>,
            .cases = reduce_cases(false),
        },
        {
            .name = "min",
            .doc = "Smallest element over axes (all of them where none are given).",
            .edge =
                "NaN if any element is NaN. -0 is smaller than +0. Over an empty axis an error.",
            .traits = Trait::keep_if_held,
            .dtypes = ordered,
            .attrs = reduce_attrs(),
            .infer = infer_max,
            .evaluate = evaluate_extreme<false>,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "minimum", .initial = highest},
            .gradient = extreme_gradient,
            .cases = reduce_cases(false),
        },
        {
            .name = "prod",
            .doc = "Product over axes (all of them where none are given); bool and small integers "
                   "are multiplied in 64 bits.",
            .edge = "Of no elements 1. Integers wrap. f16, bf16 and f32 are multiplied in f64 and "
                    "rounded once. NaN propagates, and 0 beside inf is NaN; what overflows or "
                    "vanishes on the way in f64 depends on the order.",
            .traits = Trait::keep_if_held,
            .attrs = reduce_attrs(),
            .infer = infer_sum,
            .evaluate = evaluate_prod,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "mul", .initial = one},
            .gradient = prod_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-300},
            .cases = reduce_cases(true),
        },
        {
            .name = "any",
            .doc = "Whether any element holds over axes (all of them where none are given).",
            .edge = "Of no elements false. A number holds where it is not 0; NaN holds.",
            .traits = Trait::keep_if_held,
            .attrs = reduce_attrs(),
            .infer = infer_truth,
            .evaluate = evaluate_truth<true>,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "maximum", .initial = zero},
            .sample = {.low = -1, .high = 1},
            .cases = reduce_cases(true),
        },
        {
            .name = "all",
            .doc = "Whether all elements hold over axes (all of them where none are given).",
            .edge = "Of no elements true. A number holds where it is not 0; NaN holds.",
            .traits = Trait::keep_if_held,
            .attrs = reduce_attrs(),
            .infer = infer_truth,
            .evaluate = evaluate_truth<false>,
            .lowering = Lowering::reduction,
            .reduction = {.combine = "minimum", .initial = one},
            .sample = {.low = -1, .high = 1},
            .cases = reduce_cases(true),
        },
    };
}

}  // namespace lazuli::ops
