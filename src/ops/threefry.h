#pragma once

// Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011): a keyed bijection of 64-bit counters. An element's bits are a function of the
// key and its position: no state, any order, any split.

#include <bit>
#include <cstdint>

namespace lazuli::ops {

inline std::uint64_t threefry(std::uint64_t key, std::uint64_t counter) {
    constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const auto k0 = static_cast<std::uint32_t>(key);
    const auto k1 = static_cast<std::uint32_t>(key >> 32);
    const std::uint32_t schedule[3] = {k0, k1, k0 ^ k1 ^ 0x1bd11bdaU};
    std::uint32_t x0 = static_cast<std::uint32_t>(counter) + schedule[0];
    std::uint32_t x1 = static_cast<std::uint32_t>(counter >> 32) + schedule[1];
    for (std::uint32_t round = 0; round < 20; ++round) {
        x0 += x1;
        x1 = std::rotl(x1, kRotations[round % 8]) ^ x0;
        if (round % 4 == 3) {
            const std::uint32_t step = round / 4 + 1;
            x0 += schedule[step % 3];
            x1 += schedule[(step + 1) % 3] + step;
        }
    }
    return static_cast<std::uint64_t>(x0) | (static_cast<std::uint64_t>(x1) << 32);
}

}  // namespace lazuli::ops
