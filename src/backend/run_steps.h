#pragma once

// What backends that run kernels on the host share: values come and go from step to step.

#include <functional>
#include <span>
#include <vector>

#include "lazuli/backend.h"
#include "plan/steps.h"

namespace lazuli::backend {

/// Runs a kernel of a plan: the step's number, and an address for each of its buffers.
using Launch = std::function<void(std::size_t step, std::span<void* const> buffers)>;

/// Runs all steps in order. Operations without a kernel are evaluated by their records.
std::vector<BufferPtr> run_steps(Backend& backend, const plan::Steps& steps,
                                 std::span<const Binding> params, const Launch& launch);

}  // namespace lazuli::backend
