#pragma once

// Running a plan: watched where somebody watches, and blamed on an operation where it fails.

#include <span>
#include <vector>

#include "plan/cache.h"
#include "runtime/watch.h"

namespace lazuli::runtime {

/// Its results, as its backend gives them. `given_away` is what the backend sets where it
/// overwrites an operand.
std::vector<BufferPtr> run_watched(const plan::Plan& plan, const Finding& finding,
                                   std::span<const Binding> bindings, const bool& given_away);

}  // namespace lazuli::runtime
