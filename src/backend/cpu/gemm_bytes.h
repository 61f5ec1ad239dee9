#pragma once

// Products of bytes, summed up in i32.

#include "backend/cpu/gemm.h"

namespace lazuli::cpu {

/// Multiplies matrices of i8 and u8 into one of i32, on all threads.
void multiply_bytes(const Product& product, const Finished& finished);

}  // namespace lazuli::cpu
