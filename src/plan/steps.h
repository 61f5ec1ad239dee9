#pragma once

// A program as the steps that a backend of kernels takes, in order.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lower.h"
#include "codegen/sizes.h"
#include "lazuli/prepared.h"
#include "lazuli/program.h"

namespace lazuli::plan {

/// Where a value is while the plan runs.
struct Place {
    enum class Kind : std::uint8_t { param, result, arena };
    Kind kind = Kind::param;
    std::int64_t at = 0;  // the parameter's or result's number, or an offset in bytes
};

/// One launch.
struct Step {
    std::shared_ptr<const codegen::Kernel> kernel;  // null: an operation that its record evaluates
    std::vector<ValueRef> buffers;                  // one for each of the kernel's
    std::vector<Place> places;                      // of those
    std::vector<ValueRef> outputs;
    // An operand that nobody reads behind this step, and an output that may lie where it does.
    std::vector<std::pair<ValueRef, ValueRef>> in_place;
    codegen::Group group;  // what it computes
    // The output in whose place a product is computed, element by element before its epilogue; else
    // it has room of its own.
    std::optional<ValueRef> product_in;
    // Room in the arena that a step computes in, beside its operands and results. For a product:
    // operands that are made for it, then what it is before its epilogue.
    std::int64_t room = -1;  // -1: none
    std::int64_t room_bytes = 0;
    std::string text;  // for people
    std::string why;   // why its outputs are stored, where they are no results

    /// Whether it writes that one of its buffers.
    bool writes(std::size_t buffer) const {
        return kernel != nullptr ? kernel->buffers[buffer].written : buffer + 1 == buffers.size();
    }
};

/// The memory that steps need besides parameters and results.
struct MemoryPlan {
    std::vector<std::int64_t> offsets;  // of each operation's value in the arena; -1: not there
    std::int64_t peak = 0;              // bytes of the arena
    std::int64_t bound = 0;             // the most bytes alive at once: none has a lower peak
    std::int64_t greedy_peak = 0;       // what orders of packing alone gave
    std::int64_t recorded_peak = 0;     // the most alive at once, steps in the order of recording
    std::int64_t unplanned = 0;         // a buffer for every operation that is no movement
    std::string_view method;            // what found the packing
};

/// A result that may lie where a parameter does, whose last reader makes it.
struct Takeover {
    std::size_t param = 0;
    std::size_t result = 0;  // among those that are computed
    std::size_t step = 0;    // which overwrites it
    bool is_window = false;  // only a part of it, which can be put back
};

struct Steps {
    Program program;                  // optimised
    std::vector<std::int64_t> sizes;  // the values of the kernels' variables; none: they have none
    std::vector<Step> all;
    std::size_t kernels = 0;  // different ones: steps of equal code share one
    MemoryPlan memory;
    std::vector<PassInfo> passes;            // that changed something, where they are kept
    std::vector<Place> results;              // of the program: parameters, or computed here
    std::vector<std::int64_t> result_bytes;  // one for each that is computed
    std::vector<Takeover> takeovers;         // each parameter and each result once, by steps

    /// About how much memory it takes.
    std::size_t bytes() const;
};

/// The steps of a program without composites: optimised, grouped, lowered.
Steps make_steps(const Program& program);

/// Steps for all values of a program's variables: the kernels have these too, and the order of
/// steps is one for all. Used by one thread at a time.
struct OpenSteps {
    Program program;  // optimised, with variables
    Steps pattern;    // at some sizes
    std::vector<std::string> variables;
    codegen::SizeTable conditions;  // of the sizes: kernels are right where no result is 0
};

/// The steps of a program with variables and without composites. Throws ShapeError where something
/// needs numbers.
OpenSteps make_open_steps(const Program& program);
/// The steps at these values of the variables, of which there may be more; none where kernels of
/// their own would give other bits.
std::optional<Steps> bind_steps(const OpenSteps& open, std::span<const SizeBinding> values);

/// The kernel of a group as backends run it: lowered, its loops joined, spelled out.
codegen::Lowered make_kernel(const Program& program, const codegen::Group& group, std::string name);

}  // namespace lazuli::plan
