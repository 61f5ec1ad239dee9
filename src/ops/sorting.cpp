// Sorting, and finding in what is sorted.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/lines.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

constexpr DTypeSet kOrdered = kReal | DTypeSet{DType::boolean};

/// The order of sorting: numbers by size, 0 and -0 equal, NaN behind all of them.
template <class T>
bool before(T a, T b) {
    if constexpr (is_real_float_v<T>) {
        const auto x = static_cast<double>(a);
        const auto y = static_cast<double>(b);
        return x < y || (!std::isnan(x) && std::isnan(y));
    } else {
        return a < b;
    }
}

/// The positions of a line's elements in the order of sorting, equal ones as they come.
template <class T>
std::vector<std::int64_t> order_of(const T* line, const Lines& lines, bool descending) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(lines.size));
    std::iota(out.begin(), out.end(), 0);
    std::stable_sort(out.begin(), out.end(), [&](std::int64_t i, std::int64_t k) {
        const T a = line[i * lines.inner];
        const T b = line[k * lines.inner];
        return descending ? before(b, a) : before(a, b);
    });
    return out;
}

/// Calls f(line of x, its order, line of the result, distance of both) for every line.
template <class Out, class F>
void for_each_order(const EvalArgs& args, std::int64_t axis, bool descending, F&& f) {
    const Lines lines = lines_of(args.inputs[0].spec->shape, axis);
    const Lines made = lines_of(args.spec->shape, axis);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            using Element = std::conditional_t<std::is_void_v<Out>, T, std::int64_t>;
            for (std::int64_t i = 0; i < made.count(); ++i) {
                const T* line = args.inputs[0].as<T>() + lines.begin(i);
                Element* out = args.result<Element>() + made.begin(i);
                const auto order = order_of(line, lines, descending);
                for (std::int64_t k = 0; k < made.size; ++k)
                    out[k * made.inner] = f(line, order[static_cast<std::size_t>(k)], lines.inner);
            }
        }
    });
}

TensorSpec infer_sort(const InferArgs& args) {
    (void)checked_axis(args, 0);
    return *args.inputs[0];
}

void evaluate_sort(const EvalArgs& args) {
    for_each_order<void>(args, args.attrs.integer(0), args.attrs.boolean(1),
                         [](const auto* line, std::int64_t at, std::int64_t distance) {
                             return line[at * distance];
                         });
}

TensorSpec infer_argsort(const InferArgs& args) {
    (void)checked_axis(args, 0);
    return {i64, args.inputs[0]->shape};
}

constexpr auto kPosition = [](const auto*, std::int64_t at, std::int64_t) { return at; };

void evaluate_argsort(const EvalArgs& args) {
    for_each_order<std::int64_t>(args, args.attrs.integer(0), args.attrs.boolean(1), kPosition);
}

TensorSpec infer_argtopk(const InferArgs& args) {
    const std::int64_t k = args.attrs.integer(0);
    const auto axis = static_cast<int>(checked_axis(args, 1));
    const Shape& x = args.inputs[0]->shape;
    if (k < 0) {
        throw ArgumentError(fmt::format("argtopk: k {} must be at least 0 (axis {} of {})", k, axis,
                                        args.inputs[0]->str()));
    }
    const Dim size = x.dim(axis);
    if (at_least(size, k) != Truth::yes) {
        throw ShapeError(fmt::format("argtopk: k {} {} more than the {} elements of axis {} of {}",
                                     k, size.is_concrete() ? "is" : "may be", size.str(), axis,
                                     args.inputs[0]->str()),
                         fmt::format("0 to {}", size.str()), fmt::format("{}", k));
    }
    TensorSpec out{i64, x};
    out.shape[axis] = k;
    return out;
}

void evaluate_argtopk(const EvalArgs& args) {
    for_each_order<std::int64_t>(args, args.attrs.integer(1), args.attrs.boolean(2), kPosition);
}

TensorSpec infer_searchsorted(const InferArgs& args) {
    if (args.inputs[0]->shape.rank() != 1) {
        throw ShapeError(fmt::format("searchsorted: {} is searched for {} and must be a sequence, "
                                     "of rank 1",
                                     args.inputs[0]->str(), args.inputs[1]->str()),
                         "rank 1", args.inputs[0]->shape.str());
    }
    if (args.inputs[0]->dtype != args.inputs[1]->dtype) {
        throw DTypeError(fmt::format("searchsorted: operands have different types: {} and {}",
                                     args.inputs[0]->str(), args.inputs[1]->str()));
    }
    return {i64, args.inputs[1]->shape};
}

void evaluate_searchsorted(const EvalArgs& args) {
    const bool right = args.attrs.integer(0) == 1;
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (!is_complex_v<T>) {
            const T* sequence = args.inputs[0].as<T>();
            for (std::int64_t i = 0; i < args.spec->shape.numel(); ++i) {
                const T value = args.inputs[1].as<T>()[i];
                std::int64_t low = 0;
                std::int64_t high = args.inputs[0].spec->shape[0];
                while (low < high) {
                    const std::int64_t middle = low + (high - low) / 2;
                    const bool up =
                        right ? !before(value, sequence[middle]) : before(sequence[middle], value);
                    (up ? low : high) = up ? middle + 1 : middle;
                }
                args.result<std::int64_t>()[i] = low;
            }
        }
    });
}

std::vector<AttrDef> sort_attrs() {
    return {{"axis", AttrKind::integer}, {"descending", AttrKind::boolean}};
}

std::vector<Case> sort_cases() {
    return {
        {{{40}}, {std::int64_t{0}, false}},      {{{40}}, {std::int64_t{0}, true}},
        {{{3, 5, 4}}, {std::int64_t{1}, false}}, {{{3, 7}}, {std::int64_t{1}, true}},
        {{{300}}, {std::int64_t{0}, false}},     {{{1}}, {std::int64_t{0}, false}},
        {{{0}}, {std::int64_t{0}, true}},        {{{3, 0}}, {std::int64_t{0}, false}},
    };
}

Gradients sort_gradient(const GradientArgs& g) {
    const int axis = static_cast<int>(g.call.attrs.integer(0));
    const Value from = argsort(g[0], axis, g.call.attrs.boolean(1));
    return {take_along_axis(g.cotangent(), argsort(from, axis, false), axis)};
}

}  // namespace

std::vector<OpDef> sorting() {
    return {
        {
            .name = "sort",
            .doc = "The elements along an axis in ascending order, or in descending order; equal "
                   "ones stay in their order.",
            .edge = "NaN is larger than every number: last in ascending order, first in "
                    "descending. 0 and -0 are equal. Which NaN it was may be lost. A tensor of "
                    "rank 0 has no axis: an error.",
            .traits = Trait::keep_if_held,
            .dtypes = kOrdered,
            .attrs = sort_attrs(),
            .infer = infer_sort,
            .evaluate = evaluate_sort,
            .gradient = sort_gradient,
            .cases = sort_cases(),
        },
        {
            .name = "argsort",
            .doc = "The positions along an axis of the elements in ascending order, or in "
                   "descending order, as i64; equal ones stay in their order.",
            .edge = "NaN is larger than every number: last in ascending order, first in "
                    "descending. 0 and -0 are equal. A tensor of rank 0 has no axis: an error.",
            .traits = Trait::keep_if_held,
            .dtypes = kOrdered,
            .attrs = sort_attrs(),
            .infer = infer_argsort,
            .evaluate = evaluate_argsort,
            .cases = sort_cases(),
        },
        {
            .name = "argtopk",
            .doc = "The positions along an axis of its largest elements, or of its smallest, so "
                   "many and the foremost first, as i64; of equal ones those that come first.",
            .edge = "NaN is larger than every number. 0 and -0 are equal. More elements than the "
                    "axis has, or fewer than none, are an error, and so is a tensor of rank 0.",
            .traits = Trait::keep_if_held,
            .dtypes = kOrdered,
            .attrs = {{"k", AttrKind::integer},
                      {"axis", AttrKind::integer},
                      {"largest", AttrKind::boolean}},
            .infer = infer_argtopk,
            .evaluate = evaluate_argtopk,
            .cases = {{{{40}}, {std::int64_t{5}, std::int64_t{0}, true}},
                      {{{40}}, {std::int64_t{5}, std::int64_t{0}, false}},
                      {{{3, 9, 2}}, {std::int64_t{4}, std::int64_t{1}, true}},
                      {{{3, 9}}, {std::int64_t{9}, std::int64_t{1}, false}},
                      {{{1}}, {std::int64_t{1}, std::int64_t{0}, true}},
                      {{{4}}, {std::int64_t{0}, std::int64_t{0}, true}},
                      {{{0, 3}}, {std::int64_t{2}, std::int64_t{1}, true}},
                      {{{0}}, {std::int64_t{0}, std::int64_t{0}, false}}},
        },
        {
            .name = "searchsorted",
            .doc = "Where each element of the second operand would stand in the first, a sorted "
                   "sequence: before equal elements (left) or behind them (right), as i64.",
            .edge = "NaN is larger than every number. 0 and -0 are equal. In an empty sequence 0. "
                    "Where the sequence is not sorted, what halving it comes to.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held | Trait::promotes,
            .dtypes = kOrdered,
            .attrs = {{"side", AttrKind::choice, kSideNames}},
            .infer = infer_searchsorted,
            .evaluate = evaluate_searchsorted,
            .cases = {{{{9}, {7}}, {std::string("left")}},
                      {{{9}, {2, 5}}, {std::string("right")}},
                      {{{1}, {3}}, {std::string("left")}},
                      {{{0}, {3}}, {std::string("right")}},
                      {{{4}, {}}, {std::string("left")}},
                      {{{4}, {0, 2}}, {std::string("right")}}},
        },
    };
}

}  // namespace lazuli::ops
