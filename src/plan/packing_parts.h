#pragma once

// What the ways to pack buffers share: one part of the problem, with times as positions.

#include <chrono>
#include <cstdint>
#include <vector>

namespace lazuli::plan::packing {

/// A buffer of a part: alive in the sections from `first` to below `behind`.
struct Box {
    std::int32_t first = 0;
    std::int32_t behind = 0;
    std::int64_t size = 0;

    std::int32_t length() const { return behind - first; }
};

/// Buffers whose lifetimes hang together. A section is a time between two at which a buffer begins
/// or ends.
struct Part {
    std::vector<Box> boxes;
    std::int32_t sections = 0;
    std::int64_t bound = 0;  // the most bytes alive in a section
};

using Offsets = std::vector<std::int64_t>;
using Clock = std::chrono::steady_clock;

/// Xorshift: what is packed in which way must not depend on the standard library.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_((seed + 1) * 0x9e3779b97f4a7c15ULL | 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>((next() >> 16) % n); }
    /// From 0 to below 1.
    double fraction() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

   private:
    std::uint64_t state_;
};

inline std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

std::int64_t peak_of(const Part& part, const Offsets& offsets);

/// The best of several orders, each box in turn at the lowest free place; then of orders in which
/// the boxes that reach the top come earlier. Stops at a peak of `enough`. The first order
/// is followed to its end even where time is up, then without looking for gaps.
Offsets pack_in_order(const Part& part, std::int64_t enough, Clock::time_point until);

/// How far one search goes. Another turn tries things in another order.
struct Limits {
    std::uint64_t turn = 0;
    std::uint64_t steps = 0;
    Clock::time_point until;
};

enum class Outcome : std::uint8_t { found, none, given_up };
struct Found {
    Outcome outcome = Outcome::given_up;
    Offsets offsets = {};  // where found
};

/// A packing within the capacity. `none`: there is none.
Found search(const Part& part, std::int64_t capacity, const Limits& limits);

/// The same where boxes that seem to belong side by side, or on one another, are joined before.
/// `none` is never known so.
Found search_joined(const Part& part, std::int64_t capacity, std::uint64_t turn,
                    Clock::time_point until);

}  // namespace lazuli::plan::packing
