#pragma once

/// @file
/// Indexing as numpy does it: `x(0, slice(1, {}, 2), ellipsis, newaxis)`, integer arrays, masks.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <variant>

#include "lazuli/tensor.h"

namespace lazuli {

/// A range of positions along a dimension. What is left out reaches to the end; negative positions
/// count from the end; positions beyond the ends are cut to them. A position that is an expression
/// is given as `Dim::raw`.
struct Slice {
    std::optional<std::int64_t> start = {};  ///< The first position.
    std::optional<std::int64_t> stop = {};   ///< The position before which it ends.
    std::optional<std::int64_t> step = {};   ///< How far to the next one; not 0.
};

/// The range from `start` to before `stop`, every `step`; `{}` leaves one out.
inline Slice slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                   std::optional<std::int64_t> step = {}) {
    return {start, stop, step};
}
/// All positions.
inline constexpr Slice whole{};

/// The type of `ellipsis`.
struct Ellipsis {};
/// As many whole dimensions as are left.
inline constexpr Ellipsis ellipsis{};
/// The type of `newaxis`.
struct NewAxis {};
/// A new dimension of size 1.
inline constexpr NewAxis newaxis{};

/// What stands for a dimension in an index.
class Index {
   public:
    /// One position; the dimension goes.
    Index(int position) : what_(std::int64_t{position}) {}
    /// One position; the dimension goes.
    Index(std::int64_t position) : what_(position) {}
    /// A range.
    Index(Slice range) : what_(range) {}
    /// The dimensions that are left.
    Index(Ellipsis) : what_(Ellipsis{}) {}
    /// A new dimension.
    Index(NewAxis) : what_(NewAxis{}) {}
    /// Positions, as integers of any shape; or a mask, as bool, for as many dimensions as it has.
    Index(Tensor positions) : what_(std::move(positions)) {}

    /// For the implementation.
    const std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor>& what() const {
        return what_;
    }

   private:
    std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor> what_;
};

/// The elements an index picks. Integers, ranges, `ellipsis` and `newaxis` give a view; integer
/// tensors gather; a mask is evaluated, since the result's shape depends on its values.
/// IndexError with the index and the shape where a position or a dimension is not there.
Tensor at(const Tensor& tensor, std::span<const Index> index);

template <class... Indices>
Tensor Tensor::operator()(Indices&&... indices) const {
    const std::array<Index, sizeof...(Indices)> list{Index(std::forward<Indices>(indices))...};
    return at(*this, list);
}

template <class I>
    requires std::constructible_from<Index, I>
Tensor Tensor::operator[](I&& index) const {
    const Index list[] = {Index(std::forward<I>(index))};
    return at(*this, list);
}

}  // namespace lazuli
