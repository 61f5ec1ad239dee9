#pragma once

// The policies in force, as planning sees them.

#include <cstdint>

#include "lazuli/functional.h"

namespace lazuli::frontend {

/// A number for the set of policies that hold on this thread: equal sets have equal numbers. Part
/// of a plan's key.
std::uint64_t policy_set();

}  // namespace lazuli::frontend
