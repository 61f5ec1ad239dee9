#pragma once

// Records brought into order digit by digit, from the lowest digit on. A pass counts the digits of
// each chunk, sums up where each chunk's records of each digit go, and moves them there: equal ones
// stay in their order, and where each record goes does not depend on the chunks. Many records are
// first parted into stretches of keys that fit the second cache, so that they go through the memory
// once and not once a digit.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/host/kernels.h"
#include "backend/host/share.h"
#include "lazuli/backend.h"

namespace lazuli::backend::host {

/// Memory for a computation on the way.
template <class T>
class Room {
   public:
    explicit Room(std::int64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        data_ = reinterpret_cast<T*>(PlannedRoom::take(bytes));
        if (data_ != nullptr) return;
        buffer_ = allocate_host(Device(), bytes);
        data_ = static_cast<T*>(buffer_->host_mutable());
    }
    T* data() const { return data_; }

   private:
    T* data_;
    BufferPtr buffer_;  // null: the room was planned
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

inline constexpr int kDigit = 11;  // bits of a digit, at most

/// The bits in which keys differ: from `low` to below `high`, cut into digits of equal width.
struct Digits {
    int low = 0;
    int high = 0;
    int passes = 0;
    int width = 0;

    template <class Bits>
    static Digits of(Bits differ) {
        Digits out;
        if (differ == 0) return out;
        out.low = std::countr_zero(differ);
        out.high = 8 * static_cast<int>(sizeof(Bits)) - std::countl_zero(differ);
        out.passes = (out.high - out.low + kDigit - 1) / kDigit;
        out.width = (out.high - out.low + out.passes - 1) / out.passes;
        return out;
    }
};

/// All bits in which keys of `count` records differ. Few records may say that all do.
template <class Load, class Key>
auto differing_bits(std::int64_t count, const Load& load, const Key& key) {
    using Bits = decltype(key(load(0)));
    const Bits first = key(load(0));
    const auto among = [&](std::int64_t begin, std::int64_t end) {
        Bits differ = 0;
        for (std::int64_t i = begin; i < end; ++i)
            differ = static_cast<Bits>(differ | (key(load(i)) ^ first));
        return differ;
    };
    const std::int64_t few = std::min<std::int64_t>(count, 1024);
    std::atomic<Bits> all{among(1, few)};
    if (all == static_cast<Bits>(~Bits{0})) return all.load();
    share(count - few, kLongLine, [&](std::int64_t begin, std::int64_t end) {
        all.fetch_or(among(few + begin, few + end));
    });
    return all.load();
}

/// Sorts `count` records on all threads, a pass for each digit. `a` and `b` are room for them; the
/// result goes to store(at, record), which may write where `a` lies. `load` must not read there.
template <class Record, class Load, class Key, class Store>
void radix_sort_by_digits(std::int64_t count, Record* a, Record* b, const Load& load,
                          const Key& key, const Store& store) {
    using Bits = decltype(key(load(0)));
    const Digits digits = Digits::of(differing_bits(count, load, key));
    const auto nothing = [] {};
    if (digits.passes == 0) {
        for (std::int64_t i = 0; i < count; ++i) store(i, load(i));
        return;
    }
    for (int p = 0; p < digits.passes; ++p) {
        const int shift = digits.low + p * digits.width;
        const auto digit = [&](const Record& r) {
            return static_cast<std::int64_t>(key(r) >> shift & ((Bits{1} << digits.width) - 1));
        };
        // The last but one writes to b, so that the last may write where a lies.
        Record* const from = (digits.passes - p) % 2 == 0 ? a : b;
        Record* const to = from == a ? b : a;
        const auto load_here = [from](std::int64_t i) { return from[i]; };
        const auto store_here = [to](std::int64_t at, const Record& r) { to[at] = r; };
        const std::int64_t kinds = std::int64_t{1} << digits.width;
        const bool last = p + 1 == digits.passes;
        if (p == 0 && last) {
            radix_pass(count, kinds, load, digit, store, nothing);
        } else if (p == 0) {
            radix_pass(count, kinds, load, digit, store_here, nothing);
        } else if (!last) {
            radix_pass(count, kinds, load_here, digit, store_here, nothing);
        } else {
            radix_pass(count, kinds, load_here, digit, store, nothing);
        }
    }
}

/// Sorts records that are in the cache, on the calling thread; `from` and `room` are overwritten.
template <class Record, class Key, class Store>
void sort_stretch(Record* from, Record* room, std::int64_t count, const Key& key,
                  const Store& store) {
    using Bits = decltype(key(from[0]));
    if (count == 0) return;
    const Bits first = key(from[0]);
    Bits differ = 0;
    for (std::int64_t i = 1; i < count; ++i)
        differ = static_cast<Bits>(differ | (key(from[i]) ^ first));
    const Digits digits = Digits::of(differ);
    if (digits.passes == 0) {
        for (std::int64_t i = 0; i < count; ++i) store(i, from[i]);
        return;
    }
    std::uint32_t places[1 << kDigit];
    const auto mask = static_cast<Bits>((Bits{1} << digits.width) - 1);
    for (int p = 0; p < digits.passes; ++p) {
        const int shift = digits.low + p * digits.width;
        const auto digit = [&](const Record& r) {
            return static_cast<std::size_t>(key(r) >> shift & mask);
        };
        std::fill_n(places, std::size_t{1} << digits.width, 0);
        for (std::int64_t i = 0; i < count; ++i) ++places[digit(from[i])];
        std::uint32_t so_far = 0;
        for (std::size_t d = 0; d <= mask; ++d) so_far += std::exchange(places[d], so_far);
        if (p + 1 < digits.passes) {
            for (std::int64_t i = 0; i < count; ++i) room[places[digit(from[i])]++] = from[i];
            std::swap(from, room);
        } else {
            for (std::int64_t i = 0; i < count; ++i) store(places[digit(from[i])]++, from[i]);
        }
    }
}

/// Which stretch a key belongs to: by its first bits, so that stretches are about equally long.
template <class Bits>
class Stretches {
   public:
    template <class Load, class Key>
    Stretches(std::int64_t count, const Load& load, const Key& key, int high)
        : shift_(std::max(high - kBits, 0)), of_(std::size_t{1} << kBits) {
        std::vector<std::uint32_t> seen(of_.size());
        const std::int64_t step = std::max<std::int64_t>(count / kSample, 1);
        std::uint32_t all = 0;
        for (std::int64_t i = 0; i < count; i += step, ++all) ++seen[prefix(key(load(i)))];
        const std::uint32_t enough = all / kStretches;
        std::uint32_t here = 0;
        for (std::size_t i = 0; i < of_.size(); ++i) {
            if (here > enough) {
                ++number_;
                here = 0;
            }
            of_[i] = number_;
            here += seen[i];
        }
    }
    std::int64_t count() const { return number_ + 1; }
    std::int64_t of(Bits key) const { return of_[prefix(key)]; }

   private:
    static constexpr int kBits = 16;
    static constexpr std::int64_t kSample = std::int64_t{1} << 17;
    static constexpr std::uint32_t kStretches = 2048;
    /// Bits above are the same in all keys.
    std::size_t prefix(Bits key) const {
        return static_cast<std::size_t>(key >> shift_) & ((std::size_t{1} << kBits) - 1);
    }

    int shift_;
    std::vector<std::uint16_t> of_;
    std::uint16_t number_ = 0;
};

inline constexpr std::int64_t kMany = std::int64_t{1} << 18;  // records, worth stretches
inline constexpr std::int64_t kLongStretch = std::int64_t{1} << 17;

/// Sorts `count` records by the unsigned integer key(record). `a` and `b` are room for them; the
/// result goes to store(at, record), which may write where `a` lies.
template <class Record, class Load, class Key, class Store>
void radix_sort(std::int64_t count, Record* a, Record* b, const Load& load, const Key& key,
                const Store& store) {
    using Bits = decltype(key(load(0)));
    if (count < kMany || sizeof(Bits) < 4)
        return radix_sort_by_digits(count, a, b, load, key, store);
    const Stretches<Bits> stretches(count, load, key,
                                    Digits::of(differing_bits(count, load, key)).high);
    const std::vector<std::int64_t> begins = radix_pass(
        count, stretches.count(), load, [&](const Record& r) { return stretches.of(key(r)); },
        [&](std::int64_t at, const Record& r) { b[at] = r; }, [] {});
    const auto length = [&](std::int64_t s) {
        return begins[static_cast<std::size_t>(s) + 1] - begins[static_cast<std::size_t>(s)];
    };
    share(stretches.count(), 1, [&](std::int64_t first, std::int64_t last) {
        std::int64_t longest = 0;
        for (std::int64_t s = first; s < last; ++s) {
            if (length(s) < kLongStretch) longest = std::max(longest, length(s));
        }
        const Room<Record> room(longest);
        for (std::int64_t s = first; s < last; ++s) {
            const std::int64_t begin = begins[static_cast<std::size_t>(s)];
            if (length(s) < kLongStretch)
                sort_stretch(b + begin, room.data(), length(s), key,
                             [&](std::int64_t at, const Record& r) { store(begin + at, r); });
        }
    });
    // Many records of few keys: each such stretch on all threads.
    for (std::int64_t s = 0; s < stretches.count(); ++s) {
        if (length(s) < kLongStretch) continue;
        const std::int64_t begin = begins[static_cast<std::size_t>(s)];
        const Room<Record> room(length(s));
        radix_sort_by_digits(
            length(s), a + begin, room.data(), [&](std::int64_t i) { return b[begin + i]; }, key,
            [&](std::int64_t at, const Record& r) { store(begin + at, r); });
    }
}

}  // namespace lazuli::backend::host
