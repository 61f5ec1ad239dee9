// Tensors given to other libraries by DLPack: a copy, unless the other side asks for none. Memory
// can be marked as not to be written to since version 1, and not everybody heeds the mark.

#include "dlpack.h"

#include <fmt/format.h>

#include <memory>

#include "convert.h"
#include "host_view.h"

namespace lazuli::python {

namespace {

// The structures of DLPack's binary interface.
struct DlTensor {
    void* data;
    std::int32_t device_type;
    std::int32_t device_id;
    std::int32_t ndim;
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

struct Unversioned {
    static constexpr const char* kName = "dltensor";
    DlTensor tensor;
    void* context;
    void (*deleter)(Unversioned*);
};

struct Versioned {
    static constexpr const char* kName = "dltensor_versioned";
    std::uint32_t major;
    std::uint32_t minor;
    void* context;
    void (*deleter)(Versioned*);
    std::uint64_t flags;
    DlTensor tensor;
};

constexpr std::int32_t kCpu = 1;
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kCopied = 2;

std::uint8_t code_of(DType dtype) {
    if (dtype == DType::boolean) return 6;
    if (dtype == DType::bf16) return 4;
    if (is_complex(dtype)) return 5;
    if (is_floating(dtype)) return 2;
    return info(dtype).is_signed ? 0 : 1;
}

/// A capsule's content, with what it points to.
template <class Managed>
struct Export {
    Managed managed{};
    HostView view;
    Shape shape;
    Ints strides;
};

template <class Managed>
PyObject* capsule_of(const Tensor& x, HostView view) {
    auto made = std::make_unique<Export<Managed>>();
    made->shape = x.shape();
    made->strides = dense_strides(x.shape());
    made->managed.tensor = {.data = const_cast<void*>(view.data),
                            .device_type = kCpu,
                            .device_id = 0,
                            .ndim = x.rank(),
                            .code = code_of(x.dtype()),
                            .bits = static_cast<std::uint8_t>(8 * size_of(x.dtype())),
                            .lanes = 1,
                            .shape = made->shape.data(),
                            .strides = made->strides.data(),
                            .byte_offset = 0};
    if constexpr (std::is_same_v<Managed, Versioned>) {
        made->managed.major = 1;
        made->managed.flags = view.copied ? kCopied : kReadOnly;
    }
    made->managed.context = made.get();
    made->managed.deleter = [](Managed* self) {
        delete static_cast<Export<Managed>*>(self->context);
    };
    made->view = std::move(view);
    PyObject* capsule = PyCapsule_New(&made->managed, Managed::kName, [](PyObject* self) noexcept {
        // One that was consumed has another name, and its consumer frees it.
        if (PyCapsule_IsValid(self, Managed::kName) == 0) return;
        auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(self, Managed::kName));
        managed->deleter(managed);
    });
    if (capsule == nullptr) throw nb::python_error();
    (void)made.release();
    return capsule;
}

nb::object dlpack(const Tensor& x, nb::handle, nb::handle max_version, nb::handle dl_device,
                  nb::handle copy) {
    if (!dl_device.is_none()) {
        const Ints device = to_ints({"__dlpack__", "dl_device"}, dl_device.ptr());
        if (device.rank() != 2 || device[0] != kCpu)
            throw nb::buffer_error("__dlpack__: tensors can be given to the CPU (1, 0) only");
    }
    const bool versioned =
        !max_version.is_none() && to_ints({"__dlpack__", "max_version"}, max_version.ptr())[0] >= 1;
    const bool shares = copy.is(nb::borrow(Py_False));
    if (shares && !versioned)
        throw nb::buffer_error(
            "__dlpack__: a tensor's elements cannot be written to, which DLPack before version 1 "
            "cannot say, and copy is False");
    HostView view = host_view(x, !shares);
    if (view.copied && shares)
        throw nb::buffer_error("__dlpack__: the elements are not dense, and copy is False");
    return nb::steal(versioned ? capsule_of<Versioned>(x, std::move(view))
                               : capsule_of<Unversioned>(x, std::move(view)));
}

}  // namespace

void bind_dlpack(nb::class_<Tensor>& type) {
    type.def("__dlpack__", dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
             nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
             nb::arg("copy") = nb::none());
    type.def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(kCpu, 0); });
}

}  // namespace lazuli::python
