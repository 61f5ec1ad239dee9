#include "runtime/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/env.h"
#include "ir/arena.h"
#include "ir/text.h"
#include "lazuli/error.h"
#include "lazuli/memory.h"
#include "runtime/workspace.h"

namespace lazuli {

namespace runtime {

namespace {

std::atomic<std::uint64_t> live_bytes{0};
std::atomic<std::uint64_t> peak_bytes{0};
std::atomic<std::uint64_t> flushed_at{
    0};  // live bytes when pending work was last told to be evaluated

constexpr std::size_t kAlignment = 64;

// ---- bounds

struct Limits {
    std::atomic<std::uint64_t> memory;
    std::atomic<std::uint64_t> cache;
};

std::uint64_t or_machine(std::uint64_t bytes) { return bytes != 0 ? bytes : machine_memory(); }

Limits& limits() {
    static Limits& l = *[] {
        const std::uint64_t memory =
            or_machine(static_cast<std::uint64_t>(env::integer(env::Var::memory_limit)));
        const std::uint64_t cache =
            env::text(env::Var::cache_limit).empty()
                ? memory / 4
                : static_cast<std::uint64_t>(env::integer(env::Var::cache_limit));
        return new Limits{memory, cache};
    }();
    return l;
}

std::string text_of(std::uint64_t bytes) {
    return ir::bytes_text(static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)));
}

// ---- blocks

// Blocks from here on are pages of their own, and kept when they are given back: the system hands
// out zeroed pages, and touching those for the first time costs more than most kernels.
constexpr std::size_t kLarge = std::size_t{256} << 10;
// Sizes are rounded up to an eighth of their power of two, so that a block serves again.
std::size_t size_class(std::size_t bytes) {
    const std::size_t step = std::bit_floor(bytes) / 8;
    return (bytes + step - 1) / step * step;
}

/// Large blocks that nobody uses, the most recently used first.
class Spare {
   public:
    Spare() { blocks_.reserve(2 * kMost); }
    /// A block of that size, or null.
    void* take(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
            if (at->bytes != bytes) continue;
            void* const memory = at->memory;
            blocks_.erase(at);
            held_ -= bytes;
            return memory;
        }
        return nullptr;
    }
    void keep(void* memory, std::size_t bytes) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            blocks_.insert(blocks_.begin(), {memory, bytes});  // there is room
            held_ += bytes;
        }
        shrink(cache_limit());
    }
    /// Gives back the oldest, down to that many bytes.
    void shrink(std::uint64_t bytes) noexcept {
        for (;;) {
            Piece oldest;
            {
                const std::scoped_lock lock(mutex_);
                if (blocks_.empty() || (held_ <= bytes && blocks_.size() <= kMost)) return;
                oldest = blocks_.back();
                blocks_.pop_back();
                held_ -= oldest.bytes;
            }
            munmap(oldest.memory, oldest.bytes);
        }
    }
    std::size_t held() const { return held_.load(std::memory_order_relaxed); }

   private:
    struct Piece {
        void* memory;
        std::size_t bytes;
    };
    static constexpr std::size_t kMost = 256;

    std::mutex mutex_;
    std::vector<Piece> blocks_;
    std::atomic<std::size_t> held_ = 0;
};

Spare& spare() {
    static Spare& s = *new Spare;
    return s;
}

/// Memory that starts on a cache line; null where there is none. Not `aligned_alloc`: glibc's
/// leaves the piece before the line behind as a chunk of its own, and many small buffers then cost
/// more than all that is computed in them.
class Block {
   public:
    explicit Block(std::size_t bytes)
        : large_(bytes >= kLarge ? size_class(bytes + kColors * kColorBytes) : 0) {
        if (large_ == 0) {
            raw_ = std::malloc(bytes + kAlignment);
            return;
        }
        // Blocks that all start on a page have equal elements at equal places within one, and a
        // processor that compares the low bits of addresses takes a store to one for a store to the
        // other: each starts at another place.
        static std::atomic<std::size_t> made{0};
        color_ = made.fetch_add(1, std::memory_order_relaxed) % kColors * kColorBytes;
        raw_ = spare().take(large_);
        if (raw_ != nullptr) return;
        raw_ = map(large_);
        if (raw_ != nullptr) return;
        drop_spare_memory();  // what is kept may be what is lacking
        raw_ = map(large_);
    }
    Block(Block&& other) noexcept
        : raw_(std::exchange(other.raw_, nullptr)), large_(other.large_), color_(other.color_) {}
    ~Block() {
        if (large_ == 0) {
            std::free(raw_);
        } else if (raw_ != nullptr) {
            spare().keep(raw_, large_);
        }
    }
    void* data() const {
        if (raw_ == nullptr) return nullptr;
        if (large_ != 0) return static_cast<std::byte*>(raw_) + color_;
        const auto at = reinterpret_cast<std::uintptr_t>(raw_);
        return static_cast<std::byte*>(raw_) + (kAlignment - at % kAlignment) % kAlignment;
    }

    /// Gives the pages back to the system; false where it has none of its own.
    bool discard() const { return large_ != 0 && madvise(raw_, large_, MADV_DONTNEED) == 0; }

   private:
    static void* map(std::size_t bytes) {
        void* memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        if (bytes >= kHuge) madvise(memory, bytes, MADV_HUGEPAGE);
        return memory;
    }
    static constexpr std::size_t kHuge = std::size_t{4} << 20;
    static constexpr std::size_t kColors = 8;
    static constexpr std::size_t kColorBytes = 576;  // nine cache lines

    void* raw_ = nullptr;
    std::size_t large_;  // bytes of a block of its own; 0: from malloc
    std::size_t color_ = 0;
};

class HostBuffer final : public Buffer {
   public:
    HostBuffer(Device device, std::size_t bytes, std::size_t held, Block block)
        : Buffer(device, bytes), held_(held), block_(std::move(block)), data_(block_.data()) {}
    ~HostBuffer() override {
        if (!restore_) give_bytes(held_);
    }
    const void* host_data() const override {
        // Nobody knows how long it is read.
        if (!exposed_.load(std::memory_order_relaxed)) exposed_.store(true);
        return const_cast<HostBuffer*>(this)->host_mutable();
    }
    void* host_mutable() override {
        bring_back();
        return data_;
    }
    const void* address() const override { return data_; }
    void bring_back() override {
        if (!may_release()) return;
        const std::scoped_lock lock(content_);
        if (!restore_) return;
        restore_(data_);
        restore_ = nullptr;
        live_bytes.fetch_add(held_, std::memory_order_relaxed);
    }
    void release(std::function<void(void*)> restore) override {
        if (!may_release()) return;
        const std::scoped_lock lock(content_);
        if (exposed_.load() || readers() > 1 || restore_ || !block_.discard()) return;
        restore_ = std::move(restore);
        give_bytes(held_);
    }

   private:
    std::size_t held_;
    Block block_;
    void* data_;
    mutable std::atomic<bool> exposed_{false};  // somebody has the address for good
    std::mutex content_;
    std::function<void(void*)> restore_;  // where there is one, the content is not
};

}  // namespace

std::uint64_t machine_memory() {
    static const std::uint64_t bytes = [] {
        const long pages = sysconf(_SC_PHYS_PAGES);
        const long page = sysconf(_SC_PAGE_SIZE);
        return pages > 0 && page > 0
                   ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                   : std::uint64_t{1} << 40;
    }();
    return bytes;
}

void drop_spare_memory() {
    spare().shrink(0);
    trim_arenas();
}

std::uint64_t buffer_bytes() { return live_bytes.load(std::memory_order_relaxed); }
std::uint64_t memory_limit() { return limits().memory.load(std::memory_order_relaxed); }
std::uint64_t cache_limit() { return limits().cache.load(std::memory_order_relaxed); }

void take_bytes(std::uint64_t bytes) {
    const std::uint64_t before = live_bytes.fetch_add(bytes, std::memory_order_relaxed);
    const std::uint64_t limit = memory_limit();
    if (bytes > limit || before > limit - bytes) {
        give_bytes(bytes);
        throw OutOfMemory(fmt::format("out of memory: {} asked for, {} of {} in use",
                                      text_of(bytes), text_of(before), text_of(limit)),
                          bytes, limit, {bytes});
    }
    const std::uint64_t now = before + bytes;
    if (spare().held() + idle_arena_bytes() > limit - now) drop_spare_memory();
    std::uint64_t peak = peak_bytes.load(std::memory_order_relaxed);
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
}

void give_bytes(std::uint64_t bytes) { live_bytes.fetch_sub(bytes, std::memory_order_relaxed); }

void note_growth() {
    static const auto bound = static_cast<std::uint64_t>(env::integer(env::Var::flush_bytes));
    if (bound == 0) return;
    const std::uint64_t now = buffer_bytes();
    const std::uint64_t before = flushed_at.load(std::memory_order_relaxed);
    if (now < before) {
        flushed_at.store(now, std::memory_order_relaxed);
    } else if (now - before > bound) {
        flushed_at.store(now, std::memory_order_relaxed);
        ir::RecordingMode& mode = ir::arena().mode;
        mode.pressure = true;
        mode.update();
    }
}

}  // namespace runtime

MemoryStats memory_stats() {
    return {.bytes = runtime::buffer_bytes(),
            .peak = runtime::peak_bytes.load(std::memory_order_relaxed),
            .spare = runtime::spare().held() + runtime::idle_arena_bytes(),
            .limit = runtime::memory_limit(),
            .cache_limit = runtime::cache_limit()};
}

std::uint64_t set_memory_limit(std::uint64_t bytes) {
    return runtime::limits().memory.exchange(runtime::or_machine(bytes));
}

std::uint64_t set_cache_limit(std::uint64_t bytes) {
    const std::uint64_t before = runtime::limits().cache.exchange(bytes);
    runtime::spare().shrink(bytes);
    runtime::trim_arenas(bytes);
    return before;
}

void reset_peak_memory() { runtime::peak_bytes.store(runtime::buffer_bytes()); }

std::shared_ptr<Buffer> Buffer::kept(std::uint64_t key) const {
    const std::scoped_lock lock(keeping_);
    for (const auto& [known, made] : kept_) {
        if (known == key) return made;
    }
    return nullptr;
}

void Buffer::keep(std::uint64_t key, std::shared_ptr<Buffer> made) {
    const std::scoped_lock lock(keeping_);
    for (const auto& [known, there] : kept_) {
        if (known == key) return;  // another thread was faster
    }
    kept_.emplace_back(key, std::move(made));
}

BufferPtr allocate_host(Device device, std::size_t bytes) {
    using namespace runtime;
    if (bytes > SIZE_MAX - 2 * kAlignment)
        throw OutOfMemory("a buffer of that size cannot exist", bytes, memory_limit(), {bytes});
    const std::size_t held =
        (bytes + kAlignment - 1) / kAlignment * kAlignment + (bytes == 0 ? kAlignment : 0);
    take_bytes(held);
    try {
        Block block(held);
        if (block.data() == nullptr)
            throw OutOfMemory(fmt::format("out of memory: the system has no {}", text_of(held)),
                              bytes, memory_limit(), {bytes});
        return std::make_shared<HostBuffer>(device, bytes, held, std::move(block));
    } catch (...) {
        give_bytes(held);
        throw;
    }
}

}  // namespace lazuli
