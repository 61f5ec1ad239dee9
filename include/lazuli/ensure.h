#pragma once

/// @file
/// Checks for ops of one's own: each throws the error class of its kind with the op's name and both
/// sides.

#include <string_view>

#include "lazuli/arguments.h"
#include "lazuli/op.h"
#include "lazuli/tensor.h"

namespace lazuli {

/// Both tensors live on one device; else DeviceError.
void ensure_same_device(std::string_view op, const Tensor& a, const Tensor& b);
/// Both have the same element type; else DTypeError.
void ensure_same_dtype(std::string_view op, const TensorSpec& a, const TensorSpec& b);
/// The element type is among those; else DTypeError.
void ensure_dtype(std::string_view op, const TensorSpec& spec, DTypeSet allowed);
/// The rank lies between the bounds; else ShapeError.
void ensure_rank(std::string_view op, const TensorSpec& spec, int least, int most);
/// The shape is this one; -1 fits any size. Else ShapeError.
void ensure_shape(std::string_view op, const TensorSpec& spec, const Shape& expected);
/// Both shapes are equal; else ShapeError.
void ensure_same_shape(std::string_view op, const TensorSpec& a, const TensorSpec& b);

}  // namespace lazuli
