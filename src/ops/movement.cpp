// Ops that rearrange elements and compute nothing. They move whole elements, so their meaning is
// the same for every type.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ops/eval.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

/// Result element i is operand element at(i).
void copy_elements(const EvalArgs& args, const HostArray& from, std::int64_t start,
                   const Ints& strides, const Shape& shape) {
    const std::size_t size = size_of(args.spec->dtype);
    const auto* in = static_cast<const unsigned char*>(from.data);
    auto* out = static_cast<unsigned char*>(args.out);
    for_each_offset(shape, strides, [&](std::int64_t i, std::int64_t offset) {
        std::memcpy(out + static_cast<std::size_t>(i) * size,
                    in + static_cast<std::size_t>(start + offset) * size, size);
    });
}

void require_same_type(const InferArgs& args) {
    if (args.wanted->dtype != args.inputs[0]->dtype) {
        throw DTypeError(fmt::format("{}: {} cannot become {}: the type differs", args.op.name,
                                     args.inputs[0]->str(), args.wanted->str()));
    }
}

TensorSpec infer_reshape(const InferArgs& args) {
    require_same_type(args);
    const Shape& from = args.inputs[0]->shape;
    Shape to = args.wanted->shape;
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("reshape: {} does not fit {}: {}", from.str(),
                                     args.wanted->shape.str(), why),
                         from.str(), args.wanted->shape.str());
    };
    int open = -1;
    Shape known;
    for (int i = 0; i < to.rank(); ++i) {
        if (to[i] == -1 && open < 0) {
            open = i;
        } else if (to[i] < 0) {
            refuse("only one size may be -1 and none may be less");
        } else {
            known.push_back(to[i]);
        }
    }
    if (open >= 0) {
        const std::int64_t rest = known.numel();
        if (rest == 0 || from.numel() % rest != 0)
            refuse(fmt::format("{} elements do not divide into {}", from.numel(), rest));
        to[open] = from.numel() / rest;
    }
    if (to.numel() != from.numel())
        refuse(fmt::format("{} elements against {}", from.numel(), to.numel()));
    return {args.inputs[0]->dtype, std::move(to)};
}

void evaluate_reshape(const EvalArgs& args) {
    const auto bytes = static_cast<std::size_t>(args.spec->nbytes());
    if (bytes > 0) std::memcpy(args.out, args.inputs[0].data, bytes);
}

TensorSpec infer_permute(const InferArgs& args) {
    const Shape& from = args.inputs[0]->shape;
    const Ints axes = args.attrs.list(0);
    TensorSpec out{args.inputs[0]->dtype, {}};
    std::uint64_t seen = 0;  // a bit an axis
    bool is_order = axes.rank() == from.rank();
    for (int i = 0; is_order && i < axes.rank(); ++i) {
        const std::uint64_t bit = std::uint64_t{1} << axes[i];
        is_order = axes[i] < from.rank() && (seen & bit) == 0;
        if (!is_order) break;
        seen |= bit;
        out.shape.push_back(from[static_cast<int>(axes[i])]);
    }
    if (!is_order)
        throw IndexError(
            fmt::format("permute: {} is not an order of the axes of {}", axes.str(), from.str()));
    return out;
}

void evaluate_permute(const EvalArgs& args) {
    const Ints dense = dense_strides(args.inputs[0].spec->shape);
    Ints strides;
    for (const std::int64_t axis : args.attrs.list(0))
        strides.push_back(dense[static_cast<int>(axis)]);
    copy_elements(args, args.inputs[0], 0, strides, args.spec->shape);
}

TensorSpec infer_broadcast(const InferArgs& args) {
    require_same_type(args);
    const Shape& from = args.inputs[0]->shape;
    const Shape& to = args.wanted->shape;
    bool fits = from.rank() <= to.rank();
    for (int i = 0; fits && i < from.rank(); ++i) {
        const std::int64_t target = to[to.rank() - from.rank() + i];
        fits = from[i] == target || from[i] == 1;
    }
    if (!fits) {
        throw ShapeError(
            fmt::format("broadcast_to: {} does not broadcast to {}", from.str(), to.str()),
            to.str(), from.str());
    }
    return *args.wanted;
}

void evaluate_broadcast(const EvalArgs& args) {
    copy_elements(args, args.inputs[0], 0,
                  broadcast_strides(args.inputs[0].spec->shape, args.spec->shape),
                  args.spec->shape);
}

enum : int { kStarts, kSizes, kSteps };

TensorSpec infer_slice(const InferArgs& args) {
    const Shape& from = args.inputs[0]->shape;
    const Ints starts = args.attrs.list(kStarts);
    const Ints sizes = args.attrs.list(kSizes);
    const Ints steps = args.attrs.list(kSteps);
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("slice: starts {}, sizes {}, steps {} of {}: {}", starts.str(),
                                     sizes.str(), steps.str(), from.str(), why),
                         from.str(), sizes.str());
    };
    if (starts.rank() != from.rank() || sizes.rank() != from.rank() ||
        steps.rank() != from.rank()) {
        refuse("one start, size and step a dimension is needed");
    }
    for (int i = 0; i < from.rank(); ++i) {
        if (steps[i] == 0) refuse("a step is 0");
        if (sizes[i] < 0 || sizes[i] > from[i])
            refuse(fmt::format("size {} of dimension {}", sizes[i], i));
        if (sizes[i] == 0) continue;
        std::int64_t last = 0;
        const bool overflow = __builtin_mul_overflow(sizes[i] - 1, steps[i], &last) ||
                              __builtin_add_overflow(last, starts[i], &last);
        if (overflow || starts[i] < 0 || starts[i] >= from[i] || last < 0 || last >= from[i]) {
            refuse(fmt::format("dimension {} is left", i));
        }
    }
    return {args.inputs[0]->dtype, sizes};
}

void evaluate_slice(const EvalArgs& args) {
    if (args.spec->shape.numel() == 0) return;
    const Ints dense = dense_strides(args.inputs[0].spec->shape);
    const Ints starts = args.attrs.list(kStarts);
    const Ints steps = args.attrs.list(kSteps);
    Ints strides;
    std::int64_t first = 0;
    for (int i = 0; i < dense.rank(); ++i) {
        // A dimension of one element is not walked; its step may be anything.
        strides.push_back(args.spec->shape[i] > 1 ? dense[i] * steps[i] : 0);
        first += dense[i] * starts[i];
    }
    copy_elements(args, args.inputs[0], first, strides, args.spec->shape);
}

TensorSpec infer_concat(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("concat: axis {} is negative", axis));
    const int at = static_cast<int>(ensure_axis("concat", axis, out.shape));
    for (const TensorSpec* input : args.inputs.subspan(1)) {
        bool fits = input->shape.rank() == out.shape.rank();
        for (int i = 0; fits && i < out.shape.rank(); ++i)
            fits = i == at || input->shape[i] == out.shape[i];
        if (!fits) {
            throw ShapeError(
                fmt::format("concat: {} and {} differ in a dimension other than axis {}",
                            args.inputs[0]->str(), input->str(), at),
                args.inputs[0]->shape.str(), input->shape.str());
        }
        if (input->dtype != out.dtype) {
            throw DTypeError(fmt::format("concat: operands have different types: {} and {}",
                                         args.inputs[0]->str(), input->str()));
        }
        if (__builtin_add_overflow(out.shape[at], input->shape[at], &out.shape[at])) {
            throw ShapeError("concat: the result has more than 2^63 - 1 elements", "fewer", "more");
        }
    }
    return out;
}

void evaluate_concat(const EvalArgs& args) {
    const int axis = static_cast<int>(args.attrs.integer(0));
    const std::size_t size = size_of(args.spec->dtype);
    std::size_t outer = 1;
    for (int i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(args.spec->shape[i]);
    const auto row_bytes = [&](const Shape& shape) {
        std::size_t bytes = size;
        for (int i = axis; i < shape.rank(); ++i) bytes *= static_cast<std::size_t>(shape[i]);
        return bytes;
    };
    const std::size_t out_row = row_bytes(args.spec->shape);
    std::size_t column = 0;
    for (const HostArray& input : args.inputs) {
        const std::size_t in_row = row_bytes(input.spec->shape);
        for (std::size_t i = 0; i < outer && in_row > 0; ++i) {
            std::memcpy(static_cast<unsigned char*>(args.out) + i * out_row + column,
                        static_cast<const unsigned char*>(input.data) + i * in_row, in_row);
        }
        column += in_row;
    }
}

}  // namespace

std::vector<OpDef> movement() {
    return {
        {
            .name = "reshape",
            .doc = "The same elements in row-major order under another shape; one size may be -1.",
            .edge = "Works on empty tensors; -1 needs the other sizes to be non-zero.",
            .traits = Trait::movement | Trait::shaped,
            .infer = infer_reshape,
            .evaluate = evaluate_reshape,
            .cases = {{{{2, 6}}, {}, Shape{3, 4}},
                      {{{4}}, {}, Shape{2, 1, 2}},
                      {{{}}, {}, Shape{1, 1}},
                      {{{0, 3}}, {}, Shape{5, 0}}},
        },
        {
            .name = "permute",
            .doc = "The dimensions in another order.",
            .traits = Trait::movement,
            .attrs = {{"axes", AttrKind::axes}},
            .infer = infer_permute,
            .evaluate = evaluate_permute,
            .cases = {{{{2, 3, 4}}, {Ints{2, 0, 1}}},
                      {{{3, 4}}, {Ints{1, 0}}},
                      {{{}}, {Ints{}}},
                      {{{0, 2}}, {Ints{1, 0}}}},
        },
        {
            .name = "broadcast_to",
            .doc = "The tensor repeated to a larger shape by numpy's broadcasting rule.",
            .edge = "A dimension of size 1 may become 0.",
            .traits = Trait::movement | Trait::shaped,
            .infer = infer_broadcast,
            .evaluate = evaluate_broadcast,
            .cases = {{{{3, 1}}, {}, Shape{2, 3, 4}},
                      {{{}}, {}, Shape{3}},
                      {{{1}}, {}, Shape{0}},
                      {{{2, 3}}, {}, Shape{2, 3}}},
        },
        {
            .name = "slice",
            .doc = "A box of the tensor, one start, stop and step a dimension; negative ones count "
                   "from the end, as in numpy.",
            .edge = "Starts and stops beyond the ends are cut to them; a step of 0 is an error; "
                    "the box may be empty. "
                    "In programs: the first position, the number of positions and the step of each "
                    "dimension.",
            .traits = Trait::movement,
            .attrs = {{"starts", AttrKind::ints},
                      {"sizes", AttrKind::ints},
                      {"steps", AttrKind::ints}},
            .infer = infer_slice,
            .evaluate = evaluate_slice,
            .cases = {{{{5, 6}}, {Ints{1, 5}, Ints{2, 3}, Ints{2, -2}}},
                      {{{4}}, {Ints{0}, Ints{0}, Ints{1}}},
                      {{{4}}, {Ints{3}, Ints{4}, Ints{-1}}},
                      {{{}}, {Ints{}, Ints{}, Ints{}}},
                      {{{0, 2}}, {Ints{0, 1}, Ints{0, 1}, Ints{1, 7}}}},
        },
        {
            .name = "concat",
            .doc = "Tensors joined along an axis.",
            .edge = "Operands of size 0 along the axis add nothing.",
            .max_inputs = -1,
            .traits = Trait::movement | Trait::promotes,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_concat,
            .evaluate = evaluate_concat,
            .cases = {{{{2, 3}, {2, 1}, {2, 0}}, {std::int64_t{1}}},
                      {{{2, 3}, {4, 3}}, {std::int64_t{0}}},
                      {{{5}}, {std::int64_t{0}}}},
        },
    };
}

}  // namespace lazuli::ops
