#include "lazuli/vmap.h"

#include <fmt/format.h>

#include "frontend/bodies.h"
#include "frontend/record.h"
#include "ir/engine.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "ops/batching.h"

namespace lazuli {

using Tensors = std::vector<Tensor>;

namespace {

TensorSpec without_axis(const TensorSpec& spec, int axis) {
    TensorSpec out{spec.dtype, {}};
    for (int d = 0; d < spec.shape.rank(); ++d) {
        if (d != axis) out.shape.push_back(spec.shape.dim(d));
    }
    return out;
}

}  // namespace

Tensors vmap_of(const TensorFunction& function, const Tensors& arguments,
                const std::vector<std::optional<int>>& axes) {
    if (!axes.empty() && axes.size() != arguments.size()) {
        throw ArgumentError(
            fmt::format("vmap: {} axes for {} arguments", axes.size(), arguments.size()));
    }
    std::optional<Dim> count;
    std::size_t first = 0;
    std::vector<TensorSpec> specs;
    std::vector<bool> many;
    Tensors moved;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const TensorSpec& spec = frontend::require_node("vmap", arguments[i]).spec;
        const std::optional<int> axis = axes.empty() ? std::optional(0) : axes[i];
        many.push_back(axis.has_value());
        if (!axis) {
            specs.push_back(spec);
            moved.push_back(arguments[i]);
            continue;
        }
        if (spec.shape.rank() == 0) {
            throw ShapeError(fmt::format("vmap: argument {} is {} and has no axis", i, spec.str()),
                             "rank >= 1", "[]");
        }
        const int at = static_cast<int>(ensure_axis("vmap", *axis, spec.shape));
        const Dim size = spec.shape.dim(at);
        if (count && equal(*count, size) != Truth::yes) {
            throw ShapeError(
                fmt::format(
                    "vmap: argument {} is {} with {} entries along axis {}, and argument {} "
                    "has {}",
                    i, spec.str(), size.str(), at, first, count->str()),
                count->str(), size.str());
        }
        if (!count) first = i;
        count = size;
        specs.push_back(without_axis(spec, at));
        moved.push_back(at == 0 ? arguments[i] : arguments[i].move_axis(at, 0));
    }
    if (!count) throw ArgumentError("vmap: no argument has an axis to run along");
    const Device device = arguments[0].device();
    frontend::Outside outside;
    outside.capture(frontend::record_body("vmap", specs, device, function));
    for (const Tensor& tensor : outside.operands()) {
        many.push_back(false);
        moved.push_back(tensor);
    }
    return record(ops::batched(outside.program(0, specs), many, *count), moved);
}

}  // namespace lazuli
