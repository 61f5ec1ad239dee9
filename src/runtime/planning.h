#pragma once

// From a captured graph to its plan: found in the cache, or made.

#include <memory>

#include "ir/graph.h"
#include "lazuli/backend.h"
#include "lazuli/graph.h"
#include "plan/cache.h"
#include "plan/expand.h"
#include "runtime/watch.h"

namespace lazuli::runtime {

/// Plans a program for a device, by the policies that hold on this thread.
std::shared_ptr<plan::Plan> make_plan(const Program& program, Device device);

/// What a backend takes whole of a program's composites.
plan::ExpandOptions expand_options(Backend& backend);

/// What else tells plans apart, on this thread.
plan::Context context_of(Device device);

/// The plan of a captured graph, found or made, by the policies that hold on this thread. Where
/// somebody watches, `finding` says how.
std::shared_ptr<const plan::Plan> find_plan(const ir::Capture& captured, Device device,
                                            Finding& finding);

/// What `find_plan` would find; nothing is counted.
plan::Cache::Found peek_plan(const ir::Capture& captured, Device device);

/// Why there was no plan, in words.
std::string_view reason(Miss why);
/// Why a plan was not found, in words; empty where it was.
std::string_view why_not_found(const Finding& finding);

CacheStats plan_cache_stats();
void clear_plans();

}  // namespace lazuli::runtime
