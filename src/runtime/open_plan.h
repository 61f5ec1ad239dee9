#pragma once

// Programs with variables: one plan for all their values, which is bound to those of a call.

#include <memory>

#include "ir/open_program.h"
#include "lazuli/program.h"

namespace lazuli::runtime {

/// A program, to be run at any values of its variables. Planned when it is first needed.
std::unique_ptr<ir::OpenProgram> open(const Program& program, Device device);

/// How many plans were made for single sizes of them.
std::uint64_t own_plan_count();

}  // namespace lazuli::runtime
