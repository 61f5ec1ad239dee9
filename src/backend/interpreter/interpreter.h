#pragma once

#include <memory>

#include "lazuli/backend.h"

namespace lazuli::backend {

/// The device `interpreter`: programs become kernels as they do for machine code, and the kernels
/// are interpreted. It shows that grouping and lowering are right, apart from code generation.
std::unique_ptr<Backend> make_interpreter();

}  // namespace lazuli::backend
