#pragma once

#include <cstddef>
#include <cstdint>

namespace lazuli::tests {

/// A small fast generator of random numbers (SplitMix64), so that a seed means the same everywhere.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    /// From 0 to n - 1.
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
    }
    bool one_in(std::size_t n) { return below(n) == 0; }

   private:
    std::uint64_t state_;
};

}  // namespace lazuli::tests
