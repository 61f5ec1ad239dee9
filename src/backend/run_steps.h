#pragma once

// What backends that run kernels on the host share: values come and go from step to step.

#include <functional>
#include <span>
#include <vector>

#include "lazuli/backend.h"
#include "plan/steps.h"

namespace lazuli::backend {

/// The buffers of a step: where each is, and who owns it; nobody where a copy was made for the run.
struct StepBuffers {
    std::span<void* const> addresses;
    std::span<Buffer* const> owners;
    char* room = nullptr;  // that was planned for it; null: none was
};

/// Runs a step of a plan, by its number. False where the backend leaves an operation without a
/// kernel to its record.
using Launch = std::function<bool(std::size_t step, const StepBuffers& buffers)>;

/// Whether a step takes buffers whose content was released, and brings back what it needs.
using ReadsReleased = std::function<bool(std::size_t step)>;

/// Runs all steps in order.
std::vector<BufferPtr> run_steps(Backend& backend, const plan::Steps& steps,
                                 std::span<const Binding> params, const Launch& launch,
                                 const ReadsReleased& reads_released = {});

}  // namespace lazuli::backend
