#pragma once

// Which operations become one kernel.

#include <string>
#include <vector>

#include "codegen/lower.h"
#include "lazuli/program.h"

namespace lazuli::plan {

/// When a value is stored and read back, and when it is computed again where it is needed. Limits
/// are how often an element may be computed, as a multiple of how many elements there are.
struct GroupCosts {
    double reduction = 1;       // sums and products over an axis: never again
    double elementwise = 4;     // functions of elements
    double cheap = 16;          // an instruction that reads no more than storing it would save
    std::size_t largest = 256;  // operations in one kernel
};

/// A kernel to be, or an operation that its backend computes by itself.
struct Grouped {
    codegen::Group group;
    bool opaque = false;
    std::string why;  // why its outputs are stored, where they are no results
};

/// Every operation that a result needs, in groups, each behind those it reads.
std::vector<Grouped> group(const Program& program, const GroupCosts& costs = {});

}  // namespace lazuli::plan
