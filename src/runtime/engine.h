#pragma once

// The engine: captures a graph, finds or makes its plan, runs it, and hands the results to the
// nodes.

#include "ir/engine.h"

namespace lazuli::runtime {

/// Makes the built-in backends known, once.
void ensure_builtin_backends();

}  // namespace lazuli::runtime

/// Defined by the backend layer, which registers the built-in backends, the reference backend
/// first. Weak: a program that links no backends registers its own.
extern "C" void lazuli_install_backends() __attribute__((weak));
