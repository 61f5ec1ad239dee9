#pragma once

#include <llvm/IR/Module.h>

#include "codegen/kernel.h"

namespace lazuli::jit {

struct EmitOptions {
    int width = 512;         // bits of a vector
    bool streams = false;    // large outputs are written past the cache
    bool has_scale = false;  // vscalefps
};

/// The kernel as functions phase0, phase1, ... of a module, and other forms of phases that some
/// runs take.
void emit(const codegen::Kernel& kernel, const EmitOptions& options, llvm::Module& module);

}  // namespace lazuli::jit
