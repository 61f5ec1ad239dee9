#pragma once

// Why recording had to wait for values.

#include <string_view>

namespace lazuli::frontend {

/// Counts a wait. Reasons are few and fixed; see `waits()` in lazuli/graph.h.
void count_wait(std::string_view reason);

}  // namespace lazuli::frontend
