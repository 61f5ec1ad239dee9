#pragma once

// Results of ops that have several.

#include <span>
#include <vector>

#include "lazuli/tensor.h"

namespace lazuli::frontend {

/// The tensors in a bundle whose op has these results.
std::vector<Tensor> unbundle(const Tensor& bundle, std::span<const TensorSpec> results);

}  // namespace lazuli::frontend
