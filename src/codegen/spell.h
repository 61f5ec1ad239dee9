#pragma once

#include "codegen/kernel.h"

namespace lazuli::codegen {

/// Spells a kernel out in what machines have: elements of f16 and bf16 are computed in f32 between
/// their load and their store, and functions that have an expansion become primitives. It is what
/// interpreters and compilers run alike.
void spell_out(Kernel& kernel);

}  // namespace lazuli::codegen
