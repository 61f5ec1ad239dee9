#pragma once

// Elements of f32 as narrower ones, many at a time.

#include <cstdint>

#include "lazuli/dtype.h"

namespace lazuli::cpu {

/// Rounds `count` elements to f16 or bf16, ties to even, as a cast does.
void narrow(DType dtype, const float* from, std::int64_t count, void* to);

}  // namespace lazuli::cpu
