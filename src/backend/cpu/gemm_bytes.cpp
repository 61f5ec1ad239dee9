// Bytes become pairs of i16 while they are packed, two places of the sum side by side: one
// instruction multiplies both and adds the products, exactly, for every element of a vector.

#include "backend/cpu/gemm_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cpu/gemm_amx.h"
#include "backend/cpu/gemm_tile.h"
#include "backend/cpu/packed_b.h"
#include "runtime/pool.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace lazuli::cpu {

namespace {

using Pair = std::uint32_t;  // two i16, the first place of the sum below
using Sum = std::uint32_t;   // i32 that wraps

// A panel of b of so many pairs stays in the first cache.
constexpr std::int64_t kPairs = 192;
constexpr std::int64_t kRowTiles = 6;  // of a block

Pair pair_of(std::int16_t first, std::int16_t second) {
    return static_cast<std::uint16_t>(first) | static_cast<Pair>(static_cast<std::uint16_t>(second))
                                                   << 16;
}

/// Rows of `columns` sums at `result` += or = pairs of a's rows by a panel of b.
using Multiply = void (*)(std::int64_t pairs, const Pair* a, std::int64_t a_stride, const Pair* b,
                          Sum* result, std::int64_t stride, bool adds);

#define LAZULI_BYTE_TILE(name, features, bits, dot)                                                \
    template <int Rows>                                                                            \
    __attribute__((target(features))) void name(std::int64_t pairs, const Pair* a,                 \
                                                std::int64_t a_stride, const Pair* b, Sum* result, \
                                                std::int64_t stride, bool adds) {                  \
        typedef Pair Vector __attribute__((vector_size((bits) / 8)));                              \
        constexpr int kLanes = (bits) / 32;                                                        \
        Vector sum[Rows][2] = {};                                                                  \
        for (std::int64_t p = 0; p < pairs; ++p, b += 2 * kLanes) {                                \
            Vector row[2];                                                                         \
            std::memcpy(row, b, sizeof row);                                                       \
            _Pragma("GCC unroll 16") for (int i = 0; i < Rows; ++i) {                              \
                const Vector factor = a[i * a_stride + p] - Vector{};                              \
                _Pragma("GCC unroll 2") for (int j = 0; j < 2; ++j)                                \
                    dot(sum[i][j], factor, row[j]);                                                \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < Rows; ++i) {                                  \
            Vector before[2] = {};                                                                 \
            if (adds) std::memcpy(before, result + i * stride, sizeof before);                     \
            const Vector after[2] = {before[0] + sum[i][0], before[1] + sum[i][1]};                \
            std::memcpy(result + i * stride, after, sizeof after);                                 \
        }                                                                                          \
    }
#define LAZULI_DOT_VNNI(sum, a, b) \
    sum = (Vector)_mm512_dpwssd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b))
#define LAZULI_DOT_512(sum, a, b) sum += (Vector)_mm512_madd_epi16((__m512i)(a), (__m512i)(b))
#define LAZULI_DOT_256(sum, a, b) sum += (Vector)_mm256_madd_epi16((__m256i)(a), (__m256i)(b))
#define LAZULI_DOT_128(sum, a, b) sum += (Vector)_mm_madd_epi16((__m128i)(a), (__m128i)(b))
LAZULI_BYTE_TILE(tile_vnni, "avx512f,avx512bw,avx512vl,avx512vnni", 512, LAZULI_DOT_VNNI)
LAZULI_BYTE_TILE(tile_512, "avx512f,avx512bw,avx512vl", 512, LAZULI_DOT_512)
LAZULI_BYTE_TILE(tile_256, "avx2", 256, LAZULI_DOT_256)
LAZULI_BYTE_TILE(tile_128, "sse2", 128, LAZULI_DOT_128)
#undef LAZULI_DOT_VNNI
#undef LAZULI_DOT_512
#undef LAZULI_DOT_256
#undef LAZULI_DOT_128
#undef LAZULI_BYTE_TILE

/// Tiles of every height up to `most`.
struct Tiles {
    static constexpr int kMost = 12;
    int most = 0;
    std::int64_t columns = 0;
    Multiply multiply[kMost + 1] = {};
};

const Tiles& tiles() {
    static const Tiles made = [] {
        Tiles out;
        const auto fill = [&]<int... Less>(std::integer_sequence<int, Less...>, auto of) {
            out.most = sizeof...(Less);
            ((out.multiply[Less + 1] = of.template operator()<Less + 1>()), ...);
        };
        const int width = tile_width();
        out.columns = 2 * width / 32;
        if (width == 512 && __builtin_cpu_supports("avx512vnni") != 0) {
            fill(std::make_integer_sequence<int, 12>(), []<int N> { return &tile_vnni<N>; });
        } else if (width == 512) {
            fill(std::make_integer_sequence<int, 12>(), []<int N> { return &tile_512<N>; });
        } else if (width == 256) {
            fill(std::make_integer_sequence<int, 5>(), []<int N> { return &tile_256<N>; });
        } else {
            fill(std::make_integer_sequence<int, 5>(), []<int N> { return &tile_128<N>; });
        }
        return out;
    }();
    return made;
}

class Multiplication {
   public:
    Multiplication(const Product& product, const Finished& finished)
        : p_(product),
          finished_(finished),
          tiles_(tiles()),
          pairs_((p_.k + 1) / 2),
          panels_((p_.n + tiles_.columns - 1) / tiles_.columns) {}

    void run() {
        constexpr std::uint64_t kForm = 0x627974;
        PackedB<Pair> b(p_, kForm, panels_ * tiles_.columns * pairs_);
        packed_b_ = b.data();
        if (!b.is_there()) runtime::share_out(panels_, 4, pack_b, this);
        b.done();
        const std::int64_t rows = kRowTiles * tiles_.most;
        blocks_ = std::max((p_.m + rows - 1) / rows,
                           std::min<std::int64_t>(runtime::thread_count(), p_.m));
        runtime::share_out(blocks_, 1, multiply_rows, this);
    }

   private:
    template <class Run>
    static void with_type(DType dtype, const Run& run) {
        dtype == DType::u8 ? run(std::uint8_t()) : run(std::int8_t());
    }

    static void pack_b(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<Multiplication*>(data);
        with_type(self.p_.b.dtype, [&]<class From>(From) {
            for (std::int64_t panel = begin; panel < end; ++panel) self.pack_panel<From>(panel);
        });
    }

    template <class From>
    void pack_panel(std::int64_t panel) const {
        const std::int64_t first = panel * tiles_.columns;
        const std::int64_t count = std::min(tiles_.columns, p_.n - first);
        const std::int64_t row = p_.b.row_stride;
        const std::int64_t column = p_.b.column_stride;
        const auto* from = static_cast<const From*>(p_.b.data) + first * column;
        Pair* to = packed_b_ + first * pairs_;
        for (std::int64_t p = 0; p < pairs_; ++p, from += 2 * row, to += tiles_.columns) {
            const bool both = 2 * p + 1 < p_.k;
            if (both && column == 1) {
                for (std::int64_t j = 0; j < count; ++j) to[j] = pair_of(from[j], from[row + j]);
            } else {
                for (std::int64_t j = 0; j < count; ++j)
                    to[j] =
                        pair_of(from[j * column], both ? from[row + j * column] : std::int16_t{0});
            }
            std::fill(to + count, to + tiles_.columns, Pair{0});
        }
    }

    template <class From>
    void pack_rows(std::int64_t first, std::int64_t behind, Pair* to) const {
        const std::int64_t column = p_.a.column_stride;
        for (std::int64_t i = first; i < behind; ++i) {
            const auto* from = static_cast<const From*>(p_.a.data) + i * p_.a.row_stride;
            for (std::int64_t p = 0; p < p_.k / 2; ++p)
                *to++ = pair_of(from[2 * p * column], from[(2 * p + 1) * column]);
            if (p_.k % 2 != 0) *to++ = pair_of(from[(p_.k - 1) * column], 0);
        }
    }

    static void multiply_rows(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<Multiplication*>(data);
        for (std::int64_t block = begin; block < end; ++block)
            self.multiply_block(block * self.p_.m / self.blocks_,
                                (block + 1) * self.p_.m / self.blocks_);
    }

    void multiply_block(std::int64_t first, std::int64_t behind) {
        Pair* packed_a = thread_room<Pair, Room::left>((behind - first) * pairs_);
        with_type(p_.a.dtype, [&]<class From>(From) { pack_rows<From>(first, behind, packed_a); });
        auto* result = static_cast<Sum*>(p_.result);
        alignas(64) Sum edge[Tiles::kMost * 32];
        for (std::int64_t depth = 0; depth < pairs_; depth += kPairs) {
            const std::int64_t pairs = std::min(kPairs, pairs_ - depth);
            for (std::int64_t column = 0; column < p_.n; column += tiles_.columns) {
                const Pair* b = packed_b_ + column * pairs_ + depth * tiles_.columns;
                const std::int64_t width = std::min(tiles_.columns, p_.n - column);
                for (std::int64_t row = first; row < behind;) {
                    const std::int64_t height = std::min<std::int64_t>(tiles_.most, behind - row);
                    const Pair* a = packed_a + (row - first) * pairs_ + depth;
                    Sum* at = result + row * p_.n + column;
                    row += height;
                    const Multiply multiply = tiles_.multiply[height];
                    if (width == tiles_.columns) {
                        multiply(pairs, a, pairs_, b, at, p_.n, depth > 0);
                        continue;
                    }
                    multiply(pairs, a, pairs_, b, edge, tiles_.columns, false);
                    for (std::int64_t i = 0; i < height; ++i) {
                        const Sum* sums = edge + i * tiles_.columns;
                        Sum* to = at + i * p_.n;
                        for (std::int64_t j = 0; j < width; ++j)
                            to[j] = depth > 0 ? to[j] + sums[j] : sums[j];
                    }
                }
            }
        }
        if (finished_) finished_(first, behind, result + first * p_.n, p_.n);
    }

    const Product& p_;
    const Finished& finished_;
    const Tiles& tiles_;
    const std::int64_t pairs_;   // along the sum
    const std::int64_t panels_;  // that columns are cut into
    std::int64_t blocks_ = 0;    // that rows are
    Pair* packed_b_ = nullptr;
};

}  // namespace

void multiply_bytes(const Product& product, const Finished& finished) {
    if (has_tiles_of_bytes()) return multiply_by_tiles(product, finished);
    Multiplication(product, finished).run();
}

}  // namespace lazuli::cpu
