#pragma once

// Programs for many at once: every op with one more axis in front.

#include <vector>

#include "lazuli/program.h"

namespace lazuli::ops {

/// What a program for many gives that is the same for all of them.
enum class SameForAll { repeated, once };

struct BatchedProgram {
    Program program;
    std::vector<bool> many;  // which results have one more axis
};

/// The program for `count` at once: parameters that are `many` have one more axis of that size in
/// front, and so have results, except what is the same for all where that is wanted once.
BatchedProgram batched(const Program& program, const std::vector<bool>& many, Dim count,
                       SameForAll same = SameForAll::repeated);

}  // namespace lazuli::ops
