#pragma once

// What composites share beside the public ops of values.h: movements whose public forms take more
// work, positions, and the checks of their operands.
//
// Value::shape() refers into the builder, which moves its specs as operations are appended: keep a
// copy of a shape that is read after that.

#include <initializer_list>
#include <optional>
#include <span>

#include "lazuli/op.h"
#include "ops/values.h"

namespace lazuli::ops {

using Inputs = std::span<const Value>;

/// The traits of an elementwise function of floats.
inline constexpr Trait kFloatMath =
    Trait::elementwise | Trait::same_type | Trait::promotes | Trait::to_float;

/// f16 and bf16 are computed in f32: a sum of squares or of many exponentials would leave f16's
/// range.
inline Value widened(const Value& x) {
    return x.dtype() == f16 || x.dtype() == bf16 ? cast(x, f32) : x;
}
inline Value narrowed(const Value& x, DType dtype) {
    return x.dtype() == dtype ? x : cast(x, dtype);
}

/// An activation of a float.
Value activate(const Value& x, Activation f);

/// `count` elements along an axis, from `start`, every `step`-th.
Value part_of_axis(const Value& x, int axis, Dim start, Dim count, std::int64_t step = 1);
/// A number put before and behind each dimension; negative counts take elements away.
Value padded(const Value& x, const Ints& before, const Ints& after, const Scalar& value);
/// Values one behind the other along an axis.
Value joined(std::span<const Value> values, int axis);
/// The position along an axis of `shape`.
Value positions(ProgramBuilder& builder, const Shape& shape, std::int64_t axis, DType dtype);
/// The same elements with one size more, 1, at `axis`.
Value with_axis(const Value& x, int axis);
/// A size as a value of rank 0: a constant, or where it is an expression, which no constant can
/// hold, the last of so many positions.
Value number_of(ProgramBuilder& builder, Dim size, DType dtype);

/// Whether a composite whose formula needs elements has none; ShapeError naming it where that
/// depends on what its variables are.
bool is_empty(const InferArgs& args, Dim count);

/// The axis in attribute 0, which counts from the front; IndexError where there is none.
int axis_of(const InferArgs& args);
/// What scores are multiplied by, as `attention_scale` of numbers says.
Value attention_scale(const Value& scores, double given, Dim length);
/// How far behind the first query the first key stands, as i64: the last ones stand side by side.
Value distance_of(ProgramBuilder& builder, Dim keys, Dim queries);

/// DTypeError where operands `from` to `to` are not of one type.
void check_one_type(const InferArgs& args, std::size_t from, std::size_t to);
/// All operands' types and shapes, for messages.
std::string operands_text(const InferArgs& args);

/// An integer among the attributes that has a least value.
struct Bounded {
    std::string_view name;
    std::int64_t value;
    std::int64_t least;
};
/// ArgumentError where one is below its least value or above `most`. `dimension` is the one it
/// belongs to, if to one.
void check_bounds(const InferArgs& args, std::initializer_list<Bounded> values, std::int64_t most,
                  std::optional<int> dimension = {});

/// Whether a tensor of shape `from` can be repeated to the shape `to`.
bool broadcasts_to(const Shape& from, const Shape& to);
/// The dimensions before the last two.
Shape batch_of(const Shape& shape);
/// What the batches of the operands broadcast to; ShapeError that shows the operands whole.
Shape joined_batches(std::string_view op, std::span<const Shape* const> operands);

}  // namespace lazuli::ops
