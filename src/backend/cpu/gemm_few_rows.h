#pragma once

// A product of few rows reads each element of b once and does little with it: packing would read
// and write it once more. Sums run over k in order where b's rows are adjacent, and in kLanes lanes
// where its columns are.

#include "backend/cpu/gemm.h"

namespace lazuli::cpu {

/// Whether it is a product of few rows by a matrix that is read in the order in which it lies.
bool has_few_rows(const Product& product);

/// Multiplies such a one, on all threads.
void multiply_few_rows(const Product& product, const Finished& finished);

}  // namespace lazuli::cpu
