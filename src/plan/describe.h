#pragma once

// Steps in words and figures, for explanations and traces.

#include "lazuli/prepared.h"
#include "plan/steps.h"

namespace lazuli::plan {

/// What can be said of steps; how they run is for their backend to add. With `code`, the kernels'
/// IR.
PreparedInfo describe(const Steps& steps, bool code);

/// Functions of elements and sums that a kernel computes; a fused product and sum is two.
double flops_of(const codegen::Kernel& kernel, std::span<const std::int64_t> sizes = {});

/// Whether steps keep what each pass did, for those who ask later. Off at first.
void keep_passes(bool keep);
bool keeps_passes();

}  // namespace lazuli::plan
