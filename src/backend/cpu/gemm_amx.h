#pragma once

// Products of bf16 on the tile registers of processors that have them (AMX).

#include "backend/cpu/gemm.h"

namespace lazuli::cpu {

/// Whether this processor multiplies tiles of bf16, and the system lets this process.
bool has_tiles();

/// Multiplies matrices of bf16, of more than a few rows.
void multiply_by_tiles(const Product& product, const Finished& finished);

}  // namespace lazuli::cpu
