#pragma once

// Kernels as machine code. Equal kernels are compiled once, and freed with the last plan that has
// them. A small kernel need not wait: it is interpreted until its code is there.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/cpu/object.h"
#include "codegen/kernel.h"
#include "codegen/phases.h"
#include "jit/compile.h"

namespace lazuli::cpu {

/// Machine code that can run.
class Code {
   public:
    struct Part {
        LazuliPhase run;
        codegen::Phase phase;
        std::int64_t grain = 1;  // steps that a thread takes at once
    };
    /// The parts of a kernel, without their code.
    static std::vector<Part> parts_of(const codegen::Kernel& kernel);
    Code(std::span<const char> object, std::vector<Part> parts);
    const std::vector<Part>& parts() const { return parts_; }
    std::size_t bytes() const { return object_.bytes(); }

   private:
    Object object_;
    std::vector<Part> parts_;
};

/// A kernel and its code, as soon as that is there.
class Compiled {
   public:
    Compiled(const codegen::Kernel& kernel, std::string text);
    /// The code, or null while it is being made.
    const Code* code() const {
        const Code* made = made_.load(std::memory_order_acquire);
        if (made == nullptr) remind();
        return made;
    }
    /// Reads the code from disk; false where it is not there. As `make`, under InsideCompiler.
    bool find();
    /// Makes the code, unless it is there. Throws InternalError where the compiler refuses.
    void make();
    /// About how much memory it takes.
    std::size_t bytes() const { return made_.load() == nullptr ? 4096 : made_.load()->bytes(); }

   private:
    void load(std::span<const char> object);
    /// Sees to it that code which was to be made behind is being made: a forked process has lost
    /// who did.
    static void remind();

    // Nothing of the kernel itself: it is compiled beside threads that use its expressions.
    const std::string text_;
    const std::vector<Code::Part> parts_;
    std::mutex making_;
    std::unique_ptr<Code> own_;
    std::atomic<const Code*> made_{nullptr};
};

/// The code of a kernel, or null where kernels are not compiled: there is no compiler, or the
/// kernel holds what it does not know.
std::shared_ptr<const Compiled> code_of(const codegen::Kernel& kernel);

/// The object file that the compiler makes of a kernel; there must be one.
std::vector<char> object_of(const codegen::Kernel& kernel);

/// The assembly of a kernel, for people; empty where there is none.
std::string assembly_of(const codegen::Kernel& kernel);

}  // namespace lazuli::cpu
