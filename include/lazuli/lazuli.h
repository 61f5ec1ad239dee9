#pragma once

/// @file
/// All of Lazuli.

#include "lazuli/arguments.h"  // IWYU pragma: export
#include "lazuli/backend.h"    // IWYU pragma: export
#include "lazuli/compile.h"    // IWYU pragma: export
#include "lazuli/conformance.h"
#include "lazuli/control.h"      // IWYU pragma: export
#include "lazuli/custom.h"       // IWYU pragma: export
#include "lazuli/data.h"         // IWYU pragma: export
#include "lazuli/device.h"       // IWYU pragma: export
#include "lazuli/dtype.h"        // IWYU pragma: export
#include "lazuli/eager.h"        // IWYU pragma: export
#include "lazuli/ensure.h"       // IWYU pragma: export
#include "lazuli/error.h"        // IWYU pragma: export
#include "lazuli/explanation.h"  // IWYU pragma: export
#include "lazuli/factories.h"    // IWYU pragma: export
#include "lazuli/fft.h"          // IWYU pragma: export
#include "lazuli/function.h"     // IWYU pragma: export
#include "lazuli/functional.h"   // IWYU pragma: export
#include "lazuli/grad.h"         // IWYU pragma: export
#include "lazuli/graph.h"        // IWYU pragma: export
#include "lazuli/index.h"
#include "lazuli/inspect.h"   // IWYU pragma: export
#include "lazuli/io.h"        // IWYU pragma: export
#include "lazuli/linalg.h"    // IWYU pragma: export
#include "lazuli/memory.h"    // IWYU pragma: export
#include "lazuli/nn.h"        // IWYU pragma: export
#include "lazuli/op.h"        // IWYU pragma: export
#include "lazuli/ops.h"       // IWYU pragma: export
#include "lazuli/optim.h"     // IWYU pragma: export
#include "lazuli/passes.h"    // IWYU pragma: export
#include "lazuli/prepared.h"  // IWYU pragma: export
#include "lazuli/program.h"   // IWYU pragma: export
#include "lazuli/rwkv7.h"     // IWYU pragma: export
#include "lazuli/safetensors.h"
#include "lazuli/scalar.h"    // IWYU pragma: export
#include "lazuli/shape.h"     // IWYU pragma: export
#include "lazuli/stream.h"    // IWYU pragma: export
#include "lazuli/symbolic.h"  // IWYU pragma: export
#include "lazuli/tensor.h"    // IWYU pragma: export
#include "lazuli/terms.h"     // IWYU pragma: export
#include "lazuli/trace.h"     // IWYU pragma: export
#include "lazuli/train.h"     // IWYU pragma: export
#include "lazuli/view.h"      // IWYU pragma: export
#include "lazuli/vmap.h"      // IWYU pragma: export
