#include <fmt/format.h>

#include <cstring>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_iota(const InferArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("iota: axis {} is negative", axis));
    (void)ensure_axis("iota", axis, args.wanted->shape);
    return *args.wanted;
}

void evaluate_iota(const EvalArgs& args) {
    Ints strides = Shape::filled(args.spec->shape.rank(), 0);
    strides[static_cast<int>(args.attrs.integer(0))] = 1;
    dispatch(args.spec->dtype, [&]<class T>() {
        for_each_offset(args.spec->shape, strides, [&](std::int64_t i, std::int64_t at) {
            args.result<T>()[i] = convert<T>(at);
        });
    });
}

TensorSpec infer_gather(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& indices = *args.inputs[1];
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("gather: axis {} is negative", axis));
    const int at = static_cast<int>(ensure_axis("gather", axis, x.shape));
    TensorSpec out{x.dtype, {}};
    for (int i = 0; i < at; ++i) out.shape.push_back(x.shape.dim(i));
    for (int i = 0; i < indices.shape.rank(); ++i) out.shape.push_back(indices.shape.dim(i));
    for (int i = at + 1; i < x.shape.rank(); ++i) out.shape.push_back(x.shape.dim(i));
    return out;
}

void evaluate_gather(const EvalArgs& args) {
    const Shape& x = args.inputs[0].spec->shape;
    const Shape& indices = args.inputs[1].spec->shape;
    const int axis = static_cast<int>(args.attrs.integer(0));
    const std::int64_t size = x[axis];
    std::vector<std::int64_t> positions;
    dispatch(args.inputs[1].spec->dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            const T* in = args.inputs[1].as<T>();
            for (std::int64_t i = 0; i < indices.numel(); ++i) {
                const auto given = static_cast<std::int64_t>(in[i]);
                const bool too_big = std::is_unsigned_v<T> && given < 0;
                const std::int64_t at = given < 0 && !too_big ? given + size : given;
                if (too_big || at < 0 || at >= size) {
                    throw ExecutionError(
                        "gather",
                        fmt::format("index {} at position {} is out of range for axis {} of {}",
                                    Scalar(in[i]).str(), i, axis, x.str()));
                }
                positions.push_back(at);
            }
        }
    });
    std::size_t outer = 1;
    std::size_t inner = size_of(args.spec->dtype);
    for (int i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(x[i]);
    for (int i = axis + 1; i < x.rank(); ++i) inner *= static_cast<std::size_t>(x[i]);
    auto* out = static_cast<unsigned char*>(args.out);
    const auto* in = static_cast<const unsigned char*>(args.inputs[0].data);
    for (std::size_t o = 0; o < outer && inner > 0; ++o) {
        for (const std::int64_t at : positions) {
            std::memcpy(
                out,
                in + (o * static_cast<std::size_t>(size) + static_cast<std::size_t>(at)) * inner,
                inner);
            out += inner;
        }
    }
}

Gradients gather_gradient(const GradientArgs& g) {
    const int axis = static_cast<int>(g.call.attrs.integer(0));
    const Shape x = g[0].shape();
    const Dim count = g[1].shape().count();
    Shape updates = x;
    updates.set(axis, count);
    Shape line = Shape::filled(x.rank(), 1);
    line.set(axis, count);
    const Value where = broadcast_to(reshape(g[1], line), updates);
    const Value zeros = zeros_like(g[0]);
    return {scattered(zeros, reshape(g.cotangent(), updates), where, axis, Scatter::add), {}};
}

}  // namespace

std::vector<OpDef> indexing() {
    return {
        {
            .name = "iota",
            .doc = "The position along an axis: 0, 1, 2, ...",
            .edge =
                "Positions are converted as cast does: narrow integers wrap, floats round to even.",
            .min_inputs = 0,
            .max_inputs = 0,
            .traits = Trait::shaped,
            .dtypes = kReal,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_iota,
            .evaluate = evaluate_iota,
            .lowering = Lowering::position,
            .cases = {{{}, {std::int64_t{0}}, Shape{5}},
                      {{}, {std::int64_t{1}}, Shape{2, 3, 2}},
                      {{}, {std::int64_t{0}}, Shape{0, 2}}},
        },
        {
            .name = "gather",
            .doc = "Elements of the first operand along an axis, picked by a tensor of integer "
                   "positions; negative ones count from the end.",
            .edge = "A position outside the axis is an execution error that names it.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held,
            .dtypes = kIntegers,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_gather,
            .evaluate = evaluate_gather,
            .lowering = Lowering::gather,
            .gradient = gather_gradient,
            .sample = {.low = -2, .high = 1},
            .cases = {{{{4, 3}, {2, 2}}, {std::int64_t{0}}},
                      {{{2, 5}, {3}}, {std::int64_t{1}}},
                      {{{2, 3}, {}}, {std::int64_t{1}}},
                      {{{2, 3}, {0}}, {std::int64_t{0}}}},
        },
    };
}

}  // namespace lazuli::ops
