// A tile register holds 16 rows of 64 bytes. One instruction adds to a tile of 16 x 16 sums in f32
// the products of a tile of 16 rows of 32 elements of a, and one of 32 rows of 16 elements of b,
// whose rows lie in pairs; or, of bytes, to sums in i32 those of 64 elements, in fours. Four tiles
// of sums are worked on at once, 32 x 32 elements: each tile of a and of b is used twice. Denormals
// count as 0 there.

#include "backend/cpu/gemm_amx.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/packed_b.h"
#include "base/env.h"
#include "runtime/pool.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace lazuli::cpu {

namespace {

constexpr std::int64_t kEdge = 16;  // rows of a tile, and columns of sums
// Rows of a of so many bytes stay in the first cache while all of b passes by.
constexpr std::int64_t kDepthBytes = 1024;
constexpr std::int64_t kRows = 128;  // of a block: its sums stay in the second cache

/// How elements of so many bits lie in tiles.
template <class Bits>
struct Lie {
    static constexpr std::int64_t kSize = sizeof(Bits);
    static constexpr std::int64_t kDeep = 64 / kSize;     // elements of a row of a tile
    static constexpr std::int64_t kTile = kEdge * kDeep;  // elements
    static constexpr std::int64_t kTogether = 4 / kSize;  // rows of b that lie together
    static constexpr std::int64_t kDepth = kDepthBytes / kSize;
};

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// Rows of a as tiles: for 16 rows, the tiles along k one behind the other. What is missing is 0.
template <class Bits>
void pack_rows(const Bits* from, std::int64_t row_stride, std::int64_t column_stride,
               std::int64_t rows, std::int64_t depth, Bits* to) {
    constexpr std::int64_t kDeep = Lie<Bits>::kDeep;
    constexpr std::int64_t kTile = Lie<Bits>::kTile;
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

/// Columns of b as tiles: for 16 columns, the tiles along k one behind the other; in a tile a few
/// rows lie together, their elements of a column side by side.
template <class Bits>
void pack_columns(const Bits* from, std::int64_t row_stride, std::int64_t column_stride,
                  std::int64_t columns, std::int64_t depth, Bits* to) {
    constexpr std::int64_t kDeep = Lie<Bits>::kDeep;
    constexpr std::int64_t kTile = Lie<Bits>::kTile;
    constexpr std::int64_t kTogether = Lie<Bits>::kTogether;
    typedef Bits Row __attribute__((vector_size(kEdge * sizeof(Bits))));
    typedef std::uint32_t Rows __attribute__((vector_size(64)));
    for (std::int64_t first = 0; first < columns; first += kEdge) {
        const std::int64_t here = std::min(kEdge, columns - first);
        for (std::int64_t p = 0; p < depth; p += kDeep, to += kTile) {
            const std::int64_t deep = std::min(kDeep, depth - p);
            const Bits* corner = from + p * row_stride + first * column_stride;
            if (here == kEdge && deep == kDeep && column_stride == 1) {
                for (std::int64_t d = 0; d < kDeep; d += kTogether) {
                    Rows rows{};
                    for (std::int64_t i = 0; i < kTogether; ++i) {
                        Row row;
                        std::memcpy(&row, corner + (d + i) * row_stride, sizeof row);
                        rows |= __builtin_convertvector(row, Rows)
                                << static_cast<unsigned>(i * Lie<Bits>::kSize * 8);
                    }
                    std::memcpy(to + d * kEdge, &rows, sizeof rows);
                }
                continue;
            }
            if (here < kEdge || deep < kDeep) std::memset(to, 0, kTile * sizeof(Bits));
            if (row_stride == 1) {
                // They lie together already.
                for (std::int64_t j = 0; j < here; ++j) {
                    const Bits* column = corner + j * column_stride;
                    Bits* at = to + j * kTogether;
                    std::int64_t d = 0;
                    for (; d + kTogether <= deep; d += kTogether)
                        std::memcpy(at + d * kEdge, column + d, kTogether * sizeof(Bits));
                    for (std::int64_t rest = d; rest < deep; ++rest)
                        at[d * kEdge + rest - d] = column[rest];
                }
                continue;
            }
            for (std::int64_t d = 0; d < deep; ++d) {
                for (std::int64_t j = 0; j < here; ++j)
                    to[(d / kTogether * kEdge + j) * kTogether + d % kTogether] =
                        corner[d * row_stride + j * column_stride];
            }
        }
    }
}

/// Packed columns, as they lay before.
template <class Bits>
struct Unpack {
    BufferPtr tiles;
    std::int64_t k, n;
    std::int64_t depth;  // k, rounded up to tiles
    MatrixView b;

    void operator()(void* to) const {
        constexpr std::int64_t kTogether = Lie<Bits>::kTogether;
        for (std::int64_t j = 0; j < n; ++j) {
            const Bits* strip =
                static_cast<const Bits*>(tiles->address()) + j / kEdge * kEdge * depth;
            auto* column = static_cast<Bits*>(to) + j * b.column_stride;
            for (std::int64_t d = 0; d < k; ++d)
                column[d * b.row_stride] =
                    strip[(d / kTogether * kEdge + j % kEdge) * kTogether + d % kTogether];
        }
    }
};

#ifdef __x86_64__

/// What the tile registers hold, as the processor reads it: all of them 16 rows of 64 bytes.
struct alignas(64) TileConfig {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// What is multiplied: elements of a and of b.
enum class Kind : std::uint8_t { bf16, i8_i8, i8_u8, u8_i8, u8_u8 };

template <Kind K>
using BitsOf = std::conditional_t<K == Kind::bf16, std::uint16_t, std::uint8_t>;
template <Kind K>
using SumOf = std::conditional_t<K == Kind::bf16, float, std::int32_t>;

// An instruction names its registers, which a function cannot be given.
#define LAZULI_MULTIPLY_TILES(sums, a, b)                          \
    do {                                                           \
        if constexpr (K == Kind::bf16) _tile_dpbf16ps(sums, a, b); \
        if constexpr (K == Kind::i8_i8) _tile_dpbssd(sums, a, b);  \
        if constexpr (K == Kind::i8_u8) _tile_dpbsud(sums, a, b);  \
        if constexpr (K == Kind::u8_i8) _tile_dpbusd(sums, a, b);  \
        if constexpr (K == Kind::u8_u8) _tile_dpbuud(sums, a, b);  \
    } while (false)

/// 32 x 32 sums at `result` += or = products of two strips each of a and b.
template <Kind K>
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) void multiply_block(
    std::int64_t steps, const BitsOf<K>* a, const BitsOf<K>* a_next, const BitsOf<K>* b,
    const BitsOf<K>* b_next, SumOf<K>* result, std::int64_t stride, bool adds) {
    constexpr std::int64_t kTile = Lie<BitsOf<K>>::kTile;
    const auto bytes = static_cast<std::size_t>(stride) * sizeof(SumOf<K>);
    SumOf<K>* below = result + kEdge * stride;
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
        LAZULI_MULTIPLY_TILES(0, 4, 6);
        LAZULI_MULTIPLY_TILES(1, 4, 7);
        LAZULI_MULTIPLY_TILES(2, 5, 6);
        LAZULI_MULTIPLY_TILES(3, 5, 7);
    }
    _tile_stored(0, result, bytes);
    _tile_stored(1, result + kEdge, bytes);
    _tile_stored(2, below, bytes);
    _tile_stored(3, below + kEdge, bytes);
}
#undef LAZULI_MULTIPLY_TILES

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

template <Kind K>
class TileMultiplication {
    using Bits = BitsOf<K>;
    using Sum = SumOf<K>;
    static constexpr std::int64_t kDeep = Lie<Bits>::kDeep;
    static constexpr std::int64_t kDepth = Lie<Bits>::kDepth;

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
        PackedB<Bits> b(p_, kForm, depth_ * width_);
        packed_b_ = b.data();
        if (!b.is_there()) runtime::share_out(width_ / kEdge, 4, pack_b, this);
        b.done();
        if (b.kept() != nullptr) release_b(p_, Unpack<Bits>{b.kept(), p_.k, p_.n, depth_, p_.b});
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
        Sum* sums = thread_room<Sum, Room::sums>(rows * width_);
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
                    multiply_block<K>(steps, a, a + kEdge * depth_, b, b + kEdge * depth_,
                                      sums + row * width_ + column, width_, p > 0);
                }
            }
        }
        // Sums that need no rounding go where they are wanted.
        if (p_.result == nullptr) return finished_(first, behind, sums, width_);
        auto* result = static_cast<Sum*>(p_.result);
        for (std::int64_t row = first; row < behind; ++row)
            std::memcpy(result + row * p_.n, sums + (row - first) * width_,
                        static_cast<std::size_t>(p_.n) * sizeof(Sum));
        if (finished_) finished_(first, behind, result + first * p_.n, p_.n);
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

namespace {

/// Whether this processor has tile registers that multiply what the bit stands for, and the system
/// lets this process use them.
bool has_tiles_for(unsigned feature) {
#ifdef __x86_64__
    static const unsigned features = [] {
        if (env::integer(env::Var::vector_width) != 0) return 0U;
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 0U;
        constexpr unsigned kTiles = 1U << 24;
        if ((d & kTiles) == 0) return 0U;
        // The registers are large, so the system asks to be asked for them.
        constexpr long kAskForRegisters = 0x1023;
        constexpr long kTileData = 18;
        return syscall(SYS_arch_prctl, kAskForRegisters, kTileData) == 0 ? d : 0U;
    }();
    return (features & feature) != 0;
#else
    (void)feature;
    return false;
#endif
}

}  // namespace

bool has_tiles() { return has_tiles_for(1U << 22); }
bool has_tiles_of_bytes() { return has_tiles_for(1U << 25); }

void multiply_by_tiles(const Product& product, const Finished& finished) {
#ifdef __x86_64__
    const auto run = [&]<Kind K> { TileMultiplication<K>(product, finished).run(); };
    if (product.dtype == DType::bf16) return run.template operator()<Kind::bf16>();
    if (product.a.dtype == DType::i8) {
        if (product.b.dtype == DType::i8) return run.template operator()<Kind::i8_i8>();
        return run.template operator()<Kind::i8_u8>();
    }
    if (product.b.dtype == DType::i8) return run.template operator()<Kind::u8_i8>();
    run.template operator()<Kind::u8_u8>();
#else
    (void)product, (void)finished;
#endif
}

}  // namespace lazuli::cpu
