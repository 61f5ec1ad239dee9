// Positions of the largest and the smallest element. Values are looked at side by side, and the
// position is searched for where the value is known to be.

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "backend/host/families.h"
#include "base/convert.h"
#include "runtime/pool.h"

namespace lazuli::backend::host {

namespace {

constexpr std::int64_t kChunk = 4096;                   // elements that are searched at once
constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // elements that are worth a thread's while
constexpr std::int64_t kColumns = 256;                  // results that are found side by side

/// The operand as [outer, reduced, inner].
struct Sizes {
    std::int64_t outer = 1;
    std::int64_t reduced = 1;
    std::int64_t inner = 1;
};

/// None where the reduced axes do not lie side by side.
std::optional<Sizes> sizes_of(const EvalArgs& args) {
    const Shape& shape = args.inputs[0].spec->shape;
    const Ints axes = args.attrs.list(0);
    Sizes out;
    for (int d = 0; d < shape.rank(); ++d) {
        const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
        if (is_reduced && out.inner != 1) return std::nullopt;
        std::int64_t& size = is_reduced                          ? out.reduced
                             : d > (axes.empty() ? -1 : axes[0]) ? out.inner
                                                                 : out.outer;
        size *= shape[d];
    }
    return out;
}

template <class T>
bool is_nan(T v) {
    if constexpr (std::is_floating_point_v<T>) return v != v;
    return false;
}

template <bool Largest, class T>
bool is_better(T a, T b) {
    return Largest ? a > b : a < b;
}

/// Integers as wide as elements: beside them, compilers make vectors of both.
template <class T>
using Beside = std::conditional_t<
    sizeof(T) == 8, std::int64_t,
    std::conditional_t<sizeof(T) == 4, std::int32_t,
                       std::conditional_t<sizeof(T) == 2, std::int16_t, std::int8_t>>>;

/// The best of some elements, or NaN.
template <bool Largest, class T>
T best_of(const T* from, std::int64_t count) {
    constexpr std::size_t kLanes = 64 / sizeof(T);
    std::array<T, kLanes> best;
    std::array<Beside<T>, kLanes> nan{};
    best.fill(from[0]);
    std::int64_t i = 0;
    for (; i + static_cast<std::int64_t>(kLanes) <= count; i += kLanes) {
        for (std::size_t k = 0; k < kLanes; ++k) {
            const T v = from[i + static_cast<std::int64_t>(k)];
            best[k] = is_better<Largest>(v, best[k]) ? v : best[k];
            nan[k] = is_nan(v) ? Beside<T>{1} : nan[k];
        }
    }
    T out = best[0];
    bool any_nan = is_nan(from[0]);
    for (std::size_t k = 0; k < kLanes; ++k) {
        if (is_better<Largest>(best[k], out)) out = best[k];
        any_nan = any_nan || nan[k] != 0;
    }
    for (; i < count; ++i) {
        if (is_better<Largest>(from[i], out)) out = from[i];
        any_nan = any_nan || is_nan(from[i]);
    }
    return any_nan ? std::numeric_limits<T>::quiet_NaN() : out;
}

/// A value and where it was first seen.
template <class T>
struct Found {
    T value;
    std::int64_t position;
};

/// The best of a row from `begin` to `end`.
template <bool Largest, class T>
Found<T> search(const T* row, std::int64_t begin, std::int64_t end) {
    Found<T> out{row[begin], begin};
    for (std::int64_t at = begin; at < end && !is_nan(out.value); at += kChunk) {
        const std::int64_t count = std::min(kChunk, end - at);
        const T best = best_of<Largest>(row + at, count);
        if (!is_nan(best) && !is_better<Largest>(best, out.value)) continue;
        const T* first = std::find_if(row + at, row + at + count,
                                      [&](T v) { return is_nan(best) ? is_nan(v) : v == best; });
        out = {*first, first - row};
    }
    return out;
}

/// What threads share.
template <class T>
struct Work {
    const T* in;
    std::int64_t* out;
    Sizes sizes;
    std::vector<Found<T>> pieces = {};
};

template <bool Largest, class T>
void find_in_rows(Work<T>& work) {
    runtime::share_out(
        work.sizes.outer, std::max<std::int64_t>(1, kPiece / work.sizes.reduced),
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Work<T>& w = *static_cast<Work<T>*>(data);
            for (std::int64_t i = begin; i < end; ++i)
                w.out[i] = search<Largest>(w.in + i * w.sizes.reduced, 0, w.sizes.reduced).position;
        },
        &work);
}

/// One long row: pieces of it, and then the best of those, the first of several.
template <bool Largest, class T>
void find_in_pieces(Work<T>& work) {
    const std::int64_t count = (work.sizes.reduced + kPiece - 1) / kPiece;
    work.pieces.resize(static_cast<std::size_t>(count));
    runtime::share_out(
        count, 1,
        [](void* data, std::int64_t begin, std::int64_t end) {
            Work<T>& w = *static_cast<Work<T>*>(data);
            for (std::int64_t i = begin; i < end; ++i)
                w.pieces[static_cast<std::size_t>(i)] =
                    search<Largest>(w.in, i * kPiece, std::min((i + 1) * kPiece, w.sizes.reduced));
        },
        &work);
    Found<T> best = work.pieces[0];
    for (const Found<T>& piece : work.pieces) {
        if (is_nan(best.value)) break;
        if (is_nan(piece.value) || is_better<Largest>(piece.value, best.value)) best = piece;
    }
    work.out[0] = best.position;
}

/// Results that lie side by side, step by step along the reduced axes. `Position` holds their
/// number.
template <bool Largest, class Position, class T>
void find_in_columns(Work<T>& work) {
    const std::int64_t blocks = (work.sizes.inner + kColumns - 1) / kColumns;
    runtime::share_out(
        work.sizes.outer * blocks,
        std::max<std::int64_t>(1, kPiece / (kColumns * work.sizes.reduced)),
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Work<T>& w = *static_cast<Work<T>*>(data);
            const std::int64_t each = (w.sizes.inner + kColumns - 1) / kColumns;
            std::array<T, kColumns> best;
            std::array<Position, kColumns> position;
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t column = i % each * kColumns;
                const std::int64_t count = std::min(kColumns, w.sizes.inner - column);
                const T* from = w.in + i / each * w.sizes.reduced * w.sizes.inner + column;
                std::int64_t* out = w.out + i / each * w.sizes.inner + column;
                std::copy_n(from, count, best.begin());
                position.fill(0);
                for (std::int64_t r = 1; r < w.sizes.reduced; ++r) {
                    const T* row = from + r * w.sizes.inner;
                    for (std::int64_t c = 0; c < count; ++c) {
                        const auto k = static_cast<std::size_t>(c);
                        const T v = row[c];
                        const bool takes =
                            is_better<Largest>(v, best[k]) | (is_nan(v) & !is_nan(best[k]));
                        best[k] = takes ? v : best[k];
                        position[k] = takes ? static_cast<Position>(r) : position[k];
                    }
                }
                std::copy_n(position.begin(), count, out);
            }
        },
        &work);
}

template <bool Largest>
void find_position(const EvalArgs& args) {
    const std::optional<Sizes> sizes = sizes_of(args);
    const bool is_empty = args.inputs[0].spec->shape.numel() == 0;
    if (!sizes || is_empty) return args.op.evaluate(args);
    dispatch(args.inputs[0].spec->dtype, [&]<class T>() {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            Work<T> work{args.inputs[0].as<T>(), args.result<std::int64_t>(), *sizes};
            if (sizes->inner > 1) {
                if (sizes->reduced <= std::numeric_limits<std::int32_t>::max())
                    find_in_columns<Largest, std::int32_t>(work);
                else
                    find_in_columns<Largest, std::int64_t>(work);
            } else if (sizes->outer == 1) {
                find_in_pieces<Largest>(work);
            } else {
                find_in_rows<Largest>(work);
            }
        } else {
            args.op.evaluate(args);
        }
    });
}

}  // namespace

Family positions() { return {{"argmax", find_position<true>}, {"argmin", find_position<false>}}; }

}  // namespace lazuli::backend::host
