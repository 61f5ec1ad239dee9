#pragma once

// A program as the steps that a backend of kernels takes, in order.

#include <memory>
#include <string>
#include <vector>

#include "codegen/lower.h"
#include "lazuli/program.h"

namespace lazuli::plan {

/// One launch, and the values that nobody reads behind it.
struct Step {
    std::shared_ptr<const codegen::Kernel> kernel;  // null: an operation that its record evaluates
    std::vector<ValueRef> buffers;                  // one for each of the kernel's
    std::vector<ValueRef> outputs;
    std::vector<std::uint32_t> dying;  // operations whose values end here
    codegen::Group group;              // what it computes
    std::string text;                  // for people
};

struct Steps {
    Program program;  // optimised
    std::vector<Step> all;
    std::size_t kernels = 0;  // different ones: steps of equal code share one

    /// About how much memory it takes.
    std::size_t bytes() const;
    /// One line a step: what is in it, what it reads and writes.
    std::vector<std::string> lines() const;
};

/// The steps of a program without composites: optimised, grouped, lowered.
Steps make_steps(const Program& program);

/// The kernel of a group as backends run it: lowered, its loops joined, spelled out.
codegen::Lowered make_kernel(const Program& program, const codegen::Group& group, std::string name);

}  // namespace lazuli::plan
