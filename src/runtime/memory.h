#pragma once

// Host memory for tensors: aligned, counted, bounded.

#include <cstdint>

#include "lazuli/backend.h"

namespace lazuli::runtime {

/// Bytes that buffers take now.
std::uint64_t buffer_bytes();
/// Bytes they may take.
std::uint64_t memory_limit();
/// Tells the calling thread to evaluate pending work soon where buffers grew beyond the bound since
/// that was last done.
void note_growth();

/// Gives memory that is kept for buffers to come back to the system.
void drop_spare_memory();

}  // namespace lazuli::runtime
