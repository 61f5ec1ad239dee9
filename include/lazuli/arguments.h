#pragma once

/// @file
/// Arguments of operations that are not tensors: axes, of which negative ones count from the end,
/// and activations.

#include <initializer_list>
#include <span>
#include <string_view>

#include "lazuli/shape.h"

namespace lazuli {

/// One axis; -1 is the last.
struct Axis {
    std::int64_t value = 0;  ///< From 0, or negative from the end.
    /// The axis `v`.
    constexpr Axis(int v) : value(v) {}
    /// The axis `v`.
    constexpr Axis(std::int64_t v) : value(v) {}
};

/// Several axes; none given means what the op says, mostly all of them.
struct Axes {
    Ints values;         ///< From 0, or negative from the end.
    bool given = false;  ///< Whether the caller said anything.
    /// None given.
    Axes() = default;
    /// One axis.
    Axes(int axis) : values{axis}, given(true) {}
    /// One axis.
    Axes(std::int64_t axis) : values{axis}, given(true) {}
    /// These axes.
    Axes(std::initializer_list<std::int64_t> axes) : values(axes), given(true) {}
    /// These axes.
    Axes(Ints axes) : values(std::move(axes)), given(true) {}
};

/// The function applied to a product's elements.
enum class Activation : std::uint8_t {
    none,     ///< The product itself.
    relu,     ///< See relu.
    sigmoid,  ///< See sigmoid.
    tanh,     ///< See tanh.
    gelu,     ///< See gelu.
};
/// The names of the activations, in their order.
inline constexpr std::string_view kActivationNames[] = {"none", "relu", "sigmoid", "tanh", "gelu"};

/// Where a value stands in a sorted sequence that has equal elements.
enum class Side : std::uint8_t {
    left,   ///< Before them.
    right,  ///< Behind them.
};
/// The names of the sides, in their order.
inline constexpr std::string_view kSideNames[] = {"left", "right"};

/// What scatter makes of an element and an update.
enum class Scatter : std::uint8_t {
    set,  ///< The update.
    add,  ///< Their sum.
    mul,  ///< Their product.
    min,  ///< The smaller one.
    max,  ///< The larger one.
};
/// The names of the ways to scatter, in their order.
inline constexpr std::string_view kScatterNames[] = {"set", "add", "mul", "min", "max"};

/// The axis counted from the front; IndexError naming `op` where a tensor of this shape has no such
/// axis.
std::int64_t ensure_axis(std::string_view op, Axis axis, const Shape& shape);
/// The axes counted from the front, each at most once; all of them where none were given.
Ints ensure_axes(std::string_view op, const Axes& axes, const Shape& shape);

}  // namespace lazuli
