#pragma once

// How far a kernel's loops go at the sizes of a run, and how threads share them out.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/phases.h"
#include "codegen/sizes.h"

namespace lazuli::cpu {

/// What a run of a kernel needs to know of its sizes. It is computed once for a binding of them,
/// and serves all runs.
struct Extents {
    struct Part {
        std::int64_t steps = 1;
        std::int64_t grain = 1;  // steps that a thread takes at once
        codegen::Form form = codegen::Form::usual;
    };
    std::vector<std::int64_t> sizes;          // the values of the kernel's variables
    std::vector<Part> parts;                  // one a phase
    std::vector<std::int64_t> scratch_bytes;  // of each buffer of scratch
};

/// The extents of a kernel at any sizes. It holds no expression: any thread may ask it.
class ExtentTable {
   public:
    explicit ExtentTable(const codegen::Kernel& kernel);

    /// Throws ArgumentError where these are not sizes for the kernel.
    Extents at(std::span<const std::int64_t> sizes) const;
    std::size_t parts() const { return parts_.size(); }

   private:
    /// The body of a loop: how many cycles its own statements take, and how often it runs for one
    /// run of the body around it.
    struct Body {
        std::size_t around;
        std::vector<std::size_t> counts;  // results of the table
        double cycles = 0;
    };
    /// A buffer: its elements, a result of the table, and the size of each.
    struct Memory {
        std::size_t elements;
        std::int64_t size;
    };
    struct Part {
        bool parallel = false;
        bool across = false;
        bool tiles = false;
        bool may_be_turned = false;
        bool may_be_flat = false;
        std::size_t steps = 0;        // a result of the table
        std::vector<Memory> large{};  // what must be large for code that is made for that
        std::vector<Body> work{};     // of one step; the first is the loop's own body
    };

    std::size_t add(const codegen::Kernel& kernel, const Expr& size);
    void add(const codegen::Kernel& kernel, const codegen::Block& block, std::size_t body,
             Part& part);
    Memory memory_of(const codegen::KernelBuffer& buffer);
    /// Which code serves it best.
    static codegen::Form form_of(const Part& part, std::span<const std::int64_t> results);
    Extents::Part evaluated(const Part& part, std::span<const std::int64_t> results) const;

    struct Variable {
        std::string name;
        Bounds bounds;
    };
    std::string kernel_;
    std::vector<Variable> variables_;
    codegen::SizeTable table_;
    std::vector<Part> parts_;
    std::vector<Memory> scratch_;
};

}  // namespace lazuli::cpu
