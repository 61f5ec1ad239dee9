#include "host_view.h"

#include <fmt/format.h>

#include <vector>

#include "convert.h"

namespace lazuli::python {

namespace {

/// Whether `data` would find the elements in row-major order.
bool lies_dense(const Tensor& tensor) {
    if (!tensor.is_view()) return true;
    const ShapeTracker tracker = tensor.view();
    View top = tracker.top();
    top.offset = 0;
    return tracker.size() == 1 && top.is_contiguous();
}

HostView copy_of(const Tensor& tensor) {
    return with_type(tensor.dtype(), [&]<class T>(T) {
        const std::vector<T> values = tensor.to_vector<T>();
        auto elements = std::make_shared<T[]>(values.size());
        std::copy(values.begin(), values.end(), elements.get());
        const void* data = elements.get();
        return HostView{std::move(elements), data, true};
    });
}

constexpr const char* format_of(DType dtype) {
    switch (dtype) {
        case DType::boolean: return "?";
        case DType::i8: return "b";
        case DType::i16: return "h";
        case DType::i32: return "i";
        case DType::i64: return "q";
        case DType::u8: return "B";
        case DType::u16: return "H";
        case DType::u32: return "I";
        case DType::u64: return "Q";
        case DType::f16: return "e";
        case DType::bf16: return nullptr;
        case DType::f32: return "f";
        case DType::f64: return "d";
        case DType::c64: return "Zf";
        case DType::c128: return "Zd";
    }
    __builtin_unreachable();
}

/// What a Py_buffer points into.
struct Lent {
    HostView view;
    std::vector<Py_ssize_t> shape;
    std::vector<Py_ssize_t> strides;
};

}  // namespace

HostView host_view(const Tensor& tensor, bool copy) {
    evaluate(tensor);
    if (!copy && lies_dense(tensor)) {
        try {
            const void* data = with_type(tensor.dtype(), [&]<class T>(T) {
                return static_cast<const void*>(tensor.data<T>());
            });
            return {std::make_shared<Tensor>(tensor), data, false};
        } catch (const ArgumentError&) {  // memory of the user's own that is not dense
        } catch (const DeviceError&) {    // memory that only the device reads
        }
    }
    return copy_of(tensor);
}

Tensor tensor_from(const void* data, DType dtype, const Shape& shape) {
    return with_type(dtype, [&]<class T>(T) {
        return Tensor::from(std::span<const T>(static_cast<const T*>(data),
                                               static_cast<std::size_t>(shape.numel())),
                            shape);
    });
}

int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept {
    out->obj = nullptr;
    return guarded([&]() -> int {
        const Tensor& tensor = tensor_of(self);
        const char* format = format_of(tensor.dtype());
        if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
            PyErr_SetString(PyExc_BufferError, "a tensor's elements cannot be written to");
            return -1;
        }
        if (format == nullptr) {
            PyErr_Format(PyExc_BufferError, "buffers have no format for %s",
                         numpy_name(tensor.dtype()).c_str());
            return -1;
        }
        const Shape& shape = tensor.shape();
        const auto size = static_cast<Py_ssize_t>(size_of(tensor.dtype()));
        auto lent = std::make_unique<Lent>(host_view(tensor));
        const Ints strides = dense_strides(shape);
        for (int i = 0; i < shape.rank(); ++i) {
            lent->shape.push_back(shape[i]);
            lent->strides.push_back(strides[i] * size);
        }
        out->buf = const_cast<void*>(lent->view.data);
        out->len = shape.numel() * size;
        out->itemsize = size;
        out->readonly = 1;
        out->ndim = shape.rank();
        out->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
        out->shape = (flags & PyBUF_ND) != 0 ? lent->shape.data() : nullptr;
        out->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? lent->strides.data() : nullptr;
        out->suboffsets = nullptr;
        out->internal = lent.release();
        Py_INCREF(self);
        out->obj = self;
        return 0;
    });
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
    delete static_cast<Lent*>(view->internal);
}

nb::object numpy_of(const Tensor& tensor) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    if (tensor.dtype() == DType::bf16) {
        nb::object type;
        try {
            type = nb::module_::import_("ml_dtypes").attr("bfloat16");
        } catch (nb::python_error& e) {
            if (!e.matches(PyExc_ImportError)) throw;
            throw DTypeError(
                "numpy: it has no bfloat16 of its own; `pip install ml_dtypes`, or "
                "astype(lazuli.float32) before");
        }
        return numpy_of(tensor.bitcast(DType::u16)).attr("view")(type);
    }
    const nb::object self = nb::steal(wrap(Tensor(tensor)));
    const nb::object memory = nb::steal(PyMemoryView_FromObject(self.ptr()));
    if (!memory.is_valid()) throw nb::python_error();
    return numpy.attr("asarray")(memory);
}

}  // namespace lazuli::python
