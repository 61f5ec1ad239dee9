#include "ops/lines.h"

#include <fmt/format.h>

#include "lazuli/error.h"

namespace lazuli::ops {

Lines lines_of(const Shape& shape, std::int64_t axis) {
    Lines out;
    for (int i = 0; i < shape.rank(); ++i)
        (i < axis ? out.outer : i == axis ? out.size : out.inner) *= shape[i];
    return out;
}

std::int64_t checked_axis(const InferArgs& args, int index) {
    const std::int64_t axis = args.attrs.integer(index);
    if (axis < 0) throw IndexError(fmt::format("{}: axis {} is negative", args.op.name, axis));
    return ensure_axis(args.op.name, axis, args.inputs[0]->shape);
}

std::int64_t ensure_new_axis(std::string_view op, Axis axis, const Shape& shape) {
    const std::int64_t rank = shape.rank() + 1;
    if (axis.value < -rank || axis.value >= rank) {
        throw IndexError(
            fmt::format("{}: axis {} is out of range for a new axis of {} (from {} to {})", op,
                        axis.value, shape.str(), -rank, rank - 1));
    }
    return axis.value < 0 ? axis.value + rank : axis.value;
}

DType summed_type(DType dtype) {
    if (dtype == DType::boolean || (is_integer(dtype) && info(dtype).is_signed)) return i64;
    return is_integer(dtype) ? u64 : dtype;
}

}  // namespace lazuli::ops
