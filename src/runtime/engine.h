#pragma once

// The table by which recording calls down to whoever computes.

#include "ir/engine.h"
#include "lazuli/program.h"

namespace lazuli::runtime {

/// Makes the built-in backends known, once.
void ensure_builtin_backends();

}  // namespace lazuli::runtime

/// Defined by the backend layer, which registers the built-in backends, the reference backend
/// first. Weak: a program that links no backends registers its own.
extern "C" void lazuli_install_backends() __attribute__((weak));
