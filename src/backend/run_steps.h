#pragma once

// What backends that run kernels on the host share: values come and go from step to step.

#include <functional>
#include <span>
#include <vector>

#include "lazuli/backend.h"
#include "plan/steps.h"

namespace lazuli::backend {

/// Runs a step of a plan: its number, and an address for each of its buffers. False where the
/// backend leaves an operation without a kernel to its record.
using Launch = std::function<bool(std::size_t step, std::span<void* const> buffers)>;

/// Runs all steps in order.
std::vector<BufferPtr> run_steps(Backend& backend, const plan::Steps& steps,
                                 std::span<const Binding> params, const Launch& launch);

}  // namespace lazuli::backend
