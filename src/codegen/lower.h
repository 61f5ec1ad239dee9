#pragma once

// From a group of operations to the kernel that computes them.

#include "codegen/kernel.h"
#include "lazuli/program.h"

namespace lazuli::codegen {

/// Operations of one program that one kernel computes. Values that the group needs and does not
/// list are read from memory.
struct Group {
    std::vector<std::uint32_t> operations;  // ascending
    std::vector<ValueRef> outputs;          // of one shape, each to be stored
};

/// How often a kernel computes elements of an operation.
struct Work {
    std::uint32_t operation;
    double evaluations;
};

/// A kernel, and what its buffers are: first the values it reads, then those it stores.
struct Lowered {
    Kernel kernel;
    std::vector<ValueRef> buffers;
    std::vector<Work> work;  // one entry an operation of the group, in their order
    // Of the sizes: where they hold, it gives the bits of the kernel for those numbers. There are
    // none without variables.
    std::vector<Expr> conditions;
};

/// Whether a kernel can compute the operation; others are for their backend.
bool is_lowered(const Operation& operation);

struct LowerOptions {
    int lanes = 64;  // of reductions, a power of two; 1 adds up in order, as the reference does
};

/// The kernel of a group, with the program's variables, in their order. Loops run over the outputs'
/// positions; a reduction inside is computed once for each of its own positions where the loops can
/// be ordered so.
Lowered lower(const Program& program, const Group& group, std::string name,
              const LowerOptions& options = {});

}  // namespace lazuli::codegen
