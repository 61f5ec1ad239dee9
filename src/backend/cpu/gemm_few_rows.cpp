#include "backend/cpu/gemm_few_rows.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/gemm_tile.h"
#include "backend/cpu/gemm_vectors.h"
#include "backend/cpu/pack_room.h"
#include "base/convert.h"
#include "lazuli/error.h"
#include "runtime/pool.h"

namespace lazuli::cpu {

namespace {

constexpr std::int64_t kFewRows = 8;
constexpr int kLanes = 16;
constexpr int kChains = 4;

/// Some elements that lie side by side, in the type that is computed in.
template <class T, class From>
inline __attribute__((always_inline)) typename VectorOf<T, kLanes>::type load_row(
    const From* from) {
    using Vector = typename VectorOf<T, kLanes>::type;
    Vector out;
    if constexpr (std::is_same_v<T, From>) {
        std::memcpy(&out, from, sizeof out);
    } else if constexpr (std::is_same_v<From, BFloat16>) {
        typename VectorOf<std::uint16_t, kLanes>::type narrow;
        std::memcpy(&narrow, from, sizeof narrow);
        using Wide = typename VectorOf<std::uint32_t, kLanes>::type;
        const Wide bits = __builtin_convertvector(narrow, Wide) << 16;
        std::memcpy(&out, &bits, sizeof out);
    } else {
        for (int i = 0; i < kLanes; ++i) out[i] = static_cast<T>(from[i]);
    }
    return out;
}

/// result[i][j] = sum over p of a[i][p] b[p][j], for `count` columns that lie side by side. A few
/// long pieces of b's rows are read in the order in which they lie, and added to all rows of the
/// result while they are in the cache.
template <class T, class From>
inline __attribute__((always_inline)) void add_rows(const T* a, std::int64_t m, std::int64_t k,
                                                    const From* b, std::int64_t stride,
                                                    std::int64_t count, T* result,
                                                    std::int64_t result_stride) {
    using Vector = typename VectorOf<T, kLanes>::type;
    constexpr int kDeep = 4;
    const std::int64_t whole = count / kLanes * kLanes;
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(result + i * result_stride, count, T{});
    for (std::int64_t p = 0; p < k; p += kDeep) {
        const auto deep = static_cast<int>(std::min<std::int64_t>(kDeep, k - p));
        const From* rows = b + p * stride;
        for (std::int64_t i = 0; i < m; ++i) {
            const T* factors = a + i * k + p;
            T* to = result + i * result_stride;
            if (deep == kDeep) {
                for (std::int64_t j = 0; j < whole; j += kLanes) {
                    Vector sum;
                    std::memcpy(&sum, to + j, sizeof sum);
#pragma GCC unroll 4
                    for (int d = 0; d < kDeep; ++d)
                        sum += (factors[d] - Vector{}) * load_row<T>(rows + d * stride + j);
                    std::memcpy(to + j, &sum, sizeof sum);
                }
            } else {
                for (std::int64_t j = 0; j < whole; j += kLanes) {
                    Vector sum;
                    std::memcpy(&sum, to + j, sizeof sum);
                    for (int d = 0; d < deep; ++d)
                        sum += (factors[d] - Vector{}) * load_row<T>(rows + d * stride + j);
                    std::memcpy(to + j, &sum, sizeof sum);
                }
            }
            for (std::int64_t j = whole; j < count; ++j) {
                for (int d = 0; d < deep; ++d)
                    to[j] += factors[d] * static_cast<T>(rows[d * stride + j]);
            }
        }
    }
}

/// The same for columns whose elements lie side by side.
template <class T, class From>
inline __attribute__((always_inline)) void add_columns(const T* a, std::int64_t m, std::int64_t k,
                                                       const From* b, std::int64_t stride,
                                                       std::int64_t count, T* result,
                                                       std::int64_t result_stride) {
    using Vector = typename VectorOf<T, kLanes>::type;
    for (std::int64_t j = 0; j < count; ++j) {
        const From* column = b + j * stride;
        for (std::int64_t i = 0; i < m; ++i) {
            const T* row = a + i * k;
            Vector sum[kChains] = {};
            std::int64_t p = 0;
            for (; p + kChains * kLanes <= k; p += kChains * kLanes) {
                for (int c = 0; c < kChains; ++c)
                    sum[c] +=
                        load_row<T>(row + p + c * kLanes) * load_row<T>(column + p + c * kLanes);
            }
            const Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            T total{};
            for (int lane = 0; lane < kLanes; ++lane) total += all[lane];
            for (; p < k; ++p) total += row[p] * static_cast<T>(column[p]);
            result[i * result_stride + j] = total;
        }
    }
}

template <class T, class From>
using FewRows = void (*)(const T* a, std::int64_t m, std::int64_t k, const From* b,
                         std::int64_t stride, std::int64_t count, T* result,
                         std::int64_t result_stride);

#define LAZULI_FEW_ROWS(name, features, body)                                           \
    template <class T, class From>                                                      \
    __attribute__((target(features))) void name(                                        \
        const T* a, std::int64_t m, std::int64_t k, const From* b, std::int64_t stride, \
        std::int64_t count, T* result, std::int64_t result_stride) {                    \
        body<T, From>(a, m, k, b, stride, count, result, result_stride);                \
    }
LAZULI_FEW_ROWS(add_rows_512, "avx512f,avx512vl,avx512bw,f16c", add_rows)
LAZULI_FEW_ROWS(add_rows_256, "avx2,fma,f16c", add_rows)
LAZULI_FEW_ROWS(add_rows_128, "sse2", add_rows)
LAZULI_FEW_ROWS(add_columns_512, "avx512f,avx512vl,avx512bw,f16c", add_columns)
LAZULI_FEW_ROWS(add_columns_256, "avx2,fma,f16c", add_columns)
LAZULI_FEW_ROWS(add_columns_128, "sse2", add_columns)
#undef LAZULI_FEW_ROWS

template <class T, class From>
FewRows<T, From> choose_few_rows(bool by_rows) {
    const int width = tile_width();
    if (width == 512) return by_rows ? add_rows_512<T, From> : add_columns_512<T, From>;
    if (width == 256) return by_rows ? add_rows_256<T, From> : add_columns_256<T, From>;
    return by_rows ? add_rows_128<T, From> : add_columns_128<T, From>;
}

/// The few rows of a, one behind the other, in the type that is computed in.
template <class T, class From>
T* lay_out_rows(const Product& p) {
    T* rows = thread_room<T, Room::left>(p.m * p.k);
    for (std::int64_t i = 0; i < p.m; ++i) {
        const auto* from = static_cast<const From*>(p.a.data) + i * p.a.row_stride;
        for (std::int64_t k = 0; k < p.k; ++k)
            rows[i * p.k + k] = element<T>(from + k * p.a.column_stride);
    }
    return rows;
}

template <class T, class From>
void multiply_rows(const Product& p, const T* rows, const Finished& finished) {
    struct Call {
        const Product& p;
        const T* rows;
        bool by_rows;
        FewRows<T, From> add;
    } call{p, rows, p.b.column_stride == 1, nullptr};
    call.add = choose_few_rows<T, From>(call.by_rows);
    // Columns to a piece: where rows are read, long enough to be read in one go, and few enough to
    // stay in the cache; else so many that a piece is worth handing out.
    const std::int64_t worth = (1 << 17) / std::max<std::int64_t>(p.m * p.k, 1) / 64 * 64;
    const std::int64_t grain = call.by_rows ? std::max<std::int64_t>(worth, 1024)
                                            : std::clamp<std::int64_t>(worth, 64, 4096);
    runtime::share_out(
        p.n, grain,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Call& c = *static_cast<Call*>(data);
            const auto* b = static_cast<const From*>(c.p.b.data) + begin * c.p.b.column_stride;
            c.add(c.rows, c.p.m, c.p.k, b, c.by_rows ? c.p.b.row_stride : c.p.b.column_stride,
                  end - begin, static_cast<T*>(c.p.result) + begin, c.p.n);
        },
        &call);
    if (finished) finished(0, p.m, p.result, p.n);
}

/// Bytes are summed up in i32, which wraps.
template <class From>
void multiply_rows_of_bytes(const Product& p, const Finished& finished) {
    using Sum = std::uint32_t;
    const Sum* rows = p.a.dtype == DType::u8 ? lay_out_rows<Sum, std::uint8_t>(p)
                                             : lay_out_rows<Sum, std::int8_t>(p);
    multiply_rows<Sum, From>(p, rows, finished);
}

}  // namespace

bool has_few_rows(const Product& p) {
    return p.m <= kFewRows && p.windows == nullptr &&
           (p.b.column_stride == 1 || p.b.row_stride == 1);
}

void multiply_few_rows(const Product& p, const Finished& finished) {
    const auto run = [&]<class T, class From>(From) {
        multiply_rows<T, From>(p, lay_out_rows<T, From>(p), finished);
    };
    switch (p.b.dtype) {
        case DType::f16: return run.template operator()<float>(Half());
        case DType::bf16: return run.template operator()<float>(BFloat16());
        case DType::f32: return run.template operator()<float>(float());
        case DType::f64: return run.template operator()<double>(double());
        case DType::i8: return multiply_rows_of_bytes<std::int8_t>(p, finished);
        case DType::u8: return multiply_rows_of_bytes<std::uint8_t>(p, finished);
        default: throw InternalError("a product of a type that is not multiplied here");
    }
}

}  // namespace lazuli::cpu
