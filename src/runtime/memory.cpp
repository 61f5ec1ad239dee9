#include "runtime/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/env.h"
#include "ir/arena.h"
#include "lazuli/error.h"

namespace lazuli {

namespace runtime {

namespace {

std::atomic<std::uint64_t> live_bytes{0};
std::atomic<std::uint64_t> flushed_at{
    0};  // live bytes when pending work was last told to be evaluated

constexpr std::size_t kAlignment = 64;

std::uint64_t machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && page > 0
               ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
               : UINT64_MAX;
}

/// Memory that starts on a cache line; null where there is none. Not `aligned_alloc`: glibc's
/// leaves the piece before the line behind as a chunk of its own, and many small buffers then cost
/// more than all that is computed in them.
class Block {
   public:
    explicit Block(std::size_t bytes) : raw_(std::malloc(bytes + kAlignment)) {}
    Block(Block&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    ~Block() { std::free(raw_); }
    void* data() const {
        const auto at = reinterpret_cast<std::uintptr_t>(raw_);
        return raw_ == nullptr
                   ? nullptr
                   : static_cast<std::byte*>(raw_) + (kAlignment - at % kAlignment) % kAlignment;
    }

   private:
    void* raw_;
};

class HostBuffer final : public Buffer {
   public:
    HostBuffer(Device device, std::size_t bytes, std::size_t held, Block block)
        : Buffer(device, bytes), held_(held), block_(std::move(block)), data_(block_.data()) {}
    ~HostBuffer() override { live_bytes.fetch_sub(held_, std::memory_order_relaxed); }
    const void* host_data() const override { return data_; }
    void* host_mutable() override { return data_; }

   private:
    std::size_t held_;
    Block block_;
    void* data_;
};

}  // namespace

std::uint64_t buffer_bytes() { return live_bytes.load(std::memory_order_relaxed); }

std::uint64_t memory_limit() {
    static const std::uint64_t limit = [] {
        const auto set = static_cast<std::uint64_t>(env::integer(env::Var::memory_limit));
        return set != 0 ? set : machine_memory();
    }();
    return limit;
}

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

BufferPtr allocate_host(Device device, std::size_t bytes) {
    using namespace runtime;
    if (bytes > SIZE_MAX - 2 * kAlignment)
        throw OutOfMemory("a buffer of that size cannot exist", bytes, memory_limit(), {bytes});
    const std::size_t held =
        (bytes + kAlignment - 1) / kAlignment * kAlignment + (bytes == 0 ? kAlignment : 0);
    const std::uint64_t before = live_bytes.fetch_add(held, std::memory_order_relaxed);
    const auto refuse = [&] {
        live_bytes.fetch_sub(held, std::memory_order_relaxed);
        throw OutOfMemory(fmt::format("out of memory: {} bytes asked for, {} of {} in use", bytes,
                                      before, memory_limit()),
                          bytes, memory_limit(), {bytes});
    };
    if (before + held > memory_limit()) refuse();
    Block block(held);
    if (block.data() == nullptr) refuse();
    try {
        return std::make_shared<HostBuffer>(device, bytes, held, std::move(block));
    } catch (...) {
        live_bytes.fetch_sub(held, std::memory_order_relaxed);
        throw;
    }
}

}  // namespace lazuli
