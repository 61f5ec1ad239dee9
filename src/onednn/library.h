#pragma once

// Products and convolutions by oneDNN. This folder is a module of its own, opened when the first of
// them is wanted: nothing else links oneDNN. What crosses its border is plain data. The library
// runs on the thread that calls it, alone; who calls shares the parts out.

#include <cstddef>
#include <cstdint>

extern "C" {

/// What an array is of. Operands are both of f32, both of bf16, or of bytes by i8, summed up in
/// i32.
enum LazuliDnnType : std::int64_t {
    LAZULI_DNN_F32,
    LAZULI_DNN_BF16,
    LAZULI_DNN_I8,
    LAZULI_DNN_U8,
    LAZULI_DNN_I32,
};

/// A dense or strided array: sizes, and steps in elements.
struct LazuliDnnArray {
    LazuliDnnType type;
    std::int64_t rank;
    std::int64_t sizes[6];
    std::int64_t strides[6];
};

/// A convolution of [images, channels, ...] by [groups, made, channels, ...] or, where there is one
/// group, [made, channels, ...].
struct LazuliDnnConvolution {
    LazuliDnnArray x;
    LazuliDnnArray w;
    LazuliDnnArray y;
    std::int64_t dims;     // behind the channels
    std::int64_t grouped;  // whether w has groups
    std::int64_t strides[3];
    std::int64_t dilation[3];
    std::int64_t before[3];
    std::int64_t after[3];
};

/// A product of matrices, m x k by k x n; the result is row-major, its rows `result_stride` apart.
struct LazuliDnnProduct {
    std::int64_t m, n, k;
    std::int64_t a_strides[2];
    std::int64_t b_strides[2];
    std::int64_t result_stride;
    LazuliDnnType a_type, b_type, result_type;
};

/// What a convolution needs, once it is prepared.
struct LazuliDnnNeeds {
    std::size_t image_bytes;   // of the image as the library wants it; 0: as it is
    std::size_t weight_bytes;  // of the weights as it wants them; 0: as they are
    std::size_t result_bytes;  // of the result as it leaves it; 0: as it is wanted
    std::size_t scratch_bytes;
};

/// Memory that a part of a convolution works with; each as large as LazuliDnnNeeds says.
struct LazuliDnnMemory {
    const void* x;
    const void* w;
    void* y;
    void* image;
    void* weights;
    void* result;
    void* scratch;
};

/// A convolution that can run, or null where the library has none that pays; the caller drops it.
__attribute__((visibility("default"))) void* lazuli_dnn_convolution(
    const LazuliDnnConvolution* wanted, LazuliDnnNeeds* needs);
/// Lays out images and weights as the library wants them; the first, or only the second.
__attribute__((visibility("default"))) void lazuli_dnn_lay_out_image(void* convolution,
                                                                     const LazuliDnnMemory* memory);
__attribute__((visibility("default"))) void lazuli_dnn_lay_out_weights(
    void* convolution, const LazuliDnnMemory* memory);
/// Convolves what was laid out, and lays the result out as it is wanted.
__attribute__((visibility("default"))) void lazuli_dnn_convolve(void* convolution,
                                                                const LazuliDnnMemory* memory);
/// Whether two convolutions want the image laid out in the same way.
__attribute__((visibility("default"))) int lazuli_dnn_same_image(const void* a, const void* b);
__attribute__((visibility("default"))) void lazuli_dnn_drop(void* convolution);

/// A product that can run, or null where the library has none. `weight_bytes` and `scratch_bytes`
/// are what it needs. Where `like` is another product of equal n and k, b is laid out as for that.
__attribute__((visibility("default"))) void* lazuli_dnn_product(const LazuliDnnProduct* wanted,
                                                                const void* like,
                                                                LazuliDnnNeeds* needs);
/// Lays out b (`w`) as the library wants it (`weights`).
__attribute__((visibility("default"))) void lazuli_dnn_lay_out_b(void* product,
                                                                 const LazuliDnnMemory* memory);
/// Multiplies a (`x`) by b into the result (`y`).
__attribute__((visibility("default"))) void lazuli_dnn_multiply(void* product,
                                                                const LazuliDnnMemory* memory);
__attribute__((visibility("default"))) void lazuli_dnn_drop_product(void* product);
}
