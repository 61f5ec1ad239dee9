#pragma once

// Where the values of a plan lie while it runs: an order of its steps in which little is alive at
// once, and a place in one arena for each value that does not outlive the plan.

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/steps.h"

namespace lazuli::plan {

/// Values begin at cache lines, and none shares one with another.
constexpr std::int64_t kValueAlignment = 64;

/// Puts the steps into an order that needs little memory, and gives each value that is no result
/// its place. Called once, by `make_steps`.
void plan_memory(Steps& steps);
/// The same for some sizes of a program whose steps serve others as well: what may lie where is
/// found for all of them.
void plan_memory(Steps& steps, const Program& general);

/// Gives each value its place anew, where the sizes are others than those that the steps were
/// ordered for.
void pack_memory(Steps& steps);

}  // namespace lazuli::plan
