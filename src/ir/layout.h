#pragma once

// How elements lie in memory.

#include "lazuli/backend.h"

namespace lazuli::ir {

/// Strides of a dense row-major tensor, in bytes.
Ints dense_byte_strides(const TensorSpec& spec);

/// Copies elements that lie at these strides (in bytes) to `out`, dense and row-major.
void copy_dense(const void* from, const Ints& strides, const TensorSpec& spec, void* out);

}  // namespace lazuli::ir
