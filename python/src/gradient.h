#pragma once

#include "common.h"

namespace lazuli::python {

/// `requires_grad` and `grad`.
void bind_gradient_properties(nb::class_<Tensor>& type);

}  // namespace lazuli::python
