#pragma once

// Products of bf16 and of bytes on the tile registers of processors that have them (AMX).

#include "backend/cpu/gemm.h"

namespace lazuli::cpu {

/// Whether this processor multiplies tiles of bf16, and the system lets this process.
bool has_tiles();
/// The same for bytes.
bool has_tiles_of_bytes();

/// Multiplies matrices of bf16, or of bytes; of more than a few rows, as it pays. Sums of bf16 are
/// handed to `finished`; those of bytes go to the result.
void multiply_by_tiles(const Product& product, const Finished& finished);

}  // namespace lazuli::cpu
