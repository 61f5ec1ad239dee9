#pragma once

// An order of the numbers below a bound that takes no memory: a bijection that is computed.

#include <array>
#include <cstdint>

namespace lazuli::data {

/// A permutation of 0 .. size - 1, one for each key, the same on every machine.
///
/// A Feistel network permutes the numbers of so many bits: the bits are cut in two, and in turns
/// each half is changed by a function of the other, which can be undone whatever the function is.
/// A result that is not below `size` goes through again until one is (cycle walking): the numbers
/// are fewer than twice `size`, so that takes two turns at most on average.
class Permutation {
   public:
    /// `size` is at least 1.
    Permutation(std::uint64_t size, std::uint64_t key);
    /// Where a number goes.
    std::uint64_t operator()(std::uint64_t number) const;

   private:
    static constexpr int kRounds = 16;
    std::uint64_t size_;
    int low_bits_;
    std::uint64_t low_mask_;
    std::uint64_t high_mask_;
    std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace lazuli::data
