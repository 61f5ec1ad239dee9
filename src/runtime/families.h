#pragma once

// Graphs that return with other sizes. When one does with a third value of some size, a plan is
// made for all values of the sizes that differ, and serves it from then on.

#include <cstdint>
#include <memory>

#include "ir/graph.h"
#include "plan/cache.h"

namespace lazuli::runtime {

/// The plan of a graph that has none of its own: bound to its sizes where a general plan serves
/// them, or can be made now. Null where neither is so, or where generalising is switched off.
std::shared_ptr<plan::Plan> general_plan(const ir::Capture& captured, const plan::Context& context);

/// The same where there is a general plan already; nothing is kept.
std::shared_ptr<const plan::Plan> peek_general_plan(const ir::Capture& captured,
                                                    const plan::Context& context);

/// How many plans were made for sizes that differ.
std::uint64_t general_plan_count();

/// Forgets all recordings and general plans.
void clear_families();

}  // namespace lazuli::runtime
