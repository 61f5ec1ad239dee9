#pragma once

// Programs for many at once: every op with one more axis in front.

#include <vector>

#include "lazuli/program.h"

namespace lazuli::ops {

/// The program for `count` at once: parameters that are `many` have one more axis of that size in
/// front, and so have all results.
Program batched(const Program& program, const std::vector<bool>& many, Dim count);

}  // namespace lazuli::ops
