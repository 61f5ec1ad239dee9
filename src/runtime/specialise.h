#pragma once

// Plans that were bound to sizes and are used often: behind their back a plan with kernels made for
// these numbers is prepared, and takes over when all its code is there. The bits are the same.

#include <cstdint>
#include <memory>

#include "plan/cache.h"

namespace lazuli::runtime {

/// Has the uses of a plan counted that was bound to sizes under this context.
void count_uses(plan::Plan& plan, const plan::Context& context);

/// What is to run now in a plan's place: itself, or the plan that took over.
std::shared_ptr<const plan::Plan> to_run(std::shared_ptr<const plan::Plan> plan);

/// Whether another one took over; nothing is counted.
bool has_successor(const plan::Plan& plan);

/// How many plans have taken over.
std::uint64_t specialised_count();

}  // namespace lazuli::runtime
