#pragma once

// A program computed operation by operation, by whoever wants to look at each.

#include <functional>
#include <span>
#include <vector>

#include "lazuli/backend.h"

namespace lazuli::runtime {

/// A program of one operation, whose operands are its parameters.
Program alone(const Program& program, const Operation& operation);

/// Computes operation `i` of given operands: a dense buffer.
using Step = std::function<BufferPtr(std::size_t i, const Operation& operation,
                                     std::span<const Binding> inputs)>;

/// Computes a program's operations in their order; a value is dropped when it was read for the last
/// time. What the results are bound to: parameters as they were given, all others dense.
std::vector<Binding> run_stepwise(const Program& program, std::span<const Binding> params,
                                  const Step& step);

}  // namespace lazuli::runtime
