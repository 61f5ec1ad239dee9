#pragma once

/// @file
/// Loops and conditions as operations: their bodies are recorded once, from functions that take
/// tensors and return tensors, planned once, and run step by step. What a body uses of tensors from
/// outside becomes an operand. Nothing in a body can be evaluated while it is recorded.

#include <cstdint>
#include <functional>
#include <vector>

#include "lazuli/tensor.h"

namespace lazuli {

/// What a loop gives back: what it carried, as the last step left it, and what its steps stacked
/// along a new first axis.
struct Looped {
    std::vector<Tensor> carried;       ///< From step to step.
    std::vector<Tensor> stacked = {};  ///< One entry a step.
};

/// Runs `body` a number of times that is known when it is recorded. The body is handed the step's
/// number, an i64, and what is carried; what it returns is carried on, in the same types and
/// shapes, and stacked.
///
///     // 1, 2, 4, 8 stacked, 16 carried
///     loop(4, {ones({})}, [](const Tensor&, const auto& x) { return Looped{{x[0] * 2.0}, {x[0]}};
///     })
Looped loop(
    std::int64_t trips, const std::vector<Tensor>& carried,
    const std::function<Looped(const Tensor& step, const std::vector<Tensor>& carried)>& body);

/// Runs `body` as often as a tensor says, an integer of rank 0: one plan serves every number.
/// Nothing is stacked.
std::vector<Tensor> loop(const Tensor& trips, const std::vector<Tensor>& carried,
                         const std::function<std::vector<Tensor>(
                             const Tensor& step, const std::vector<Tensor>& carried)>& body);

/// Runs `body` on every entry along the first axis of `scanned`, from the first on, or from the
/// last where `reverse`; stacks are in the order of the entries either way.
Looped scan_loop(const std::vector<Tensor>& carried, const std::vector<Tensor>& scanned,
                 const std::function<Looped(const std::vector<Tensor>& carried,
                                            const std::vector<Tensor>& entry)>& body,
                 bool reverse = false);

/// What `then` returns where the condition (a bool of rank 0) holds, else what `otherwise` does;
/// only one of them runs. Both return the same types and shapes.
std::vector<Tensor> cond(const Tensor& condition, const std::function<std::vector<Tensor>()>& then,
                         const std::function<std::vector<Tensor>()>& otherwise);

/// Runs `body` as long as `test` of what is carried, a bool of rank 0, holds.
std::vector<Tensor> while_loop(
    const std::vector<Tensor>& carried,
    const std::function<Tensor(const std::vector<Tensor>& carried)>& test,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>& carried)>& body);

}  // namespace lazuli
