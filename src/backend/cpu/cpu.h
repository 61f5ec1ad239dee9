#pragma once

#include <memory>

#include "lazuli/backend.h"

namespace lazuli::backend {

/// Fused kernels as machine code on the host's processors; interpreted where they cannot be
/// compiled.
std::unique_ptr<Backend> make_cpu();

}  // namespace lazuli::backend
