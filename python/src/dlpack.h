#pragma once

#include "common.h"

namespace lazuli::python {

/// `__dlpack__` and `__dlpack_device__`.
void bind_dlpack(nb::class_<Tensor>& type);

}  // namespace lazuli::python
