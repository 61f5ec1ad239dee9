#pragma once

#include "lazuli/op.h"

namespace lazuli::backend::host {

/// The kernel of argtopk.
void argtopk(const EvalArgs& args);

}  // namespace lazuli::backend::host
