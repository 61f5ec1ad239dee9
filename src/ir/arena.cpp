#include "ir/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/env.h"

namespace lazuli::ir {

constinit thread_local Arena* tls_arena = nullptr;

namespace {

constexpr std::size_t kFirstSlot = kSlotBytes;  // the header takes the room of one slot
constexpr std::size_t kSlotsInSlab = (kSlabBytes - kFirstSlot) / kSlotBytes;

}  // namespace

struct ArenaPool {
    std::mutex mutex;
    std::vector<std::unique_ptr<Arena>> all;
    std::vector<Arena*> idle;

    Arena* take() {
        const std::scoped_lock lock(mutex);
        if (!idle.empty()) {
            Arena* arena = idle.back();
            idle.pop_back();
            return arena;
        }
        all.push_back(std::make_unique<Arena>(static_cast<std::uint32_t>(all.size() + 1)));
        return all.back().get();
    }
    void give(Arena* arena) {
        arena->mode = {};
        const std::scoped_lock lock(mutex);
        idle.push_back(arena);
    }
    ArenaStats stats() {
        const std::scoped_lock lock(mutex);
        ArenaStats sum;
        for (const auto& arena : all) {
            sum.live += arena->live();
            sum.peak += arena->carved_.get();
            sum.reused += arena->reused_.get();
            sum.recorded += arena->taken_.get();
            sum.bytes += arena->slab_count_.load(std::memory_order_relaxed) * kSlabBytes;
        }
        return sum;
    }
};

namespace {

ArenaPool& pool() {
    static ArenaPool& p = *new ArenaPool;  // outlives every tensor, static ones too
    return p;
}

struct ThreadEnd {
    ~ThreadEnd() {
        if (tls_arena != nullptr) pool().give(tls_arena);
        tls_arena = nullptr;
    }
};

}  // namespace

Arena& acquire_arena() {
    static thread_local ThreadEnd at_end;
    (void)at_end;
    const std::int64_t depth = env::integer(env::Var::flush_depth);  // may throw
    tls_arena = pool().take();
    tls_arena->mode.flush_depth =
        depth == 0 || depth > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(depth);
    tls_arena->update_flush_limit();
    const bool inspects = env::flag(env::Var::nan_check) || env::flag(env::Var::debug_tensors);
    tls_arena->mode.sources = inspects ? 1 : 0;
    tls_arena->mode.update();
    return *tls_arena;
}

void Arena::update_flush_limit() {
    // One long chain is cut at the set depth. Many chains side by side are cut earlier the more
    // nodes there are, so that a loop over a list of tensors does not grow without end either.
    // Short chains stay: they are as large as what the user holds.
    const std::uint64_t nodes = live();
    const std::uint32_t bound = nodes > 2'000'000   ? 8
                                : nodes > 1'000'000 ? 64
                                : nodes > 500'000   ? 1024
                                                    : UINT32_MAX;
    mode.flush_limit = mode.flush_depth == UINT32_MAX
                           ? UINT32_MAX
                           : std::max(std::min(mode.flush_depth, bound), mode.flush_backoff);
}

ArenaStats arena_stats() { return pool().stats(); }

bool Arena::collect_remote() {
    Slot* list = remote_.exchange(nullptr, std::memory_order_acquire);
    if (list == nullptr) return false;
    free_ = list;
    return true;
}

Arena::Slot* Arena::allocate_slow() {
    if (collect_remote()) {
        Slot* slot = free_;
        free_ = slot->next;
        reused_.add(1);
        return slot;
    }
    if (bump_ == bump_end_) {
        void* memory = std::aligned_alloc(kSlabBytes, kSlabBytes);
        if (memory == nullptr) throw std::bad_alloc();
        // A thread that records little touches a few small pages of its first slab. One that
        // records much gets huge pages, without which walking a graph of a million nodes is mostly
        // a walk of page tables.
        if (!slabs_.empty()) madvise(memory, kSlabBytes, MADV_HUGEPAGE);
        auto* slab = new (memory) Slab{this};
        try {
            slabs_.push_back(slab);
        } catch (...) {
            std::free(memory);
            throw;
        }
        slab_count_.fetch_add(1, std::memory_order_relaxed);
        bump_ = static_cast<std::byte*>(memory) + kFirstSlot;
        bump_end_ = bump_ + kSlotsInSlab * kSlotBytes;
        update_flush_limit();
    }
    auto* slot = reinterpret_cast<Slot*>(bump_);
    bump_ += kSlotBytes;
    carved_.add(1);
    return slot;
}

void Arena::free_remote(Slot* slot) noexcept {
    given_remote_.fetch_add(1, std::memory_order_relaxed);
    Slot* head = remote_.load(std::memory_order_relaxed);
    do {
        slot->next = head;
    } while (!remote_.compare_exchange_weak(head, slot, std::memory_order_release,
                                            std::memory_order_relaxed));
}

void Arena::trim() {
    // Count the free slots of each slab by walking the free list: trimming is rare, freeing is not.
    Slot* local = free_;
    free_ = nullptr;
    if (collect_remote()) {
        Slot* last = free_;
        while (last->next != nullptr) last = last->next;
        last->next = local;
    } else {
        free_ = local;
    }
    std::unordered_map<Slab*, std::size_t> free_slots;
    for (Slot* slot = free_; slot != nullptr; slot = slot->next) ++free_slots[slab_of(slot)];
    Slab* current = bump_ != bump_end_ ? slab_of(bump_) : nullptr;
    const auto empty = [&](Slab* slab) {
        const auto it = free_slots.find(slab);
        return slab != current && it != free_slots.end() && it->second == kSlotsInSlab;
    };
    Slot** link = &free_;
    while (*link != nullptr) {
        if (empty(slab_of(*link))) {
            *link = (*link)->next;
        } else {
            link = &(*link)->next;
        }
    }
    std::erase_if(slabs_, [&](Slab* slab) {
        if (!empty(slab)) return false;
        std::free(slab);
        slab_count_.fetch_sub(1, std::memory_order_relaxed);
        return true;
    });
}

}  // namespace lazuli::ir
