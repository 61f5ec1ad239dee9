#pragma once

// Where nodes live: slabs of equal slots, owned by one thread each. The owner takes and gives back
// slots without a lock or an atomic; other threads give slots back through a list that the owner
// empties when it runs out. When a thread ends, its arena waits for the next thread to take it
// over, so there are never more arenas than there were threads at once.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/node.h"

namespace lazuli::ir {

constexpr std::size_t kSlotBytes = sizeof(Node);
constexpr std::size_t kSlotWords = kSlotBytes / sizeof(std::uint64_t);
constexpr std::size_t kSlabBytes = std::size_t{2} << 20;  // a huge page

/// A counter that only its owner changes and anybody may read.
class OwnedCounter {
   public:
    void add(std::uint64_t n) {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<std::uint64_t> value_{0};
};

/// What a thread is doing besides recording; read at every recorded operation, so it sits with the
/// arena.
struct RecordingMode {
    int eager = 0;                // depth of eager scopes
    void* graph_scope = nullptr;  // innermost GraphScope's state
    int hold_flush = 0;  // depth of scopes in which pending work must not be evaluated by itself
    int bodies = 0;      // depth of functions that are recorded with arguments that have no value
    int no_grad = 0;     // depth of scopes in which gradients take results for numbers
    int sources = 0;     // depth of scopes that remember where operations are recorded
    bool pressure = false;  // buffers grew beyond the bound: evaluate at the next operation
    bool unusual = false;   // any of the above asks for attention after recording
    std::uint32_t flush_depth = UINT32_MAX;  // the bound as it was set
    std::uint32_t flush_limit =
        UINT32_MAX;  // a node at least this deep is evaluated at once; lower while many nodes live

    std::uint32_t flush_backoff =
        0;  // raised where evaluating failed, so that not every operation tries again

    /// Whether what a body records is to be told apart by its gradients, which it has later.
    bool records_numbers() const { return bodies > 0 && no_grad > 0; }
    void update() {
        unusual =
            eager > 0 || graph_scope != nullptr || sources > 0 || pressure || records_numbers();
    }
};

class Arena {
   public:
    explicit Arena(std::uint32_t index) : index_(index) {}

    /// A slot of kSlotBytes. Owner only.
    void* allocate() {
        Slot* slot = free_;
        if (slot != nullptr) {
            free_ = slot->next;
            reused_.add(1);
        } else {
            slot = allocate_slow();
        }
        taken_.add(1);
        return slot;
    }
    /// Gives back a slot that nothing was recorded in. Owner only.
    void take_back(void* pointer) noexcept {
        free_ = new (pointer) Slot{free_};
        taken_.add(static_cast<std::uint64_t>(-1));
    }
    /// Gives a slot back, from any thread.
    static void free(void* pointer) noexcept;
    /// The next node id. Owner only.
    std::uint64_t next_id() { return (static_cast<std::uint64_t>(index_) << 40) | ++ids_; }
    std::uint64_t current_id() const { return (static_cast<std::uint64_t>(index_) << 40) | ids_; }
    /// Slots in use, as far as the owner knows.
    std::uint64_t live() const {
        return taken_.get() - given_.get() - given_remote_.load(std::memory_order_relaxed);
    }
    /// Sets the depth at which pending work is evaluated, by how many nodes live. Owner only.
    void update_flush_limit();
    /// Gives slabs without a live slot back to the system. Owner only.
    void trim();

    RecordingMode mode;

   private:
    friend struct ArenaStats;
    friend struct ArenaPool;
    struct Slot {
        Slot* next;
    };
    struct Slab {
        Arena* owner;
    };
    static Slab* slab_of(const void* slot) {
        return reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(slot) & ~(kSlabBytes - 1));
    }
    Slot* allocate_slow();
    void free_remote(Slot* slot) noexcept;
    bool collect_remote();

    Slot* free_ = nullptr;
    std::byte* bump_ = nullptr;
    std::byte* bump_end_ = nullptr;
    std::uint64_t ids_ = 0;
    std::uint32_t index_;
    OwnedCounter taken_;
    OwnedCounter given_;
    OwnedCounter reused_;
    OwnedCounter carved_;  // slots that were ever cut from a slab: the most there were at once
    std::atomic<std::uint64_t> slab_count_{0};
    std::vector<Slab*> slabs_;
    alignas(64) std::atomic<Slot*> remote_{nullptr};
    std::atomic<std::uint64_t> given_remote_{0};
};

/// Sums over all arenas.
struct ArenaStats {
    std::uint64_t live = 0;
    std::uint64_t peak = 0;
    std::uint64_t reused = 0;
    std::uint64_t recorded = 0;
    std::uint64_t bytes = 0;
};
ArenaStats arena_stats();

extern constinit thread_local Arena* tls_arena;
Arena& acquire_arena();

inline void Arena::free(void* pointer) noexcept {
    auto* slot = static_cast<Slot*>(pointer);
    Arena* owner = slab_of(pointer)->owner;
    if (owner != tls_arena) return owner->free_remote(slot);
    slot->next = owner->free_;
    owner->free_ = slot;
    owner->given_.add(1);
}

/// The calling thread's arena.
inline Arena& arena() { return tls_arena != nullptr ? *tls_arena : acquire_arena(); }

}  // namespace lazuli::ir
