#pragma once

// What gradients of records share. They are written like composites, with the ops of values.h.

#include <initializer_list>
#include <vector>

#include "ops/build.h"

namespace lazuli::ops {

using Gradients = std::vector<Value>;

/// A complex value's conjugate; a real one as it is.
inline Value conjugate(const Value& x) { return is_complex(x.dtype()) ? conj(x) : x; }

/// What flows back through a function whose derivative this is.
inline Value through(const GradientArgs& g, const Value& derivative) {
    return g.cotangent() * conjugate(derivative);
}

/// Of two operands the one that decides has all of it, and both half where none does.
Gradients shared_by(const GradientArgs& g, const Value& first, const Value& second);

/// Zeros like a value.
inline Value zeros_like(const Value& x) {
    return x.builder().constant(Scalar(0).as(x.dtype()), x.spec());
}

/// A value, or zeros where there is none.
inline Value or_zeros(ProgramBuilder& builder, const Value& value, const TensorSpec& spec) {
    return value.defined() ? value : builder.constant(0, spec);
}

/// Summed, or repeated, to a shape.
Value fitted(const Value& x, const Shape& shape);

/// What flows back through a view of `base`: each element to where it came from, added up where
/// several came from one.
Value transposed(const Value& cotangent, const ShapeTracker& view, const Shape& base);

/// Updates put into x along an axis.
Value scattered(const Value& x, const Value& updates, const Value& positions, int axis,
                Scatter mode);

/// Result `i` of an op that has several, out of its bundle.
Value part_of(const Value& bundle, std::span<const TensorSpec> results, std::size_t i);
/// The same of the op that flows back.
Value part_of(const GradientArgs& g, std::size_t i);

/// Appends an op that has several results; these.
std::vector<Value> parts_of(ProgramBuilder& builder, std::string_view op,
                            std::span<const Value> inputs, const AttrWords& words = {});

/// A reduction's result, or cotangent, with the axes that were taken away as sizes of 1.
Value with_reduced_axes(const Value& x, const GradientArgs& g);

}  // namespace lazuli::ops
