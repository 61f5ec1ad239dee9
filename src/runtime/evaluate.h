#pragma once

// Values on demand: at once, or beside the thread that asks.

#include <span>

#include "ir/node.h"

namespace lazuli::runtime {

/// Makes the targets available, or throws why not. A view has no value of its own: its base has.
void evaluate(std::span<ir::Node* const> targets);

}  // namespace lazuli::runtime
