#pragma once

// Reverse mode on programs: what a number in the end owes to each value, from the results back to
// the parameters. Each op's own part stands in its record.

#include <functional>
#include <span>
#include <vector>

#include "lazuli/program.h"

namespace lazuli::ops {

/// The value of anything in a program, in the builder where its gradient is built.
using Forward = std::function<Value(ValueRef)>;

/// Whether values of this type have gradients.
bool has_gradient(DType dtype);

/// Appends what flows back to each parameter that is `wanted`, given one cotangent a result (none
/// where nothing depends on it). No value where nothing flows back. Throws ArgumentError naming an
/// op on the way that has no gradient.
std::vector<Value> reverse(ProgramBuilder& builder, const Program& program, const Forward& forward,
                           std::span<const Value> cotangents, const std::vector<bool>& wanted);

/// Appends a program, with these values for its parameters, and what flows back through it.
std::vector<Value> through_program(ProgramBuilder& builder, const Program& program,
                                   std::span<const Value> params, std::span<const Value> cotangents,
                                   const std::vector<bool>& wanted);

/// The first way to build a composite that serves these arguments, as a program of its operands.
Program built(const InferArgs& args);

/// Appends a program's operations, with these values for its parameters; the value of each.
std::vector<Value> inlined(ProgramBuilder& builder, const Program& program,
                           std::span<const Value> params);

/// A value of a program that was inlined.
inline const Value& value_in(ValueRef ref, std::span<const Value> params,
                             std::span<const Value> values) {
    return ref.is_param() ? params[ref.index()] : values[ref.index()];
}

}  // namespace lazuli::ops
