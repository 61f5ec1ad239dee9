#pragma once

// What records of reductions share, be they kernels or made of others.

#include <vector>

#include "lazuli/op.h"

namespace lazuli::ops {

/// The operand's shape without the reduced axes, or with size 1 there; the first two attributes are
/// `axes` and `keepdims`.
TensorSpec reduced_spec(const InferArgs& args, DType dtype);
/// `axes` and `keepdims`.
std::vector<AttrDef> reduce_attrs();
/// Shapes and axes every reduction is tested on; `empty` adds those over no element.
std::vector<Case> reduce_cases(bool empty);

}  // namespace lazuli::ops
