#pragma once

// The lines of a tensor along one axis: what sorting, scanning and picking work on.

#include <cstdint>

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

/// The type in which numpy sums: bool and integers in 64 bits, others in their own.
DType summed_type(DType dtype);

}  // namespace lazuli::ops
