#include "runtime/workspace.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "lazuli/error.h"
#include "runtime/memory.h"

namespace lazuli::runtime {

namespace {

std::atomic<std::uint64_t> idle{0};  // committed and not in use, in all arenas

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmallStep = std::size_t{64} << 10;
constexpr std::size_t kLargeStep = std::size_t{2} << 20;  // a huge page

std::size_t rounded(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

class Arena {
   public:
    /// A piece above all others; null where there is no memory for it.
    std::byte* push(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        if (base_ == nullptr && !reserve(bytes)) return nullptr;
        if (bytes > reserved_ - top_) return nullptr;
        if (top_ + bytes > committed_ && !commit(top_ + bytes)) return nullptr;
        idle.fetch_sub(bytes, std::memory_order_relaxed);
        std::byte* const piece = base_ + top_;
        top_ += bytes;
        return piece;
    }
    void pop(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        top_ -= bytes;
        idle.fetch_add(bytes, std::memory_order_relaxed);
    }
    /// Gives back what lies above the pieces in use, but for `keep` bytes.
    void trim(std::size_t keep) {
        const std::scoped_lock lock(mutex_);
        const std::size_t stays = rounded(top_ + std::min(keep, committed_ - top_), kSmallStep);
        if (stays >= committed_) return;
        (void)madvise(base_ + stays, committed_ - stays, MADV_DONTNEED);
        (void)mprotect(base_ + stays, committed_ - stays, PROT_NONE);
        idle.fetch_sub(committed_ - stays, std::memory_order_relaxed);
        committed_ = stays;
    }

    /// Gives back that many bytes, or what it has.
    void shed(std::uint64_t bytes) {
        const std::size_t own = [&] {
            const std::scoped_lock lock(mutex_);
            return committed_ - top_;
        }();
        trim(own - std::min<std::uint64_t>(bytes, own));
    }

   private:
    /// Addresses cost nothing: four times what the machine has, or less where the process may not
    /// have that many.
    bool reserve(std::size_t needed) {
        for (std::size_t bytes = rounded(4 * machine_memory(), kLargeStep); bytes >= needed;
             bytes = rounded(bytes / 2, kLargeStep)) {
            void* const range =
                mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (range != MAP_FAILED) {
                base_ = static_cast<std::byte*>(range);
                reserved_ = bytes;
                return true;
            }
            if (bytes <= kLargeStep) break;
        }
        return false;
    }
    bool commit(std::size_t needed) {
        const std::size_t to =
            std::min(rounded(needed, needed < kLargeStep ? kSmallStep : kLargeStep), reserved_);
        if (mprotect(base_ + committed_, to - committed_, PROT_READ | PROT_WRITE) != 0)
            return false;
        if (to >= 2 * kLargeStep) (void)madvise(base_, to, MADV_HUGEPAGE);
        idle.fetch_add(to - committed_, std::memory_order_relaxed);
        committed_ = to;
        return true;
    }

    std::mutex mutex_;
    std::byte* base_ = nullptr;
    std::size_t reserved_ = 0;
    std::size_t committed_ = 0;
    std::size_t top_ = 0;
};

/// All arenas, and those whose threads have ended.
struct Arenas {
    std::mutex mutex;
    std::vector<std::unique_ptr<Arena>> all;
    std::vector<Arena*> free;
};

Arenas& arenas() {
    static Arenas& a = *new Arenas;
    return a;
}

/// The thread's arena, for as long as the thread lives.
class Own {
   public:
    Own() {
        const std::scoped_lock lock(arenas().mutex);
        auto& [mutex, all, free] = arenas();
        if (free.empty()) {
            free.reserve(all.size() + 1);
            all.push_back(std::make_unique<Arena>());
            free.push_back(all.back().get());
        }
        arena = free.back();
        free.pop_back();
    }
    ~Own() {
        const std::scoped_lock lock(arenas().mutex);
        arenas().free.push_back(arena);  // reserved when it was made
    }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;
    Arena* arena;
};

Arena& own_arena() {
    static thread_local Own own;
    return *own.arena;
}

}  // namespace

Workspace::Workspace(std::size_t bytes) : bytes_(rounded(bytes, kLine)) {
    if (bytes_ == 0) return;
    Arena& arena = own_arena();
    take_bytes(bytes_);
    data_ = arena.push(bytes_);
    if (data_ == nullptr) {
        drop_spare_memory();
        data_ = arena.push(bytes_);
    }
    if (data_ != nullptr) return;
    give_bytes(bytes_);
    throw OutOfMemory(fmt::format("the system has no {} bytes for a plan to compute in", bytes_),
                      bytes_, memory_limit(), {bytes_});
}

Workspace::~Workspace() {
    if (bytes_ == 0) return;
    Arena& arena = own_arena();
    arena.pop(bytes_);
    give_bytes(bytes_);
    const std::uint64_t kept = idle.load(std::memory_order_relaxed);
    if (kept > cache_limit()) arena.shed(kept - cache_limit());
}

std::uint64_t idle_arena_bytes() { return idle.load(std::memory_order_relaxed); }

void trim_arenas(std::uint64_t keep) {
    const std::scoped_lock lock(arenas().mutex);
    for (const auto& arena : arenas().all) arena->trim(keep);
}

}  // namespace lazuli::runtime
