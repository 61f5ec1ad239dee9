#pragma once

// Calls of every op that gradients are checked on: the record's cases, with operands of f64 (or
// c128, or f32 where the op takes no other) drawn from its sample range.

#include <functional>
#include <string>
#include <vector>

#include "lazuli/lazuli.h"

namespace lazuli::gradients {

struct CheckedCall {
    std::string text;  // op, operands, attributes
    OpId op = 0;
    DType dtype = f64;                // of its floats
    std::vector<Tensor> operands;     // all
    std::vector<std::size_t> moving;  // those that are floats
    /// The float results for all operands.
    std::function<std::vector<Tensor>(const std::vector<Tensor>&)> results;

    std::vector<Tensor> moving_operands() const {
        std::vector<Tensor> out;
        for (const std::size_t i : moving) out.push_back(operands[i]);
        return out;
    }
    /// The same as a function of the operands that are floats.
    TensorFunction function() const;
};

/// All calls of an op that have floats among their operands and results.
std::vector<CheckedCall> checked_calls(OpId op, std::uint64_t seed);

/// A tensor like another, drawn from [-1, 1].
Tensor drawn_like(const Tensor& like, std::uint64_t seed);

/// The sum of the products of elements; of complex ones of their real and imaginary parts.
Tensor inner(const Tensor& a, const Tensor& b);
/// The same over several.
Tensor inner(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

}  // namespace lazuli::gradients
