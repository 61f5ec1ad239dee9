#pragma once

// A group that holds a contraction, taken apart: what makes its operands, the product of matrices,
// and what is done with each element of it.

#include <optional>
#include <vector>

#include "codegen/lower.h"
#include "lazuli/program.h"
#include "plan/windows.h"

namespace lazuli::plan {

/// An axis of the product, with the step that each operand takes along it, in elements.
struct ProductAxis {
    std::int64_t size = 1;
    std::int64_t left = 0;
    std::int64_t right = 0;
};

/// An operand of the product: a value in memory, seen from an offset through the axes' steps, or
/// what a group computes into memory first. A product of i32 may read bytes (i8, u8) as they are.
struct ProductOperand {
    ValueRef value;
    DType dtype = DType::f32;  // of what is in memory
    std::int64_t offset = 0;
    codegen::Group prologue;  // without operations: the value is there
};

struct Contraction {
    ValueRef product;  // the operation
    ProductOperand left;
    ProductOperand right;
    std::vector<ProductAxis> batch;
    ProductAxis rows;     // of the left operand
    ProductAxis columns;  // of the right one
    ProductAxis depth;    // summed over
    // In place of the right operand's columns and depth, where these are windows over images.
    std::optional<Windows> windows;
    codegen::Group epilogue;  // reads the product; without operations: the product is all
    bool of_bytes = false;    // whether both operands are bytes, summed up in i32
};

/// The bytes of memory that running it takes beside its operands and results: what the prologues
/// make, and the product where it is neither a result nor computed in the place of one.
struct ContractionRoom {
    std::int64_t left = 0;
    std::int64_t right = 0;
    std::int64_t product = 0;
    std::int64_t total() const { return left + right + product; }
};
ContractionRoom room_of(const Program& program, const Contraction& contraction,
                        std::span<const ValueRef> buffers, bool product_in_output);

/// The group as a contraction, where it is one product whose axes are single steps through memory,
/// or a convolution: weights by windows.
std::optional<Contraction> find_contraction(const Program& program, const codegen::Group& group);

}  // namespace lazuli::plan
