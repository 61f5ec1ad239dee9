#pragma once

// What ops that pick and put by position share: positions as they are given, boxes, and how an
// element and an update become one.

#include <cmath>
#include <vector>

#include "base/convert.h"
#include "lazuli/arguments.h"
#include "lazuli/op.h"

namespace lazuli::ops {

/// A position as given, counted from the front: negative ones count from the end. Below 0 where it
/// is outside of an axis of this size.
template <class T>
std::int64_t counted_position(T given, std::int64_t size) {
    const auto at = static_cast<std::int64_t>(given);
    if constexpr (std::is_signed_v<T>) {
        const std::int64_t counted = at < 0 ? at + size : at;
        return counted < size ? counted : -1;
    } else {
        return static_cast<std::uint64_t>(given) < static_cast<std::uint64_t>(size) ? at : -1;
    }
}

/// Throws the execution error of a position that is outside.
[[noreturn]] void throw_outside(const EvalArgs& args, const HostArray& positions, std::int64_t i,
                                std::int64_t axis);

/// All positions along an axis of this size of the first operand, counted from the front.
std::vector<std::int64_t> read_positions(const EvalArgs& args, const HostArray& positions,
                                         std::int64_t size, std::int64_t axis);

/// The bytes in which a fast scatter brings updates together by where they go: a place of 32 bits
/// and the bits of an element each.
inline std::int64_t scatter_room(const TensorSpec& updates) {
    const auto element = static_cast<std::int64_t>(size_of(updates.dtype));
    return updates.shape.numel() * (element <= 4 ? 8 : element + 8);
}

/// Where a box begins in a dense tensor of shape x: the positions are brought inside.
std::int64_t box_offset(const HostArray& starts, const Shape& x, const Shape& box);

/// What scatter makes of an element and an update, in the type in which it computes.
template <class T>
T scattered(Scatter mode, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        const auto x = static_cast<std::uint64_t>(a);
        const auto y = static_cast<std::uint64_t>(b);
        switch (mode) {
            case Scatter::set: return b;
            case Scatter::add: return static_cast<T>(x + y);
            case Scatter::mul: return static_cast<T>(x * y);
            case Scatter::min: return b < a ? b : a;
            case Scatter::max: return a < b ? b : a;
        }
    } else {
        switch (mode) {
            case Scatter::set: return b;
            case Scatter::add: return a + b;
            case Scatter::mul: return a * b;
            case Scatter::min:
            case Scatter::max:
                if constexpr (!is_complex_v<T>) {
                    const bool largest = mode == Scatter::max;
                    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
                    if (a == 0 && b == 0) return std::signbit(largest ? a : b) ? b : a;
                    return (largest ? a < b : b < a) ? b : a;
                }
                return a;
        }
    }
    __builtin_unreachable();
}

}  // namespace lazuli::ops
