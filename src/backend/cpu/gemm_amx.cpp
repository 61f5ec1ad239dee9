// A tile register holds 16 rows of 64 bytes. One instruction adds to a tile of 16 x 16 sums in f32
// the products of a tile of 16 rows of 32 elements of a, and one of 32 rows of 16 elements of b,
// whose rows lie in pairs. Four tiles of sums are worked on at once, 32 x 32 elements: each tile of
// a and of b is used twice. Denormals count as 0 there.

#include "backend/cpu/gemm_amx.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/pack_room.h"
#include "base/env.h"
#include "runtime/pool.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace lazuli::cpu {

namespace {

constexpr std::int64_t kEdge = 16;             // rows of a tile, and columns of sums
constexpr std::int64_t kDeep = 32;             // elements of a row of a tile
constexpr std::int64_t kTile = kEdge * kDeep;  // elements
// Rows of a of this depth stay in the first cache while all of b passes by.
constexpr std::int64_t kDepth = 512;
constexpr std::int64_t kLargeRoom = std::int64_t{32} << 20;  // elements
constexpr std::int64_t kRows = 128;  // of a block: its sums stay in the second cache

using Bits = std::uint16_t;  // of an element

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// Rows of a as tiles: for 16 rows, the tiles along k one behind the other. What is missing is 0.
void pack_rows(const Bits* from, std::int64_t row_stride, std::int64_t column_stride,
               std::int64_t rows, std::int64_t depth, Bits* to) {
    for (std::int64_t first = 0; first < rows; first += kEdge) {
        const std::int64_t here = std::min(kEdge, rows - first);
        for (std::int64_t p = 0; p < depth; p += kDeep, to += kTile) {
            const std::int64_t deep = std::min(kDeep, depth - p);
            if (here < kEdge || deep < kDeep) std::memset(to, 0, kTile * sizeof(Bits));
            for (std::int64_t i = 0; i < here; ++i) {
                const Bits* row = from + (first + i) * row_stride + p * column_stride;
                if (column_stride == 1) {
                    std::memcpy(to + i * kDeep, row, static_cast<std::size_t>(deep) * sizeof(Bits));
                } else {
                    for (std::int64_t d = 0; d < deep; ++d)
                        to[i * kDeep + d] = row[d * column_stride];
                }
            }
        }
    }
}

/// Columns of b as tiles: for 16 columns, the tiles along k one behind the other; in a tile rows
/// lie in pairs, the two elements of a column side by side.
void pack_columns(const Bits* from, std::int64_t row_stride, std::int64_t column_stride,
                  std::int64_t columns, std::int64_t depth, Bits* to) {
    typedef Bits Half16 __attribute__((vector_size(32)));
    typedef std::uint32_t Pairs __attribute__((vector_size(64)));
    for (std::int64_t first = 0; first < columns; first += kEdge) {
        const std::int64_t here = std::min(kEdge, columns - first);
        for (std::int64_t p = 0; p < depth; p += kDeep, to += kTile) {
            const std::int64_t deep = std::min(kDeep, depth - p);
            const Bits* corner = from + p * row_stride + first * column_stride;
            if (here == kEdge && deep == kDeep && column_stride == 1) {
                for (std::int64_t d = 0; d < kDeep; d += 2) {
                    Half16 even;
                    Half16 odd;
                    std::memcpy(&even, corner + d * row_stride, sizeof even);
                    std::memcpy(&odd, corner + (d + 1) * row_stride, sizeof odd);
                    const Pairs pairs = __builtin_convertvector(even, Pairs) |
                                        __builtin_convertvector(odd, Pairs) << 16;
                    std::memcpy(to + d * kEdge, &pairs, sizeof pairs);
                }
                continue;
            }
            if (here < kEdge || deep < kDeep) std::memset(to, 0, kTile * sizeof(Bits));
            if (row_stride == 1) {
                // Pairs lie side by side already.
                for (std::int64_t j = 0; j < here; ++j) {
                    const Bits* column = corner + j * column_stride;
                    std::int64_t d = 0;
                    for (; d + 1 < deep; d += 2)
                        std::memcpy(to + d * kEdge + j * 2, column + d, 2 * sizeof(Bits));
                    if (d < deep) to[d * kEdge + j * 2] = column[d];
                }
                continue;
            }
            for (std::int64_t d = 0; d < deep; ++d) {
                for (std::int64_t j = 0; j < here; ++j)
                    to[(d / 2 * kEdge + j) * 2 + d % 2] =
                        corner[d * row_stride + j * column_stride];
            }
        }
    }
}

#ifdef __x86_64__

/// What the tile registers hold, as the processor reads it: all of them 16 rows of 64 bytes.
struct alignas(64) TileConfig {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// 32 x 32 sums at `result` += or = products of two strips each of a and b.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_block(std::int64_t steps, const Bits* a,
                                                                 const Bits* a_next, const Bits* b,
                                                                 const Bits* b_next, float* result,
                                                                 std::int64_t stride, bool adds) {
    const auto bytes = static_cast<std::size_t>(stride) * sizeof(float);
    float* below = result + kEdge * stride;
    if (adds) {
        _tile_loadd(0, result, bytes);
        _tile_loadd(1, result + kEdge, bytes);
        _tile_loadd(2, below, bytes);
        _tile_loadd(3, below + kEdge, bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (std::int64_t i = 0; i < steps; ++i) {
        _tile_loadd(6, b + i * kTile, 64);
        _tile_loadd(4, a + i * kTile, 64);
        _tile_loadd(7, b_next + i * kTile, 64);
        _tile_loadd(5, a_next + i * kTile, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, result, bytes);
    _tile_stored(1, result + kEdge, bytes);
    _tile_stored(2, below, bytes);
    _tile_stored(3, below + kEdge, bytes);
}
__attribute__((target("amx-tile"))) void begin_tiles() {
    static const TileConfig config;
    _tile_loadconfig(&config);
}
__attribute__((target("amx-tile"))) void end_tiles() { _tile_release(); }

/// The registers are this thread's while it lives.
class Tiles {
   public:
    Tiles() { begin_tiles(); }
    ~Tiles() { end_tiles(); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
};

class TileMultiplication {
   public:
    TileMultiplication(const Product& product, const Finished& finished)
        : p_(product),
          finished_(finished),
          depth_(round_up(p_.k, kDeep)),
          width_(round_up(p_.n, 2 * kEdge)) {
        // Blocks of fewer rows where there are few, so that every thread has some.
        rows_ = kRows;
        while (rows_ > 2 * kEdge && p_.m < 4 * rows_) rows_ -= 2 * kEdge;
    }

    void run() {
        constexpr std::uint64_t kForm = 0x616d78;
        const std::uint64_t key = p_.b_owner != nullptr ? packed_key(p_, kForm) : 0;
        BufferPtr kept = p_.b_owner != nullptr ? p_.b_owner->kept(key) : nullptr;
        const bool is_packed = kept != nullptr;
        if (p_.b_owner != nullptr && !is_packed)
            kept =
                allocate_host(Device(), static_cast<std::size_t>(depth_ * width_) * sizeof(Bits));
        packed_b_ = kept != nullptr ? static_cast<Bits*>(kept->host_mutable())
                                    : thread_room<Bits, Room::right>(depth_ * width_);
        if (!is_packed) runtime::share_out(width_ / kEdge, 4, pack_b, this);
        if (p_.b_owner != nullptr && !is_packed) p_.b_owner->keep(key, kept);
        runtime::share_out((p_.m + rows_ - 1) / rows_, 1, multiply_rows, this);
    }

   private:
    static void pack_b(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<TileMultiplication*>(data);
        for (std::int64_t strip = begin; strip < end; ++strip) {
            Bits* to = self.packed_b_ + strip * kEdge * self.depth_;
            const std::int64_t first = strip * kEdge;
            if (first >= self.p_.n) {
                std::memset(to, 0, static_cast<std::size_t>(kEdge * self.depth_) * sizeof(Bits));
                continue;
            }
            pack_columns(static_cast<const Bits*>(self.p_.b.data) + first * self.p_.b.column_stride,
                         self.p_.b.row_stride, self.p_.b.column_stride,
                         std::min(kEdge, self.p_.n - first), self.p_.k, to);
        }
    }

    static void multiply_rows(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<TileMultiplication*>(data);
        const Tiles tiles;
        for (std::int64_t block = begin; block < end; ++block)
            self.multiply_block_of_rows(block * self.rows_,
                                        std::min((block + 1) * self.rows_, self.p_.m));
    }

    void multiply_block_of_rows(std::int64_t first, std::int64_t behind) {
        const std::int64_t rows = round_up(behind - first, 2 * kEdge);
        Bits* packed_a = thread_room<Bits, Room::left>(rows * depth_);
        float* sums = thread_room<float, Room::sums>(rows * width_);
        const auto* from = static_cast<const Bits*>(p_.a.data) + first * p_.a.row_stride;
        pack_rows(from, p_.a.row_stride, p_.a.column_stride, behind - first, p_.k, packed_a);
        const std::int64_t strips = (behind - first + kEdge - 1) / kEdge;
        if (strips * kEdge < rows)
            std::memset(packed_a + strips * kEdge * depth_, 0,
                        static_cast<std::size_t>(kEdge * depth_) * sizeof(Bits));
        for (std::int64_t p = 0; p < depth_; p += kDepth) {
            const std::int64_t steps = std::min(kDepth, depth_ - p) / kDeep;
            for (std::int64_t row = 0; row < rows; row += 2 * kEdge) {
                const Bits* a = packed_a + row * depth_ + p * kEdge;
                for (std::int64_t column = 0; column < width_; column += 2 * kEdge) {
                    const Bits* b = packed_b_ + column * depth_ + p * kEdge;
                    multiply_block(steps, a, a + kEdge * depth_, b, b + kEdge * depth_,
                                   sums + row * width_ + column, width_, p > 0);
                }
            }
        }
        finished_(first, behind, sums, width_);
    }

    const Product& p_;
    const Finished& finished_;
    const std::int64_t depth_;  // k and n, rounded up to tiles
    const std::int64_t width_;
    std::int64_t rows_ = 0;
    Bits* packed_b_ = nullptr;
};

#endif

}  // namespace

bool has_tiles() {
#ifdef __x86_64__
    static const bool found = [] {
        if (env::integer(env::Var::vector_width) != 0) return false;
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
        constexpr unsigned kBf16 = 1U << 22;
        constexpr unsigned kTiles = 1U << 24;
        if ((d & kBf16) == 0 || (d & kTiles) == 0) return false;
        // The registers are large, so the system asks to be asked for them.
        constexpr long kAskForRegisters = 0x1023;
        constexpr long kTileData = 18;
        return syscall(SYS_arch_prctl, kAskForRegisters, kTileData) == 0;
    }();
    return found;
#else
    return false;
#endif
}

void multiply_by_tiles(const Product& product, const Finished& finished) {
#ifdef __x86_64__
    TileMultiplication(product, finished).run();
#else
    (void)product, (void)finished;
#endif
}

}  // namespace lazuli::cpu
