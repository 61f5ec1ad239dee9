#pragma once

#include "common.h"

namespace lazuli::python {

/// `self[key]`, by numpy's rules.
PyObject* subscript(PyObject* self, PyObject* key) noexcept;

}  // namespace lazuli::python
