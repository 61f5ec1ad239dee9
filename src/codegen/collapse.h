#pragma once

#include "codegen/kernel.h"

namespace lazuli::codegen {

/// Makes one loop of two that stand in each other where that costs nothing inside: threads get more
/// steps to share out, and vectors longer rows. Every element is computed as before.
void collapse_loops(Kernel& kernel);

}  // namespace lazuli::codegen
