#include "data/permutation.h"

#include <bit>
#include <cstddef>

#include "ops/threefry.h"

namespace lazuli::data {

namespace {

/// A number whose every bit depends on every bit of the other (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::uint64_t mask_of(int bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
    const int bits = static_cast<int>(std::bit_width(size - 1));
    low_bits_ = (bits + 1) / 2;
    low_mask_ = mask_of(low_bits_);
    high_mask_ = mask_of(bits - low_bits_);
    for (std::size_t round = 0; round < keys_.size(); ++round)
        keys_[round] = ops::threefry(key, round);
}

std::uint64_t Permutation::operator()(std::uint64_t number) const {
    do {
        std::uint64_t low = number & low_mask_;
        std::uint64_t high = number >> low_bits_;
        for (std::size_t round = 0; round < keys_.size(); round += 2) {
            low ^= mixed(high + keys_[round]) & low_mask_;
            high ^= mixed(low + keys_[round + 1]) & high_mask_;
        }
        number = high << low_bits_ | low;
    } while (number >= size_);
    return number;
}

}  // namespace lazuli::data
