#pragma once

/// @file
/// The host memory that tensors' values take: how much there is of it, and bounds for it.

#include <cstdint>

namespace lazuli {

/// Figures about the host memory that tensors' values take.
struct MemoryStats {
    std::uint64_t bytes = 0;        ///< In use now: buffers, and what running plans compute in.
    std::uint64_t peak = 0;         ///< The most that was in use at once since `reset_peak_memory`.
    std::uint64_t spare = 0;        ///< Kept for work to come; `clear_caches` gives it back.
    std::uint64_t limit = 0;        ///< The bound of what is in use.
    std::uint64_t cache_limit = 0;  ///< The bound of what is kept.
};
/// The figures now.
MemoryStats memory_stats();

/// Bounds the bytes in use, from now on; what is beyond them now stays. 0 means what the machine
/// has. An evaluation that needs more throws OutOfMemory, and its tensors can be asked for again.
/// LAZULI_MEMORY_LIMIT says the bound at the start. Returns the bound before.
std::uint64_t set_memory_limit(std::uint64_t bytes);
/// Bounds the bytes that are kept for work to come, and gives back what is beyond them; 0 keeps
/// none. LAZULI_CACHE_LIMIT says the bound at the start, a quarter of the memory limit where it is
/// empty. Returns the bound before.
std::uint64_t set_cache_limit(std::uint64_t bytes);
/// Begins the count of the peak anew, from what is in use now.
void reset_peak_memory();

}  // namespace lazuli
