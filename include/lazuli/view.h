#pragma once

/// @file
/// Views: how the elements of a tensor are found in a buffer, without moving any. The meaning of a
/// view is its index function: from a position to an index in the buffer, or to nothing where
/// padding was put.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazuli/detail/small_vector.h"
#include "lazuli/symbolic.h"

namespace lazuli {

/// Sizes, strides or starts, one a dimension.
using Dims = detail::SmallVector<Dim, 6>;

/// The positions from `begin` to below `end` of a dimension.
struct DimRange {
    Dim begin;  ///< The first.
    Dim end;    ///< Behind the last.
    /// Whether both ranges are the same.
    bool operator==(const DimRange&) const = default;
};

/// A range a dimension.
using DimRanges = detail::SmallVector<DimRange, 6>;

/// Position i means the index offset + i[0]*strides[0] + i[1]*strides[1] + ..., and is valid where
/// it lies in the mask's box. Kept in one form for equal meanings where that can be told: strides
/// of dimensions with one position are 0, a mask that hides nothing is empty.
struct View {
    Dims shape;      ///< The sizes.
    Dims strides;    ///< What one step along each dimension adds to the index.
    Dim offset = 0;  ///< The index of position 0, 0, ...; may lie outside where that is masked.
    DimRanges mask;  ///< The valid positions; empty where all are.

    /// Row-major: the last dimension is adjacent.
    static View contiguous(std::span<const Dim> shape);
    /// Whether the index of each position is its row-major number.
    bool is_contiguous() const;
    /// The number of positions.
    Dim numel() const;
    /// Whether both have the same parts.
    bool operator==(const View&) const = default;
};

/// One view that has the meaning of `outer` on top of `inner` (an index of the outer is a row-major
/// position of the inner), where one is found.
std::optional<View> merge(const View& inner, const View& outer);

/// A buffer index, and whether it is to be read at all: 1, or 0 where padding was put.
struct IndexExpr {
    Expr index;  ///< The index. Means nothing where `valid` is 0.
    Expr valid;  ///< The condition.
};

/// A chain of movements over a row-major buffer, kept as few views: one, unless a movement needs
/// div and mod of what came before. Cheap to copy; each movement is there to be made in place, and
/// as a copy. Movements throw ShapeError, IndexError or ArgumentError with both shapes for what
/// cannot be, and then leave the tracker as it was.
class ShapeTracker {
   public:
    /// The buffer itself, row-major.
    explicit ShapeTracker(std::span<const Dim> shape) : top_(View::contiguous(shape)) {}
    /// The buffer itself, row-major.
    ShapeTracker(std::initializer_list<Dim> shape)
        : ShapeTracker(std::span(shape.begin(), shape.size())) {}
    /// One view.
    explicit ShapeTracker(View view) : top_(std::move(view)) {}
    /// Views from the one next to the buffer to the one next to the reader.
    static ShapeTracker of_views(std::vector<View> views);

    /// The sizes that a reader sees.
    const Dims& shape() const { return top_.shape; }
    /// The number of dimensions.
    std::size_t rank() const { return top_.shape.size(); }
    /// The view next to the reader.
    const View& top() const { return top_; }
    /// The views below, from the one next to the buffer.
    std::span<const View> below() const { return below_; }
    /// How many views there are.
    std::size_t size() const { return below_.size() + 1; }

    /// The same elements, row-major, in other sizes.
    void reshape_to(std::span<const Dim> shape);
    /// Dimension i is dimension axes[i] of before.
    void permute_by(std::span<const int> axes);
    /// Dimensions of size 1 are repeated.
    void expand_to(std::span<const Dim> shape);
    /// Invalid positions before and behind each dimension; negative numbers take positions away.
    void pad_by(std::span<const DimRange> before_and_after);
    /// The positions from begin to below end of each dimension.
    void shrink_to(std::span<const DimRange> ranges);
    /// These dimensions backwards.
    void flip_along(std::span<const int> axes);
    /// Every n-th position of each dimension, from the first; backwards from the last where n is
    /// negative.
    void stride_by(std::span<const std::int64_t> steps);
    /// Any view of the row-major positions that a reader sees: windows, diagonals.
    void put_on_top(View view);

    /// A copy, reshaped.
    ShapeTracker reshape(std::span<const Dim> shape) const& {
        return changed([&](ShapeTracker& t) { t.reshape_to(shape); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker reshape(std::span<const Dim> shape) && {
        reshape_to(shape);
        return std::move(*this);
    }
    /// A copy, permuted.
    ShapeTracker permute(std::span<const int> axes) const& {
        return changed([&](ShapeTracker& t) { t.permute_by(axes); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker permute(std::span<const int> axes) && {
        permute_by(axes);
        return std::move(*this);
    }
    /// A copy, expanded.
    ShapeTracker expand(std::span<const Dim> shape) const& {
        return changed([&](ShapeTracker& t) { t.expand_to(shape); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker expand(std::span<const Dim> shape) && {
        expand_to(shape);
        return std::move(*this);
    }
    /// A copy, padded.
    ShapeTracker pad(std::span<const DimRange> before_and_after) const& {
        return changed([&](ShapeTracker& t) { t.pad_by(before_and_after); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker pad(std::span<const DimRange> before_and_after) && {
        pad_by(before_and_after);
        return std::move(*this);
    }
    /// A copy, shrunk.
    ShapeTracker shrink(std::span<const DimRange> ranges) const& {
        return changed([&](ShapeTracker& t) { t.shrink_to(ranges); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker shrink(std::span<const DimRange> ranges) && {
        shrink_to(ranges);
        return std::move(*this);
    }
    /// A copy, flipped.
    ShapeTracker flip(std::span<const int> axes) const& {
        return changed([&](ShapeTracker& t) { t.flip_along(axes); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker flip(std::span<const int> axes) && {
        flip_along(axes);
        return std::move(*this);
    }
    /// A copy of every n-th position.
    ShapeTracker stride(std::span<const std::int64_t> steps) const& {
        return changed([&](ShapeTracker& t) { t.stride_by(steps); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker stride(std::span<const std::int64_t> steps) && {
        stride_by(steps);
        return std::move(*this);
    }
    /// A copy with a view on top.
    ShapeTracker strided(View view) const& {
        return changed([&](ShapeTracker& t) { t.put_on_top(std::move(view)); });
    }
    /// The same of a tracker that is not needed any more.
    ShapeTracker strided(View view) && {
        put_on_top(std::move(view));
        return std::move(*this);
    }
    /// What `next` is of its buffer, of this. Both must have the same number of elements between
    /// them.
    ShapeTracker compose(const ShapeTracker& next) const;
    /// The same meaning in as few views as are found. Movements do the same as they go; views put
    /// together by hand need it.
    ShapeTracker simplify() const;

    /// Whether the index of each position is its row-major number, and all are valid.
    bool is_contiguous() const { return below_.empty() && top_.is_contiguous(); }
    /// Whether no size, stride or offset has a variable.
    bool is_concrete() const;
    /// One view with the same meaning, where there is one.
    std::optional<View> to_view() const;
    /// What one step along each dimension adds to the index, where that is the same everywhere.
    std::vector<std::optional<Dim>> real_strides() const;
    /// The variables in sizes, strides and offsets, by name.
    std::vector<std::string> vars() const;
    /// The same with numbers for variables. Throws ArgumentError naming a variable without one.
    ShapeTracker bind_vars(std::span<const std::pair<std::string, std::int64_t>> bindings) const;
    /// How many elements the buffer must have for all valid positions.
    Dim size_needed() const;

    /// The index function over given positions, simplified.
    IndexExpr index_expr(ExprContext& context, std::span<const Expr> position) const;
    /// The index function over variables i0, i1, ... that count the dimensions.
    IndexExpr index_expr(ExprContext& context) const;
    /// The index of a position; none where it is not valid. All sizes must be numbers.
    std::optional<std::int64_t> at(std::span<const std::int64_t> position) const;

    /// Throws ShapeError or ArgumentError naming `op` where a valid position lies outside a
    /// row-major array of these sizes: for views put together by hand.
    void ensure_fits(const char* op, std::span<const Dim> base) const;

    /// Whether both have the same views.
    bool operator==(const ShapeTracker&) const = default;

   private:
    View top_;
    std::vector<View> below_;

    template <class Change>
    ShapeTracker changed(const Change& change) const {
        ShapeTracker out = *this;
        change(out);
        return out;
    }
    void settle_after(bool fewer_positions);
    void settle();
};

/// The tracker as the movements that make it of a row-major array of `base` sizes:
/// `reshape[4,6] > permute(1,0) > pad[(1,1),(0,0)]`. `parse_movements` is its inverse. What no
/// chain of movements says is written with its strides: `strided[2,3](1,1)+4`. A bar stands between
/// views that are not one: `permute(1,0) | reshape[24]`.
std::string describe(const ShapeTracker& tracker, std::span<const Dim> base);

/// Applies movements, as text, to a row-major array of `base` sizes. Sizes may be expressions over
/// the variables of `base` and these further ones. Throws ParseError with the column, or the
/// movement's own error.
ShapeTracker parse_movements(std::string_view text, std::span<const Dim> base,
                             std::span<const Dim> variables = {});

}  // namespace lazuli
