#pragma once

// The engine: captures a graph, finds or makes its plan, runs it, and hands the results to the
// nodes.

#include <memory>

#include "ir/engine.h"
#include "lazuli/program.h"

namespace lazuli::plan {
struct Plan;
}

namespace lazuli::runtime {

/// Plans a program for a device, by the policies that hold on this thread.
std::shared_ptr<const plan::Plan> make_plan(const Program& program, Device device);

/// Makes the built-in backends known, once.
void ensure_builtin_backends();

}  // namespace lazuli::runtime

/// Defined by the backend layer, which registers the built-in backends, the reference backend
/// first. Weak: a program that links no backends registers its own.
extern "C" void lazuli_install_backends() __attribute__((weak));
