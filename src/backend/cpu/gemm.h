#pragma once

// Products of matrices, of any strides: operands are packed into panels that fit the cache, and
// multiplied by a kernel that keeps a tile of the result in registers. Sums run over k in a fixed
// order, whatever the number of threads.

#include <cstdint>
#include <functional>

#include "lazuli/backend.h"
#include "lazuli/dtype.h"
#include "plan/windows.h"

namespace lazuli::cpu {

/// A matrix somewhere in memory; strides in elements.
struct MatrixView {
    DType dtype = DType::f32;
    const void* data = nullptr;
    std::int64_t row_stride = 0;
    std::int64_t column_stride = 0;
};

/// A matrix whose columns are windows over an image: a column for each place of the window, a row
/// for each element in it, channel by channel. What lies in the padding is 0.
struct WindowView {
    const void* data = nullptr;
    plan::Windows lie;
};

/// result = a b, where a is m x k, b is k x n, and the result is row-major.
struct Product {
    DType dtype = DType::f32;  // of the operands: f16, bf16, f32 or f64; i32: they are bytes
    std::int64_t m = 0, n = 0, k = 0;
    MatrixView a;
    MatrixView b;
    const WindowView* windows = nullptr;  // in place of b
    Buffer* b_owner = nullptr;            // of b's memory, where b is kept packed with it
    void* result = nullptr;               // of product_type; f16 and bf16 need none
};

/// Called by some thread when rows of the result are complete, while they are in its cache; each
/// row once. `rows` is where the first of them is, `stride` the elements from one to the next.
using Finished = std::function<void(std::int64_t first, std::int64_t behind, const void* rows,
                                    std::int64_t stride)>;

/// Whether products of this type are computed here.
bool multiplies(DType dtype);
/// The type of the result's elements: sums of f16 and bf16 are of f32.
inline DType product_type(DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

/// Under which b is kept packed with its owner: where it lies in that, its strides and sizes, and
/// the form it is packed into.
std::uint64_t packed_key(const Product& product, std::uint64_t form);

/// Gives back the memory of b where its owner allows it and b is all of it; `unpack` writes it
/// again. For who has b packed and kept.
void release_b(const Product& product, std::function<void(void*)> unpack);

/// Multiplies, on all threads.
void multiply(const Product& product, const Finished& finished = {});

}  // namespace lazuli::cpu
