#pragma once

// A tensor's elements where the host can read them.

#include <memory>

#include "common.h"

namespace lazuli::python {

/// Elements in row-major order, and who keeps them.
struct HostView {
    std::shared_ptr<const void> owner;
    const void* data = nullptr;
    bool copied = false;  // nobody else reads them
};

/// Calls `body` with a value of the C++ type whose element type is `dtype`.
template <class Body>
auto with_type(DType dtype, Body&& body) {
    switch (dtype) {
        case DType::boolean: return body(bool{});
        case DType::i8: return body(std::int8_t{});
        case DType::i16: return body(std::int16_t{});
        case DType::i32: return body(std::int32_t{});
        case DType::i64: return body(std::int64_t{});
        case DType::u8: return body(std::uint8_t{});
        case DType::u16: return body(std::uint16_t{});
        case DType::u32: return body(std::uint32_t{});
        case DType::u64: return body(std::uint64_t{});
        case DType::f16: return body(Half{});
        case DType::bf16: return body(BFloat16{});
        case DType::f32: return body(float{});
        case DType::f64: return body(double{});
        case DType::c64: return body(std::complex<float>{});
        case DType::c128: return body(std::complex<double>{});
    }
    __builtin_unreachable();
}

/// Evaluates the tensor and shows its elements: those it has where they lie row-major, else a copy.
/// With `copy`, always one.
HostView host_view(const Tensor& tensor, bool copy = false);

/// A tensor with a copy of dense elements.
Tensor tensor_from(const void* data, DType dtype, const Shape& shape);

/// The buffer protocol's functions for tensors.
int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept;
void release_buffer(PyObject* self, Py_buffer* view) noexcept;

/// The elements as an array of numpy that cannot be written to.
nb::object numpy_of(const Tensor& tensor);

}  // namespace lazuli::python
