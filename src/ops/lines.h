#pragma once

// The lines of a tensor along one axis: what sorting, scanning and picking work on.

#include <cstdint>

#include "lazuli/arguments.h"
#include "lazuli/op.h"

namespace lazuli::ops {

/// `outer` times `inner` lines of `size` elements, which lie `inner` elements apart.
struct Lines {
    std::int64_t outer = 1;
    std::int64_t size = 1;
    std::int64_t inner = 1;

    std::int64_t count() const { return outer * inner; }
    /// Where line `i` of all begins.
    std::int64_t begin(std::int64_t i) const { return i / inner * size * inner + i % inner; }
};

Lines lines_of(const Shape& shape, std::int64_t axis);

/// Attribute `index` as an axis of the first operand; IndexError where it has no such axis.
std::int64_t checked_axis(const InferArgs& args, int index);

/// Where among the axes of `shape` a new one stands, counted from the front; negative ones count
/// from the end of the result's. IndexError naming `op` where there is no such place.
std::int64_t ensure_new_axis(std::string_view op, Axis axis, const Shape& shape);

/// The type in which numpy sums: bool and integers in 64 bits, others in their own.
DType summed_type(DType dtype);

}  // namespace lazuli::ops
