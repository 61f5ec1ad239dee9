#pragma once

// Programs with variables: one plan for all their values, which is bound to those of a call.

#include <memory>

#include "ir/open_program.h"
#include "lazuli/program.h"

namespace lazuli::runtime {

/// A program, to be run at any values of its variables. Planned when it is first needed.
std::unique_ptr<ir::OpenProgram> open(const Program& program, Device device);

/// Figures about all of them.
struct OpenStats {
    std::uint64_t plans = 0;      // for all sizes
    std::uint64_t bindings = 0;   // of such plans
    std::uint64_t own_plans = 0;  // for single sizes
};
OpenStats open_stats();

}  // namespace lazuli::runtime
