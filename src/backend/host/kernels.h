#pragma once

// Ops that have a fast kernel of their own in host memory: sorting, scanning, factorising. Their
// records say what they mean; these compute the same, on all threads, and tests compare the two.

#include <string_view>

#include "lazuli/op.h"

namespace lazuli::backend {

/// Computes an op's result out of dense operands, as its record's `evaluate` does.
using HostKernel = void (*)(const EvalArgs& args);

/// The kernel of an op; its record's `evaluate` where it has none.
HostKernel host_kernel(const OpDef& op);

}  // namespace lazuli::backend
