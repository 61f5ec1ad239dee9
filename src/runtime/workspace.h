#pragma once

// Arenas: memory that plans compute in. A thread has one, at an address that never changes: a range
// that is reserved, committed as plans need it, and kept from plan to plan.

#include <cstddef>
#include <cstdint>

namespace lazuli::runtime {

/// A piece of the thread's arena, above the pieces that are in use there already: a plan may run
/// another within one of its steps. Pieces end in the opposite order, on the same thread.
class Workspace {
   public:
    /// OutOfMemory where the memory limit, or the machine, has no room.
    explicit Workspace(std::size_t bytes);
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    /// Its first byte, on a cache line; null where it has none.
    std::byte* data() const { return data_; }

   private:
    std::byte* data_ = nullptr;
    std::size_t bytes_;
};

/// Bytes that arenas hold and no plan uses now.
std::uint64_t idle_arena_bytes();
/// Gives back what arenas hold and no plan uses, but for `keep` bytes.
void trim_arenas(std::uint64_t keep = 0);

}  // namespace lazuli::runtime
