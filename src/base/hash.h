#pragma once

// Hashing of 64-bit words: four independent lanes so that the multiplications overlap.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace lazuli {

inline std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b) {
    const auto product =
        static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd1b54a32d192ed03ULL);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_words(std::span<const std::uint64_t> words, std::uint64_t seed = 0) {
    const std::uint64_t* w = words.data();
    std::size_t n = words.size();
    std::uint64_t lane[4] = {seed, seed ^ 0xa0761d6478bd642fULL, seed ^ 0xe7037ed1a0b428dbULL,
                             seed ^ 0x8ebc6af09c88c6e3ULL};
    for (; n >= 8; n -= 8, w += 8) {
        for (std::size_t i = 0; i < 4; ++i) lane[i] = hash_mix(lane[i] ^ w[2 * i], w[2 * i + 1]);
    }
    for (; n > 0; --n, ++w) lane[0] = hash_mix(lane[0], *w);
    return hash_mix(hash_mix(lane[0], lane[1]), hash_mix(lane[2], lane[3])) ^ words.size();
}

inline std::uint64_t hash_text(std::string_view text) {
    std::uint64_t h = text.size();
    for (std::size_t i = 0; i < text.size(); i += 8) {
        std::uint64_t w = 0;
        std::memcpy(&w, text.data() + i, text.size() - i < 8 ? text.size() - i : 8);
        h = hash_mix(h, w);
    }
    return h;
}

}  // namespace lazuli
