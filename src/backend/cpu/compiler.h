#pragma once

// Kernels as machine code. Equal kernels are compiled once, and freed with the last plan that has
// them.

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/object.h"
#include "codegen/kernel.h"
#include "codegen/phases.h"
#include "jit/compile.h"

namespace lazuli::cpu {

/// A kernel that can run.
class Code {
   public:
    Code(std::span<const char> object, std::vector<codegen::Phase> phases);
    struct Part {
        LazuliPhase run;
        codegen::Phase phase;
        std::int64_t grain = 1;  // steps that a thread takes at once
    };
    const std::vector<Part>& parts() const { return parts_; }
    std::size_t bytes() const { return object_.bytes(); }
    void set_grains(const codegen::Kernel& kernel);

   private:
    Object object_;
    std::vector<Part> parts_;
};

/// The code of a kernel, or null where kernels are not compiled: there is no compiler, or the
/// kernel holds what it does not know.
std::shared_ptr<const Code> code_of(const codegen::Kernel& kernel);

/// The object file that the compiler makes of a kernel; there must be one.
std::vector<char> object_of(const codegen::Kernel& kernel);

/// The assembly of a kernel, for people; empty where there is none.
std::string assembly_of(const codegen::Kernel& kernel);

}  // namespace lazuli::cpu
