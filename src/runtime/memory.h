#pragma once

// Host memory for tensors: aligned, counted, bounded.

#include <cstdint>

#include "lazuli/backend.h"

namespace lazuli::runtime {

/// Bytes that buffers take now.
std::uint64_t buffer_bytes();
/// Bytes they may take, and bytes that may be kept for those to come.
std::uint64_t memory_limit();
std::uint64_t cache_limit();
/// What the machine has.
std::uint64_t machine_memory();

/// Counts bytes as in use, or throws OutOfMemory where the limit does not allow them.
void take_bytes(std::uint64_t bytes);
void give_bytes(std::uint64_t bytes);

/// Tells the calling thread to evaluate pending work soon where buffers grew beyond the bound since
/// that was last done.
void note_growth();

/// Gives memory that is kept for work to come back to the system.
void drop_spare_memory();

}  // namespace lazuli::runtime
