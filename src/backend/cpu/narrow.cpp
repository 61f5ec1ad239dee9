#include "backend/cpu/narrow.h"

#include <cstring>

#include "base/convert.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace lazuli::cpu {

namespace {

/// The bits of a bf16: half of its last place is added, a tie where the last bit is 0 not. Written
/// so that the compiler makes vectors of it.
inline __attribute__((always_inline)) void round_to_bf16(const float* from, std::int64_t count,
                                                         std::uint16_t* to) {
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, from + i, sizeof bits);
        const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
        const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
        to[i] = static_cast<std::uint16_t>((is_nan ? bits | 0x400000U : rounded) >> 16);
    }
}

#ifdef __x86_64__

__attribute__((target("avx512f,avx512bw,avx512vl"))) void bf16_512(const float* from,
                                                                   std::int64_t count,
                                                                   std::uint16_t* to) {
    round_to_bf16(from, count, to);
}
__attribute__((target("avx2"))) void bf16_256(const float* from, std::int64_t count,
                                              std::uint16_t* to) {
    round_to_bf16(from, count, to);
}
__attribute__((target("avx,f16c"))) void f16_256(const float* from, std::int64_t count, Half* to) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        std::memcpy(static_cast<void*>(to + i), &bits, sizeof bits);
    }
    for (; i < count; ++i) to[i] = Half(static_cast<double>(from[i]));
}

#endif

}  // namespace

void narrow(DType dtype, const float* from, std::int64_t count, void* to) {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (dtype == DType::f16 && __builtin_cpu_supports("f16c") != 0)
        return f16_256(from, count, static_cast<Half*>(to));
    if (dtype == DType::bf16) {
        auto* bits = static_cast<std::uint16_t*>(to);
        if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0)
            return bf16_512(from, count, bits);
        if (__builtin_cpu_supports("avx2") != 0) return bf16_256(from, count, bits);
        return round_to_bf16(from, count, bits);
    }
#else
    if (dtype == DType::bf16) return round_to_bf16(from, count, static_cast<std::uint16_t*>(to));
#endif
    for (std::int64_t i = 0; i < count; ++i)
        static_cast<Half*>(to)[i] = Half(static_cast<double>(from[i]));
}

}  // namespace lazuli::cpu
