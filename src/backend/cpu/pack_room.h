#pragma once

// Memory that products of matrices pack their operands into.

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "lazuli/error.h"

namespace lazuli::cpu {

template <class T>
struct Packed {
    explicit Packed(std::int64_t count) {
        // Large ones in large pages: panels are read faster than small ones are looked up.
        constexpr std::size_t kPage = std::size_t{2} << 20;
        const std::size_t wanted = static_cast<std::size_t>(count) * sizeof(T);
        const std::size_t unit = wanted >= kPage ? kPage : 64;
        const std::size_t bytes = (wanted + unit - 1) / unit * unit;
        data.reset(static_cast<T*>(std::aligned_alloc(unit, std::max(bytes, unit))));
        if (data == nullptr) throw OutOfMemory("no memory to pack a matrix", bytes, 0);
        if (unit == kPage) (void)madvise(data.get(), bytes, MADV_HUGEPAGE);
    }
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> data;
};

/// Room that a thread keeps from product to product: new memory would cost as much as a small one.
enum class Room : std::uint8_t { left, right, sums };
template <class T, Room>
T* thread_room(std::int64_t count) {
    static thread_local std::unique_ptr<Packed<T>> room;
    static thread_local std::int64_t size = 0;
    if (size < count) {
        room.reset();  // first, so that the old one's memory can serve
        size = 0;
        room = std::make_unique<Packed<T>>(count);
        size = count;
    }
    return room->data.get();
}

}  // namespace lazuli::cpu
