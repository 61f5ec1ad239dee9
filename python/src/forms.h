#pragma once

#include "common.h"

namespace lazuli::python {

/// Functions that numpy calls with other arguments than C++ does.
void bind_forms(nb::module_& m);

}  // namespace lazuli::python
