#include "backend/cpu/gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "backend/cpu/gemm_amx.h"
#include "backend/cpu/gemm_bytes.h"
#include "backend/cpu/gemm_few_rows.h"
#include "backend/cpu/gemm_tile.h"
#include "backend/cpu/gemm_vectors.h"
#include "backend/cpu/packed_b.h"
#include "base/convert.h"
#include "base/env.h"
#include "base/hash.h"
#include "lazuli/backend.h"
#include "lazuli/error.h"
#include "runtime/pool.h"

namespace lazuli::cpu {

namespace {

// A panel of b (kDepth x a tile's width) stays in the first cache, a block of a (kDepth x some
// rows) in the second, all panels of b together in the third. Rows of a's panels are so far apart
// that they do not meet in one place of the cache.
constexpr std::int64_t kDepth = 320;
constexpr int kPitch = kDepth + 16;
// Rows of b's panel that are fetched before they are needed: panels come from the second cache.
constexpr int kAhead = 32;

/// A panel of b, and what is to come behind it.
template <class T>
struct PanelView {
    const T* data;
    std::int64_t step;   // elements from one row to the next
    std::int64_t ahead;  // elements from a row to the one that is fetched when it is needed
    const T* next;       // of the next panel, fetched into the second cache meanwhile
    std::int64_t next_step;
};

/// The kernel: a tile of `Rows` x `Columns` of the result, += or = the product of two packed
/// panels. Written on vectors of a fixed number of elements; the compiler makes of them what the
/// target has. `Pitch` is the step from one row of a's panel to the next; 0: what belongs to one
/// place of the sum lies together.
template <class T, int Lanes, int Rows, int Vectors, int Pitch>
inline __attribute__((always_inline)) void multiply_tile(std::int64_t k, const T* a,
                                                         const PanelView<T>& panel, T* result,
                                                         std::int64_t stride, bool adds) {
    const T* b = panel.data;
    const T* next = panel.next;
    const std::int64_t step = Pitch == 0 ? Vectors * Lanes : panel.step;
    const std::int64_t ahead = Pitch == 0 ? kAhead * Vectors * Lanes : panel.ahead;
    using Vector = typename VectorOf<T, Lanes>::type;
    Vector sum[Rows][Vectors];
    // The result's lines come while the sums are made.
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) __builtin_prefetch(result + i * stride + j * Lanes, 1);
    }
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) sum[i][j] = Vector{};
    }
    constexpr int kNext = Pitch == 0 ? Rows : 1;
    for (std::int64_t p = 0; p < k; ++p, a += kNext, b += step) {
        if constexpr (Pitch != 0) {
            __builtin_prefetch(next, 0, 2);
            next += panel.next_step;
        }
        Vector row[Vectors];
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) {
            std::memcpy(&row[j], b + j * Lanes, sizeof(Vector));
            __builtin_prefetch(b + ahead + j * Lanes);
        }
#pragma GCC unroll 32
        for (int i = 0; i < Rows; ++i) {
            const Vector factor = a[Pitch == 0 ? i : i * Pitch] - Vector{};
#pragma GCC unroll 4
            for (int j = 0; j < Vectors; ++j) sum[i][j] += factor * row[j];
        }
    }
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) {
            T* at = result + i * stride + j * Lanes;
            Vector before{};
            if (adds) std::memcpy(&before, at, sizeof(Vector));
            const Vector after = before + sum[i][j];
            std::memcpy(at, &after, sizeof(Vector));
        }
    }
}

#define LAZULI_TILE(bits, features, lanes, rows)                                             \
    __attribute__((target(features))) void tile_##bits(std::int64_t k, const float* a,       \
                                                       const float* b, float* result,        \
                                                       std::int64_t stride, bool adds) {     \
        multiply_tile<float, lanes, rows, 2, 0>(k, a, {b, 0, 0, nullptr, 0}, result, stride, \
                                                adds);                                       \
    }                                                                                        \
    template <class T, int Rows>                                                             \
    __attribute__((target(features))) void rows_##bits(std::int64_t k, const T* a,           \
                                                       const PanelView<T>& b, T* result,     \
                                                       std::int64_t stride, bool adds) {     \
        multiply_tile<T, lanes * 4 / static_cast<int>(sizeof(T)), Rows, 2, kPitch>(          \
            k, a, b, result, stride, adds);                                                  \
    }
LAZULI_TILE(512, "avx512f,avx512vl", 16, 14)
LAZULI_TILE(256, "avx2,fma", 8, 6)
LAZULI_TILE(128, "sse2", 4, 4)
#undef LAZULI_TILE

}  // namespace

int tile_width() {
    static const int width = [] {
        const auto forced = static_cast<int>(env::integer(env::Var::vector_width));
        const int most = forced == 0 ? 512 : forced;
        __builtin_cpu_init();
        if (most >= 512 && __builtin_cpu_supports("avx512f") != 0 &&
            __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0)
            return 512;
        const bool has_256 = __builtin_cpu_supports("avx2") != 0 &&
                             __builtin_cpu_supports("fma") != 0 &&
                             __builtin_cpu_supports("f16c") != 0;
        return most >= 256 && has_256 ? 256 : 128;
    }();
    return width;
}

Tile<float> choose_tile() {
    const int width = tile_width();
    if (width == 512) return {14, 32, tile_512};
    if (width == 256) return {6, 16, tile_256};
    return {4, 8, tile_128};
}

namespace {

/// Tiles whose panels of a are rows, kPitch apart, of every height up to `most`: the rows of a
/// block are cut into tiles that are about equally high.
template <class T>
struct RowTiles {
    using Multiply = void (*)(std::int64_t k, const T* a, const PanelView<T>& b, T* result,
                              std::int64_t stride, bool adds);
    static constexpr int kMost = 14;
    int most;
    int columns;
    Multiply multiply[kMost + 1];
};

template <class T>
const RowTiles<T>& row_tiles() {
    static const RowTiles<T> tiles = [] {
        constexpr int kTwo =
            2 * 8 / static_cast<int>(sizeof(T));  // elements of two vectors of 64 bits
        RowTiles<T> out{};
        const auto fill = [&]<int... Less>(std::integer_sequence<int, Less...>, auto of) {
            out.most = sizeof...(Less);
            ((out.multiply[Less + 1] = of.template operator()<Less + 1>()), ...);
        };
        const int width = tile_width();
        out.columns = width / 64 * kTwo;
        if (width == 512) {
            fill(std::make_integer_sequence<int, 14>(), []<int N> { return &rows_512<T, N>; });
        } else if (width == 256) {
            fill(std::make_integer_sequence<int, 6>(), []<int N> { return &rows_256<T, N>; });
        } else {
            fill(std::make_integer_sequence<int, 4>(), []<int N> { return &rows_128<T, N>; });
        }
        return out;
    }();
    return tiles;
}

constexpr std::int64_t kRowTiles = 5;  // of a block, at most
// All panels of b that are packed at once.
constexpr std::int64_t kPackedBytes = std::int64_t{32} << 20;
constexpr std::int64_t kDeep = kDepth * 128;  // and how far down at once
// Up to so many rows, or so large a b, it is read as it lies; rows of it are far apart then, and
// few that are fetched ahead stay in the first cache.
constexpr std::int64_t kUnpackedRows = 256;
constexpr std::int64_t kUnpackedBytes = std::int64_t{1} << 20;
constexpr std::int64_t kUnpackedAhead = 8;
constexpr std::int64_t kLastTiles = 2;  // of the blocks at the end, so that threads end together
// Products of fewer multiplications run on the calling thread.
constexpr double kLittle = 1e5;

}  // namespace

template <class T, class From>
void pack(const From* from, std::int64_t across, std::int64_t along, std::int64_t count,
          std::int64_t depth, int width, T* to) {
    for (std::int64_t first = 0; first < count; first += width) {
        const std::int64_t here = std::min<std::int64_t>(width, count - first);
        const From* start = from + first * across;
        if (across == 1) {
            for (std::int64_t p = 0; p < depth; ++p, to += width) {
                const From* row = start + p * along;
                if (here == width) {
                    for (int i = 0; i < width; ++i) to[i] = element<T>(row + i);
                } else {
                    for (std::int64_t i = 0; i < here; ++i) to[i] = element<T>(row + i);
                    std::fill_n(to + here, width - here, T{});
                }
            }
            continue;
        }
        if (here < width) std::fill_n(to, depth * width, T{});
        // One row after the other, so that what lies side by side is read so.
        for (std::int64_t i = 0; i < here; ++i) {
            const From* row = start + i * across;
            T* column = to + i;
            for (std::int64_t p = 0; p < depth; ++p)
                column[p * width] = element<T>(row + p * along);
        }
        to += depth * width;
    }
}

template void pack(const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int,
                   float*);
template void pack(const Half*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int,
                   float*);
template void pack(const BFloat16*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int,
                   float*);
template void pack(const double*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int,
                   double*);

namespace {

/// Rows of which the elements of a column lie side by side, in squares of four. Columns may be pages
/// apart, where processors fetch nothing ahead by themselves.
void pack_turned(const float* from, std::int64_t column_stride, std::int64_t count,
                 std::int64_t depth, float* to) {
    using Four = float __attribute__((vector_size(16)));
    constexpr std::int64_t kFetched = 16;  // columns ahead
    const auto load = [](const float* at) {
        Four out;
        std::memcpy(&out, at, sizeof out);
        return out;
    };
    std::int64_t p = 0;
    for (; p + 4 <= depth; p += 4) {
        const float* columns = from + p * column_stride;
        if (p + kFetched + 4 <= depth) {
            for (int column = 0; column < 4; ++column) {
                for (std::int64_t i = 0; i < count; i += 16)
                    __builtin_prefetch(columns + (kFetched + column) * column_stride + i);
            }
        }
        std::int64_t i = 0;
        for (; i + 4 <= count; i += 4) {
            const Four a = load(columns + i), b = load(columns + column_stride + i);
            const Four c = load(columns + 2 * column_stride + i);
            const Four d = load(columns + 3 * column_stride + i);
            const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            const Four rows[4] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5),
                                  __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                                  __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                  __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
            for (int row = 0; row < 4; ++row)
                std::memcpy(to + (i + row) * kPitch + p, &rows[row], sizeof(Four));
        }
        for (; i < count; ++i) {
            for (int column = 0; column < 4; ++column)
                to[i * kPitch + p + column] = columns[column * column_stride + i];
        }
    }
    for (; p < depth; ++p) {
        for (std::int64_t i = 0; i < count; ++i) to[i * kPitch + p] = from[p * column_stride + i];
    }
}

/// Packs rows as they are, kPitch apart.
template <class T, class From>
void pack_rows(const From* from, std::int64_t row_stride, std::int64_t column_stride,
               std::int64_t count, std::int64_t depth, T* to) {
    if (std::is_same_v<From, float> && std::is_same_v<T, float> && row_stride == 1) {
        pack_turned(reinterpret_cast<const float*>(from), column_stride, count, depth,
                    reinterpret_cast<float*>(to));
    } else if (column_stride != 1) {
        // Read along whichever way elements lie side by side, a few rows at a time.
        for (std::int64_t p = 0; p < depth; ++p) {
            const From* column = from + p * column_stride;
            for (std::int64_t i = 0; i < count; ++i)
                to[i * kPitch + p] = element<T>(column + i * row_stride);
        }
    } else {
        for (std::int64_t i = 0; i < count; ++i) {
            const From* row = from + i * row_stride;
            T* out = to + i * kPitch;
            for (std::int64_t p = 0; p < depth; ++p) out[p] = element<T>(row + p);
        }
    }
}

/// Elements that lie side by side, or a step apart.
template <class T, class From>
inline __attribute__((always_inline)) void copy_elements(const From* from, std::int64_t stride,
                                                         std::int64_t count, T* to) {
    if (stride == 1) {
        std::int64_t i = 0;
        for (; i + 8 <= count; i += 8) {
            for (int k = 0; k < 8; ++k) to[i + k] = element<T>(from + i + k);
        }
        for (; i < count; ++i) to[i] = element<T>(from + i);
    } else {
        for (std::int64_t i = 0; i < count; ++i) to[i] = element<T>(from + i * stride);
    }
}

/// Columns of a panel that are windows at places side by side along the last dimension.
struct PlaceRun {
    std::int64_t at = 0;  // the first, in the panel
    std::int64_t length = 0;
    std::int64_t corner[plan::Windows::kDims] = {};  // of the first window, in the image
};

/// Packs columns of windows as `pack` does: `count` places from `first`, rows from `depth` on.
template <class T, class From>
void pack_windows(const WindowView& windows, std::int64_t first, std::int64_t count,
                  std::int64_t depth, std::int64_t depths, int width, T* to) {
    const plan::Windows& w = windows.lie;
    const std::int64_t taps = w.window[0] * w.window[1] * w.window[2];
    const std::int64_t plane = w.places[1] * w.places[2];
    const std::int64_t stride = w.steps[2] * w.strides[2];
    std::vector<PlaceRun> runs;
    for (std::int64_t panel = 0; panel < count; panel += width) {
        const std::int64_t here = std::min<std::int64_t>(width, count - panel);
        runs.clear();
        for (std::int64_t j = 0; j < here; j += runs.back().length) {
            const std::int64_t number = first + panel + j;
            const std::int64_t place[] = {number / plane, number / w.places[2] % w.places[1],
                                          number % w.places[2]};
            PlaceRun run{j, std::min(here - j, w.places[2] - place[2])};
            for (int d = 0; d < 3; ++d) run.corner[d] = place[d] * w.steps[d] - w.before[d];
            runs.push_back(run);
        }
        // The element of the window that a row is about: a channel and a tap.
        const auto* channel =
            static_cast<const From*>(windows.data) + depth / taps * w.channel_stride;
        std::int64_t tap[] = {depth % taps / (w.window[1] * w.window[2]),
                              depth / w.window[2] % w.window[1], depth % w.window[2]};
        for (std::int64_t p = 0; p < depths; ++p, to += width) {
            for (const PlaceRun& run : runs) {
                T* out = to + run.at;
                const std::int64_t at[] = {run.corner[0] + tap[0] * w.dilation[0],
                                           run.corner[1] + tap[1] * w.dilation[1],
                                           run.corner[2] + tap[2] * w.dilation[2]};
                if (at[0] < 0 || at[0] >= w.sizes[0] || at[1] < 0 || at[1] >= w.sizes[1]) {
                    std::fill_n(out, run.length, T{});
                    continue;
                }
                const From* from =
                    channel + at[0] * w.strides[0] + at[1] * w.strides[1] + at[2] * w.strides[2];
                const std::int64_t last = at[2] + (run.length - 1) * w.steps[2];
                if (at[2] >= 0 && last < w.sizes[2]) {
                    copy_elements(from, stride, run.length, out);
                    continue;
                }
                // Some places have this element in the padding.
                for (std::int64_t i = 0; i < run.length; ++i) {
                    const std::int64_t x = at[2] + i * w.steps[2];
                    out[i] = x >= 0 && x < w.sizes[2] ? element<T>(from + i * stride) : T{};
                }
            }
            std::fill_n(to + here, width - here, T{});
            if (++tap[2] < w.window[2]) continue;
            tap[2] = 0;
            if (++tap[1] < w.window[1]) continue;
            tap[1] = 0;
            if (++tap[0] < w.window[0]) continue;
            tap[0] = 0;
            channel += w.channel_stride;
        }
    }
}

/// What was packed, as it lay before.
template <class T, class From>
struct Unpack {
    BufferPtr panels;
    std::int64_t k, n;
    std::int64_t depth;  // of a panel
    std::int64_t width;
    MatrixView b;

    void operator()(void* to) const {
        const auto* from = static_cast<const T*>(panels->address());
        for (std::int64_t top = 0; top < k; top += depth) {
            const std::int64_t depths = std::min(depth, k - top);
            for (std::int64_t first = 0; first < n; first += width) {
                for (std::int64_t p = 0; p < depths; ++p, from += width) {
                    auto* row = static_cast<From*>(to) + (top + p) * b.row_stride;
                    for (std::int64_t j = 0; j < std::min(width, n - first); ++j)
                        row[(first + j) * b.column_stride] = static_cast<From>(from[j]);
                }
            }
        }
    }
};

template <class T, class From>
class Multiplication {
   public:
    Multiplication(const Product& product, const Finished& finished)
        : p_(product), finished_(finished), tile_(row_tiles<T>()) {
        const double work = static_cast<double>(p_.m) * static_cast<double>(p_.n * p_.k);
        const std::int64_t large = kRowTiles * tile_.most;
        const std::int64_t small = kLastTiles * tile_.most;
        large_blocks_ = std::max<std::int64_t>(p_.m / large - runtime::thread_count(), 0);
        large_rows_ = large_blocks_ * large;
        small_blocks_ = (p_.m - large_rows_ + small - 1) / small;
        const std::int64_t pieces = (p_.k + kDepth - 1) / kDepth;
        depth_ = std::min(((p_.k + pieces - 1) / pieces + 15) / 16 * 16, kDepth);
        grain_ = work < kLittle ? large_blocks_ + small_blocks_ : 1;
        deep_ = std::min(p_.k, kDeep);
        const std::int64_t fit =
            kPackedBytes / (deep_ * static_cast<std::int64_t>(sizeof(T))) / tile_.columns;
        width_ = std::max<std::int64_t>(fit, 8) * tile_.columns;
    }

    void run() {
        const std::int64_t width = std::min(p_.n, width_);
        const std::int64_t panels = (width + tile_.columns - 1) / tile_.columns;
        const std::int64_t elements = panels * tile_.columns * deep_;
        // Packed once for all, where it is kept and one packing is all.
        const bool keeps = p_.b_owner != nullptr && p_.n <= width_ && p_.k <= deep_;
        if (!keeps && reads_b_as_it_lies()) return run_unpacked();
        PackedB<T> b(p_, static_cast<std::uint64_t>(tile_.columns) * sizeof(T), elements, keeps);
        packed_b_ = b.data();
        for (column_ = 0; column_ < p_.n; column_ += width_) {
            columns_ = std::min(width_, p_.n - column_);
            for (top_ = 0; top_ < p_.k; top_ += deep_) {
                bottom_ = std::min(top_ + deep_, p_.k);
                if (!b.is_there())
                    runtime::share_out((columns_ + tile_.columns - 1) / tile_.columns, 4, pack_b,
                                       this);
                if (b.kept() != nullptr) {
                    b.done();
                    release_b(p_,
                              Unpack<T, From>{b.kept(), p_.k, p_.n, depth_, tile_.columns, p_.b});
                }
                runtime::share_out(large_blocks_ + small_blocks_, grain_, multiply_rows, this);
            }
        }
    }

   private:
    static constexpr std::int64_t kLine = 64 / sizeof(T);

    /// Few rows do not pay for packing b, nor does a b that stays in the second cache, where its
    /// panels can be read as they lie.
    bool reads_b_as_it_lies() const {
        const bool is_small = p_.k * p_.n <= kUnpackedBytes / static_cast<std::int64_t>(sizeof(T));
        return std::is_same_v<T, From> && (p_.m <= kUnpackedRows || is_small) &&
               p_.windows == nullptr && p_.b.column_stride == 1 && p_.n <= width_;
    }
    void run_unpacked() {
        if (p_.b_owner != nullptr) p_.b_owner->bring_back();
        unpacked_ = true;
        columns_ = p_.n;
        // The last panel is packed where it is narrower than the others.
        if (const std::int64_t rest = p_.n % tile_.columns; rest != 0) {
            packed_b_ = thread_room<T, Room::right>(p_.k * tile_.columns);
            const auto* from = static_cast<const From*>(p_.b.data) + p_.n - rest;
            pack<T>(from, 1, p_.b.row_stride, rest, p_.k, tile_.columns, packed_b_);
        }
        bottom_ = p_.k;
        runtime::share_out(large_blocks_ + small_blocks_, grain_, multiply_rows, this);
    }

    PanelView<T> panel_at(std::int64_t column, std::int64_t depth, std::int64_t depths) const {
        const std::int64_t width = tile_.columns;
        if (unpacked_ && column + width > p_.n) {
            const T* at = packed_b_ + depth * width;
            return {at, width, kAhead * width, at, kLine};
        }
        if (unpacked_) {
            const T* at = static_cast<const T*>(p_.b.data) + depth * p_.b.row_stride + column;
            return {at, p_.b.row_stride, kUnpackedAhead * p_.b.row_stride, at + width,
                    p_.b.row_stride};
        }
        const T* at = panels_at(depth) + column * depths;
        return {at, width, kAhead * width, at + depths * width, kLine};
    }

    /// Where the panels begin that hold b from this depth on.
    T* panels_at(std::int64_t depth) const {
        const std::int64_t padded = (columns_ + tile_.columns - 1) / tile_.columns * tile_.columns;
        return packed_b_ + (depth - top_) * padded;
    }

    static void pack_b(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<Multiplication*>(data);
        const Product& p = self.p_;
        const int width = self.tile_.columns;
        const std::int64_t first = begin * width;
        const std::int64_t count = std::min(end * width, self.columns_) - first;
        for (std::int64_t depth = self.top_; depth < self.bottom_; depth += self.depth_) {
            const std::int64_t depths = std::min(self.depth_, self.bottom_ - depth);
            T* to = self.panels_at(depth) + first * depths;
            if (p.windows != nullptr) {
                pack_windows<T, From>(*p.windows, self.column_ + first, count, depth, depths, width,
                                      to);
                continue;
            }
            const auto* from = static_cast<const From*>(p.b.data) +
                               (self.column_ + first) * p.b.column_stride + depth * p.b.row_stride;
            pack<T>(from, p.b.column_stride, p.b.row_stride, count, depths, width, to);
        }
    }

    static void multiply_rows(void* data, std::int64_t begin, std::int64_t end) {
        auto& self = *static_cast<Multiplication*>(data);
        const auto start = [&](std::int64_t block) {
            if (block <= self.large_blocks_) return block * kRowTiles * self.tile_.most;
            const std::int64_t rest = self.p_.m - self.large_rows_;
            return self.large_rows_ + (block - self.large_blocks_) * rest / self.small_blocks_;
        };
        for (std::int64_t block = begin; block < end; ++block)
            self.multiply_block(start(block), start(block + 1));
    }

    /// Some rows of the result: they stay in the cache while the sum goes deeper.
    void multiply_block(std::int64_t first, std::int64_t behind) {
        T* packed_a = thread_room<T, Room::left>((behind - first) * kPitch);
        for (std::int64_t depth = top_; depth < bottom_; depth += depth_) {
            const std::int64_t depths = std::min(depth_, bottom_ - depth);
            const auto* from = static_cast<const From*>(p_.a.data) + first * p_.a.row_stride +
                               depth * p_.a.column_stride;
            pack_rows<T>(from, p_.a.row_stride, p_.a.column_stride, behind - first, depths,
                         packed_a);
            multiply_panels(first, behind, packed_a, depth, depths, depth > 0);
        }
        auto* result = static_cast<T*>(p_.result);
        if (finished_ && column_ + columns_ == p_.n && bottom_ == p_.k)
            finished_(first, behind, result + first * p_.n, p_.n);
    }

    void multiply_panels(std::int64_t first, std::int64_t behind, const T* packed_a,
                         std::int64_t depth, std::int64_t depths, bool adds) {
        auto* result = static_cast<T*>(p_.result);
        alignas(64) T edge[RowTiles<T>::kMost * 32];
        const std::int64_t tiles = (behind - first + tile_.most - 1) / tile_.most;
        const std::int64_t lines = std::max<std::int64_t>(tile_.columns / kLine, 1);
        for (std::int64_t column = 0; column < columns_; column += tile_.columns) {
            PanelView<T> b = panel_at(column, depth, depths);
            const T* next_panel = b.next;
            const std::int64_t width = std::min<std::int64_t>(tile_.columns, columns_ - column);
            std::int64_t row = first;
            for (std::int64_t tile = 0; tile < tiles; ++tile) {
                const std::int64_t next = first + (tile + 1) * (behind - first) / tiles;
                const auto height = static_cast<std::size_t>(next - row);
                const T* a = packed_a + (row - first) * kPitch;
                T* at = result + row * p_.n + column_ + column;
                row = next;
                // The next panel comes meanwhile, a line of it with every step of the sum.
                b.next = next_panel + tile % lines * (unpacked_ ? kLine : depths * kLine);
                if (width == tile_.columns) {
                    tile_.multiply[height](depths, a, b, at, p_.n, adds);
                    continue;
                }
                tile_.multiply[height](depths, a, b, edge, tile_.columns, false);
                for (std::size_t i = 0; i < height; ++i) {
                    const T* sums = edge + i * static_cast<std::size_t>(tile_.columns);
                    T* to = at + static_cast<std::int64_t>(i) * p_.n;
                    for (std::int64_t j = 0; j < width; ++j)
                        to[j] = adds ? to[j] + sums[j] : sums[j];
                }
            }
        }
    }

    const Product& p_;
    const Finished& finished_;
    const RowTiles<T>& tile_;
    std::int64_t depth_ = kDepth;        // of a panel
    std::int64_t large_blocks_ = 0;      // that rows are cut into, first
    std::int64_t large_rows_ = 0;        // in those
    std::int64_t small_blocks_ = 0;      // and then
    std::int64_t grain_ = 1;             // blocks that a thread takes at once
    std::int64_t width_ = 0;             // columns of b that are packed at once
    std::int64_t deep_ = 0;              // and rows
    std::int64_t top_ = 0, bottom_ = 0;  // the rows that are
    bool unpacked_ = false;
    T* packed_b_ = nullptr;
    std::int64_t column_ = 0, columns_ = 0;  // those that are
};

}  // namespace

bool multiplies(DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 ||
           dtype == DType::f64;
}

std::uint64_t packed_key(const Product& p, std::uint64_t form) {
    const auto start = reinterpret_cast<std::uintptr_t>(p.b_owner->address());
    const auto here = reinterpret_cast<std::uintptr_t>(p.b.data);
    std::uint64_t key = hash_mix(form, here - start);
    for (const std::int64_t part : {p.b.row_stride, p.b.column_stride, p.k, p.n})
        key = hash_mix(key, static_cast<std::uint64_t>(part));
    return hash_mix(key, static_cast<std::uint64_t>(p.b.dtype));
}

void release_b(const Product& p, std::function<void(void*)> unpack) {
    if (p.b_owner == nullptr || !p.b_owner->may_release()) return;
    const bool is_all =
        p.b.data == p.b_owner->address() &&
        static_cast<std::size_t>(p.k * p.n) * size_of(p.b.dtype) == p.b_owner->bytes();
    const bool by_rows = p.b.row_stride == p.n && p.b.column_stride == 1;
    const bool by_columns = p.b.row_stride == 1 && p.b.column_stride == p.k;
    if (is_all && (by_rows || by_columns)) p.b_owner->release(std::move(unpack));
}

void multiply(const Product& product, const Finished& finished) {
    if (product.m == 0 || product.n == 0) return;
    // What is read packed is read so always: the order of sums must not depend on who reads it too.
    const bool reads_packed = product.b_owner != nullptr && product.b_owner->may_release();
    const bool few_rows = has_few_rows(product) && !reads_packed;
    if (product.dtype == DType::bf16 && product.windows == nullptr && finished && product.k > 0 &&
        !few_rows && has_tiles())
        return multiply_by_tiles(product, finished);
    // Elements of f16 and bf16 are summed up in f32, beside the result.
    BufferPtr beside;
    Product p = product;
    if (p.result == nullptr) {
        beside = allocate_host(Device(), static_cast<std::size_t>(p.m * p.n) * sizeof(float));
        p.result = beside->host_mutable();
    }
    if (p.k == 0) {
        std::memset(p.result, 0,
                    static_cast<std::size_t>(p.m * p.n) * size_of(product_type(p.dtype)));
        if (finished) finished(0, p.m, p.result, p.n);
        return;
    }
    if (few_rows) return multiply_few_rows(p, finished);
    const auto run = [&]<class T, class From>(From) { Multiplication<T, From>(p, finished).run(); };
    switch (p.dtype) {
        case DType::f16: return run.template operator()<float>(Half());
        case DType::bf16: return run.template operator()<float>(BFloat16());
        case DType::f32: return run.template operator()<float>(float());
        case DType::f64: return run.template operator()<double>(double());
        case DType::i32: return multiply_bytes(p, finished);
        default: throw InternalError("a product of a type that is not multiplied here");
    }
}

}  // namespace lazuli::cpu
