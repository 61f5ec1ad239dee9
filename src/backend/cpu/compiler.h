#pragma once

// Kernels as machine code. Equal kernels are compiled once, and freed with the last plan that has
// them. A small kernel need not wait: it is interpreted until its code is there.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/cpu/extents.h"
#include "backend/cpu/object.h"
#include "codegen/kernel.h"
#include "codegen/phases.h"
#include "jit/compile.h"

namespace lazuli::cpu {

/// Machine code that can run.
class Code {
   public:
    /// The functions of that many phases.
    Code(std::span<const char> object, std::size_t phases);
    std::size_t phases() const { return phases_.size(); }
    /// A phase in a form; in the usual one where it has no other.
    LazuliPhase phase(std::size_t number, codegen::Form form) const {
        return phases_[number][static_cast<std::size_t>(form)];
    }
    std::size_t bytes() const { return object_.bytes(); }

   private:
    Object object_;
    std::vector<std::array<LazuliPhase, std::size(codegen::kForms)>> phases_;
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
    /// How far it goes, at any sizes.
    const ExtentTable& extents() const { return extents_; }
    /// The same for a kernel without variables.
    const Extents& only_extents() const { return only_; }
    /// Reads the code from disk; false where it is not there. As `make`, under NoFork.
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
    const ExtentTable extents_;
    const Extents only_;
    std::mutex making_;
    std::unique_ptr<Code> own_;
    std::atomic<const Code*> made_{nullptr};
};

/// The code of a kernel, or null where kernels are not compiled: there is no compiler, or the
/// kernel holds what it does not know.
std::shared_ptr<const Compiled> code_of(const codegen::Kernel& kernel);

/// How often this process has compiled a kernel; what was found on disk is not counted.
std::size_t codes_made();

/// The object file that the compiler makes of a kernel; there must be one.
std::vector<char> object_of(const codegen::Kernel& kernel);

/// The assembly of a kernel, for people; empty where there is none.
std::string assembly_of(const codegen::Kernel& kernel);

}  // namespace lazuli::cpu
