#pragma once

// Records brought into order digit by digit, from the lowest digit on. A pass counts the digits of
// each chunk, sums up where each chunk's records of each digit go, and moves them there: equal ones
// stay in their order, and where each record goes does not depend on the chunks.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/host/share.h"
#include "lazuli/backend.h"

namespace lazuli::backend::host {

/// Memory for a computation on the way.
template <class T>
class Room {
   public:
    explicit Room(std::int64_t count)
        : buffer_(allocate_host(Device(), static_cast<std::size_t>(count) * sizeof(T))) {}
    T* data() const { return static_cast<T*>(buffer_->host_mutable()); }

   private:
    BufferPtr buffer_;
};

inline constexpr std::int64_t kLongLine = std::int64_t{1} << 15;  // worth several threads

/// How many chunks `count` records are cut into: enough for all threads to end at one time.
inline std::int64_t chunks_for(std::int64_t count) {
    const std::int64_t most = runtime::thread_count() == 1 ? 1 : 4 * runtime::thread_count();
    return std::clamp<std::int64_t>(count / kLongLine, 1, most);
}

/// One pass over `count` records: load(i) is record i, digit(record) where it belongs, and
/// store(at, record) puts it. `counted` is called between counting and moving. Returns where each
/// digit's records begin, and their number at the end.
template <class Load, class Digit, class Store, class Counted>
std::vector<std::int64_t> radix_pass(std::int64_t count, std::int64_t digits, const Load& load,
                                     const Digit& digit, const Store& store,
                                     const Counted& counted) {
    const std::int64_t chunks = chunks_for(count);
    const std::int64_t length = (count + chunks - 1) / chunks;
    std::vector<std::int64_t> places(static_cast<std::size_t>(chunks * digits), 0);
    const auto in_chunks = [&](const auto& body) {
        share(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c)
                body(places.data() + c * digits, c * length, std::min(count, (c + 1) * length));
        });
    };
    in_chunks([&](std::int64_t* place, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++place[digit(load(i))];
    });
    counted();
    std::vector<std::int64_t> begins;
    begins.reserve(static_cast<std::size_t>(digits) + 1);
    std::int64_t so_far = 0;
    for (std::int64_t d = 0; d < digits; ++d) {
        begins.push_back(so_far);
        for (std::int64_t c = 0; c < chunks; ++c) {
            std::int64_t& place = places[static_cast<std::size_t>(c * digits + d)];
            so_far += std::exchange(place, so_far);
        }
    }
    begins.push_back(so_far);
    in_chunks([&](std::int64_t* place, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto record = load(i);
            store(place[digit(record)]++, record);
        }
    });
    return begins;
}

/// Sorts `count` records by the unsigned integer key(record). `a` and `b` are room for them; the
/// result goes to store(at, record), which may write where `a` lies.
template <class Record, class Load, class Key, class Store>
void radix_sort(std::int64_t count, Record* a, Record* b, const Load& load, const Key& key,
                const Store& store) {
    using Bits = decltype(key(load(0)));
    constexpr int kWidth = 8 * sizeof(Bits);
    constexpr int kDigit = kWidth <= 16 ? 8 : 11;
    // Of wide keys often only a few bits differ: passes over the others would change nothing.
    int low = 0;
    int high = kWidth;
    if constexpr (kWidth == 64) {
        Bits differ = 0;
        const Bits first = key(load(0));
        for (std::int64_t i = 1; i < count; ++i) differ |= key(load(i)) ^ first;
        low = differ == 0 ? 0 : std::countr_zero(differ);
        high = differ == 0 ? 1 : kWidth - std::countl_zero(differ);
    }
    const int passes = (high - low + kDigit - 1) / kDigit;
    const int width = (high - low + passes - 1) / passes;
    const auto nothing = [] {};
    for (int p = 0; p < passes; ++p) {
        const int shift = low + p * width;
        const auto digit = [&](const Record& r) {
            return static_cast<std::int64_t>(key(r) >> shift & ((Bits{1} << width) - 1));
        };
        // The last but one writes to b, so that the last may write where a lies.
        Record* const from = (passes - p) % 2 == 0 ? a : b;
        Record* const to = from == a ? b : a;
        const auto load_here = [from](std::int64_t i) { return from[i]; };
        const auto store_here = [to](std::int64_t at, const Record& r) { to[at] = r; };
        const std::int64_t digits = std::int64_t{1} << width;
        if (p == 0 && passes == 1) {
            radix_pass(count, digits, load, digit, store, nothing);
        } else if (p == 0) {
            radix_pass(count, digits, load, digit, store_here, nothing);
        } else if (p + 1 < passes) {
            radix_pass(count, digits, load_here, digit, store_here, nothing);
        } else {
            radix_pass(count, digits, load_here, digit, store, nothing);
        }
    }
}

}  // namespace lazuli::backend::host
