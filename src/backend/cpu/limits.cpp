#include "backend/cpu/limits.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <vector>

#include "backend/cpu/gemm_amx.h"
#include "runtime/pool.h"
#include "runtime/trace.h"

namespace lazuli::cpu {

namespace {

using trace::now;

// ---- loops, written for a width of vectors and compiled for the processors that have it

template <int Bytes>
struct Wide {
    typedef float type __attribute__((vector_size(Bytes)));
};

template <int Bytes>
[[gnu::always_inline]] inline void store_past_cache(typename Wide<Bytes>::type* to,
                                                    typename Wide<Bytes>::type value) {
#if __has_builtin(__builtin_nontemporal_store)
    __builtin_nontemporal_store(value, to);
#else
    if constexpr (Bytes == 16) {
        asm volatile("movntps %1, %0" : "=m"(*to) : "x"(value));
    } else {
        asm volatile("vmovntps %1, %0" : "=m"(*to) : "v"(value));
    }
#endif
}

/// to = a, to = a + b, or the sum of what is read, for `count` vectors, which is a multiple of 4.
template <int Bytes>
[[gnu::always_inline]] inline float move_loop(const float* a_start, const float* b_start,
                                              float* to_start, std::int64_t count, bool past) {
    using V = typename Wide<Bytes>::type;
    const auto* a = reinterpret_cast<const V*>(a_start);
    const auto* b = reinterpret_cast<const V*>(b_start);
    auto* to = reinterpret_cast<V*>(to_start);
    V sums[4] = {};
    for (std::int64_t i = 0; i < count; i += 4) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            V value = a[i + k];
            if (b != nullptr) value += b[i + k];
            if (to == nullptr) {
                sums[k] += value;
            } else if (past) {
                store_past_cache<Bytes>(to + i + k, value);
            } else {
                to[i + k] = value;
            }
        }
    }
    if (to != nullptr && past) asm volatile("sfence" ::: "memory");
    const V all = sums[0] + sums[1] + sums[2] + sums[3];
    return all[0];
}

/// 12 products and sums a round, none waiting for another. Variables of their own, all different:
/// an array would lie in memory, and equal sums would be computed once.
template <int Bytes>
[[gnu::always_inline]] inline float multiply_loop(std::int64_t rounds) {
    using V = typename Wide<Bytes>::type;
    const V f = V{} + 1.0000001F;
    V a = f, b = a + 1, c = b + 1, d = c + 1, e = d + 1, g = e + 1, h = g + 1, i = h + 1, j = i + 1,
      k = j + 1, l = k + 1, m = l + 1;
    for (std::int64_t n = 0; n < rounds; ++n) {
        a = a * f + f, b = b * f + f, c = c * f + f, d = d * f + f;
        e = e * f + f, g = g * f + f, h = h * f + f, i = i * f + f;
        j = j * f + f, k = k * f + f, l = l * f + f, m = m * f + f;
        asm volatile("" ::: "memory");
    }
    const V all = a + b + c + d + e + g + h + i + j + k + l + m;
    return all[0];
}

// A target is known to a function alone, not to a template's instance.
#define LAZULI_LOOPS(bits, features)                                                               \
    __attribute__((target(features))) float move_##bits(const float* a, const float* b, float* to, \
                                                        std::int64_t n, bool past) {               \
        return move_loop<bits / 8>(a, b, to, n / (bits / 32), past);                               \
    }                                                                                              \
    __attribute__((target(features))) float multiply_##bits(std::int64_t rounds) {                 \
        return multiply_loop<bits / 8>(rounds);                                                    \
    }
LAZULI_LOOPS(512, "avx512f")
LAZULI_LOOPS(256, "avx2,fma")
LAZULI_LOOPS(128, "sse2")
#undef LAZULI_LOOPS

/// The same for pairs of bf16, each instruction 64 operations.
__attribute__((target("avx512f"))) float multiply_bf16(std::int64_t rounds) {
    using V = Wide<64>::type;
    const V f = V{} + 1.0F;
    V a = f, b = f, c = f, d = f, e = f, g = f, h = f, i = f, j = f, k = f, l = f, m = f;
    const auto add = [&f](V& to) __attribute__((always_inline, target("avx512f"))) {
        asm volatile("vdpbf16ps %1, %1, %0" : "+v"(to) : "v"(f));
    };
    for (std::int64_t n = 0; n < rounds; ++n) {
        add(a), add(b), add(c), add(d), add(e), add(g);
        add(h), add(i), add(j), add(k), add(l), add(m);
    }
    const V all = a + b + c + d + e + g + h + i + j + k + l + m;
    return all[0];
}

/// What tile registers hold: all of them 16 rows of 64 bytes.
struct alignas(64) TileConfig {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// The same on tile registers: 12 times the products of 16 x 32 and 32 x 16 elements of bf16 a
/// round, or of 16 x 64 and 64 x 16 bytes; four of them at once, as many as registers allow.
template <bool Bytes>
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) float multiply_tiles(std::int64_t rounds) {
    static const TileConfig config;
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (std::int64_t n = 0; n < 3 * rounds; ++n) {
        if constexpr (Bytes) {
            _tile_dpbssd(0, 4, 6);
            _tile_dpbssd(1, 4, 7);
            _tile_dpbssd(2, 5, 6);
            _tile_dpbssd(3, 5, 7);
        } else {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_release();
    return 0;
}

struct Loops {
    int lanes;  // of f32
    float (*move)(const float*, const float*, float*, std::int64_t, bool);
    float (*multiply)(std::int64_t);
};

const Loops& loops() {
    static const Loops found = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") != 0) return Loops{16, &move_512, &multiply_512};
        if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
            return Loops{8, &move_256, &multiply_256};
        return Loops{4, &move_128, &multiply_128};
    }();
    return found;
}

/// How often a second all threads together run `body`, which takes some tenths of a millisecond:
/// at each thread's best, so that a thread that had to wait for its processor does not count.
double rate_of_all_threads(const std::function<void()>& body) {
    struct Reading {
        const std::function<void()>& body;
        std::vector<double> least;
    } reading{body, std::vector<double>(static_cast<std::size_t>(runtime::thread_count()), 1e300)};
    runtime::share_out(
        runtime::thread_count(), 1,
        [](void* data, std::int64_t begin, std::int64_t end) {
            auto& r = *static_cast<Reading*>(data);
            for (std::int64_t i = begin; i < end; ++i) {
                double& least = r.least[static_cast<std::size_t>(i)];
                for (int k = 0; k < 12; ++k) {
                    const double start = now();
                    r.body();
                    least = std::min(least, now() - start);
                }
            }
        },
        &reading);
    double out = 0;
    for (const double seconds : reading.least) out += 1 / seconds;
    return out;
}

}  // namespace

/// Three stretches, grown as they are needed.
struct Limits::Memory {
    ~Memory() { drop(); }
    void drop() {
        for (float*& part : parts) {
            if (part != nullptr) munmap(part, bytes);
            part = nullptr;
        }
    }
    void hold(std::size_t wanted) {
        if (wanted <= bytes) return;
        drop();
        bytes = wanted;
        for (float*& part : parts) {
            void* at =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (at == MAP_FAILED) throw std::bad_alloc();
            madvise(at, bytes, MADV_HUGEPAGE);
            part = static_cast<float*>(at);
            std::fill_n(part, bytes / sizeof(float), 1.0F);
        }
    }
    float* parts[3] = {};
    std::size_t bytes = 0;
};

Limits::Limits() : memory_(std::make_unique<Memory>()) {}
Limits::~Limits() = default;

void Limits::read(const Streams& streams) {
    constexpr std::int64_t kUnit = 64;  // floats: four vectors of the widest kind
    const auto floats = static_cast<std::int64_t>(streams.bytes / sizeof(float)) / kUnit * kUnit;
    if (floats == 0) return;
    memory_->hold(static_cast<std::size_t>(floats) * sizeof(float));
    struct Move {
        const float* a;
        const float* b;
        float* to;
        bool past;
    };
    const auto once = [&](bool past) {
        Move move{memory_->parts[0], streams.reads > 1 ? memory_->parts[1] : nullptr,
                  streams.writes > 0 ? memory_->parts[2] : nullptr, past};
        // Pieces of the length that kernels have.
        const std::int64_t grain =
            std::max(kUnit, std::min<std::int64_t>(floats / runtime::thread_count(), 1 << 16) /
                                kUnit * kUnit);
        const double start = now();
        runtime::share_out(
            floats, grain,
            [](void* data, std::int64_t begin, std::int64_t end) {
                const Move& m = *static_cast<const Move*>(data);
                volatile float kept =
                    loops().move(m.a + begin, m.b == nullptr ? nullptr : m.b + begin,
                                 m.to == nullptr ? nullptr : m.to + begin, end - begin, m.past);
                (void)kept;
            },
            &move);
        return now() - start;
    };
    // Bytes that are left over at the end count as the others do.
    const double scale = streams.bytes / (static_cast<double>(floats) * sizeof(float));
    // Short streams stay in cache when they are moved again, as the operands of short work do.
    const double until = now() + 5e-4;
    double best = once(false);
    while (now() < until) best = std::min(best, once(false));
    if (streams.writes > 0) best = std::min(best, once(true));
    double& least = seconds_[streams];
    if (least == 0 || best * scale < least) least = best * scale;
}

double Limits::seconds(const Streams& streams) const {
    const auto at = seconds_.find(streams);
    return at == seconds_.end() ? 0 : at->second;
}

void Limits::read_flops(DType factors) {
    // 12 instructions a round, some tenths of a millisecond in all.
    const auto read = [&](float (*loop)(std::int64_t), std::int64_t rounds, int flops) {
        const double rate = rate_of_all_threads([&] {
            volatile float kept = loop(rounds);
            (void)kept;
        });
        double& most = flops_[factors];
        most = std::max(most, rate * 12.0 * static_cast<double>(rounds) * flops);
    };
    read(loops().multiply, 100'000, 2 * loops().lanes);
    if (factors == i8 && has_tiles_of_bytes()) read(multiply_tiles<true>, 5'000, 2 * 16 * 16 * 64);
    if (factors != bf16) return;
    // What is made for bf16, where it is there; on some processors it is no faster.
    if (loops().lanes == 16 && __builtin_cpu_supports("avx512bf16") != 0)
        read(multiply_bf16, 100'000, 64);
    if (has_tiles()) read(multiply_tiles<false>, 5'000, 2 * 16 * 16 * 32);
}

double Limits::flops(DType factors) const {
    const auto at = flops_.find(factors);
    return at == flops_.end() ? 0 : at->second;
}

void Limits::read_clock() {
    constexpr std::int64_t kProducts = 400'000;
    const double rate = rate_of_all_threads([] {
        std::int64_t n = 3;
        // Each waits for the one before, which takes three cycles on every processor of the last
        // fifteen years. (Additions of constants will not do: some processors do several at once.)
        for (std::int64_t i = 0; i < kProducts / 4; ++i)
            asm volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(n));
    });
    clock_ = std::max(clock_, rate * 3.0 * kProducts / runtime::thread_count());
}

double least_seconds(std::int64_t bytes_read, std::int64_t bytes_written, double flops,
                     DType factors) {
    static std::mutex mutex;
    static Limits& limits = *new Limits;
    constexpr int kReadings = 5;
    const std::scoped_lock lock(mutex);
    // Streams of a few lengths, in cache and beyond it.
    const auto bytes = static_cast<double>(bytes_read + bytes_written);
    double seconds = 0;
    if (bytes > 0) {
        const int writes = bytes_written > bytes_read / 4 ? 1 : 0;
        const double length =
            std::exp2(std::clamp(std::round(std::log2(bytes / (1 + writes))), 12.0, 26.0));
        const Streams streams{1, writes, length};
        for (int i = 0; i < kReadings && (i > 0 || limits.seconds(streams) == 0); ++i)
            limits.read(streams);
        seconds = limits.seconds(streams) * bytes / streams.moved();
    }
    if (flops == 0) return seconds;
    for (int i = 0; i < kReadings && (i > 0 || limits.flops(factors) == 0); ++i)
        limits.read_flops(factors);
    return std::max(seconds, flops / limits.flops(factors));
}

}  // namespace lazuli::cpu
