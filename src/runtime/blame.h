#pragma once

// Which operation of a program failed, and why.

#include <span>

#include "lazuli/backend.h"

namespace lazuli::runtime {

/// Kernels that find a bad operand know little about it. This computes the program's operations on
/// the reference backend one after the other, and throws what the first that fails says, under its
/// own name: that of a composite, and not of what it is built of. Returns where none fails, where a
/// function of the user's would be called again, or where the host does not see the operands.
void blame(const Program& program, std::span<const Binding> params);

}  // namespace lazuli::runtime
