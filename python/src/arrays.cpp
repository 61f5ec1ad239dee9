// Tensors from what Python has: numbers, nested lists, buffers, and arrays of other libraries.

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <limits>
#include <vector>

#include "convert.h"
#include "function.h"
#include "host_view.h"

namespace lazuli::python {

namespace {

/// ArgumentError naming `op` where an integer is too large for a type of integers, DTypeError where
/// a complex number would lose a part.
void check_fits(const Asker& asker, DType dtype, const Scalar& number) {
    if (number.kind() == Kind::complex && !is_complex(dtype) && dtype != DType::boolean)
        throw DTypeError(fmt::format("{}: {} is a complex number and no {}", asker.op, number.str(),
                                     name(dtype)));
    if (number.kind() == Kind::integer && is_integer(dtype))
        (void)promote_weak(asker.op, dtype, number);
}

/// The type that holds all numbers of a list.
DType type_of_numbers(const std::vector<Scalar>& numbers) {
    DType out = numbers.empty() ? DType::f32 : DType::boolean;
    for (const Scalar& number : numbers) {
        const DType next = number.is_large_unsigned() ? DType::u64 : number.default_dtype();
        if (kind(next) > kind(out)) out = next;
        if (kind(next) == kind(out) && size_of(next) > size_of(out)) out = next;
        if (next == DType::u64 && out == DType::i64) out = DType::u64;
    }
    return out;
}

Tensor from_numbers(const Asker& asker, const std::vector<Scalar>& numbers, const Shape& shape,
                    const ArrayOptions& options) {
    const DType dtype = options.dtype.value_or(type_of_numbers(numbers));
    std::vector<std::max_align_t> memory(
        numbers.size() * size_of(dtype) / sizeof(std::max_align_t) + 1);
    auto* at = reinterpret_cast<unsigned char*>(memory.data());
    for (const Scalar& number : numbers) {
        check_fits(asker, dtype, number);
        store_scalar(number, dtype, at);
        at += size_of(dtype);
    }
    return tensor_from(memory.data(), dtype, shape);
}

/// Gathers the numbers of nested lists; false where something else is among them.
bool gather_numbers(const Asker& asker, PyObject* object, int level, Shape& shape,
                    std::vector<Scalar>& out) {
    const bool first = shape.rank() == level;
    if (!PyList_Check(object) && !PyTuple_Check(object)) {
        // what numpy has keeps its type, so it is numpy's to put together
        if (!PyFloat_CheckExact(object) && !PyLong_CheckExact(object) && !PyBool_Check(object) &&
            !PyComplex_CheckExact(object))
            return false;
        if (shape.rank() != level)
            throw ShapeError(
                fmt::format("{}: a number where a list of {} is expected", asker.op, shape[level]),
                shape.str(), "a number");
        out.push_back(*find_number(object));
        return true;
    }
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
    if (first && !out.empty())
        throw ShapeError(fmt::format("{}: a list where a number is expected", asker.op),
                         shape.str(), "a list");
    if (first) shape.push_back(size);
    if (shape[level] != size)
        throw ShapeError(
            fmt::format("{}: lists of different lengths: {} and {}", asker.op, shape[level], size),
            fmt::format("[{}]", shape[level]), fmt::format("[{}]", size));
    if (level >= Shape::kMaxRank) throw ShapeError("array: lists nested too deeply", "64", "more");
    for (Py_ssize_t i = 0; i < size; ++i) {
        if (!gather_numbers(asker, PySequence_Fast_GET_ITEM(object, i), level + 1, shape, out))
            return false;
    }
    return true;
}

/// The element type of a buffer's format; none where there is no such type.
std::optional<DType> type_of_format(const char* format, Py_ssize_t size) {
    if (format == nullptr) return DType::u8;
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    const std::string_view code(format);
    if (code == "Zf") return DType::c64;
    if (code == "Zd") return DType::c128;
    if (code.size() != 1) return std::nullopt;
    const auto integer = [&](bool is_signed) -> std::optional<DType> {
        switch (size) {
            case 1: return is_signed ? DType::i8 : DType::u8;
            case 2: return is_signed ? DType::i16 : DType::u16;
            case 4: return is_signed ? DType::i32 : DType::u32;
            case 8: return is_signed ? DType::i64 : DType::u64;
            default: return std::nullopt;
        }
    };
    switch (code[0]) {
        case '?': return DType::boolean;
        case 'e': return DType::f16;
        case 'f': return DType::f32;
        case 'd': return DType::f64;
        case 'b':
        case 'h':
        case 'i':
        case 'l':
        case 'q':
        case 'n': return integer(true);
        case 'B':
        case 'H':
        case 'I':
        case 'L':
        case 'Q':
        case 'N': return integer(false);
        default: return std::nullopt;
    }
}

[[noreturn]] void cannot_lend(const Asker& asker, std::string_view why) {
    throw ArgumentError(fmt::format("{}: copy=False, but {}", asker.op, why));
}

/// A tensor of an object with the buffer protocol; none where its format has no element type.
std::optional<Tensor> from_buffer(const Asker& asker, PyObject* object,
                                  const ArrayOptions& options) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object, view.get(), PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return std::nullopt;
    }
    const auto free = [](Py_buffer* b) {
        PyBuffer_Release(b);
        delete b;
    };
    std::unique_ptr<Py_buffer, decltype(free)> held(view.release(), free);
    const auto dtype = type_of_format(held->format, held->itemsize);
    if (!dtype || held->suboffsets != nullptr) return std::nullopt;
    const std::vector<std::int64_t> sizes(held->shape, held->shape + held->ndim);
    const Shape shape{std::span<const std::int64_t>(sizes)};
    if (options.copy) {
        if (PyBuffer_IsContiguous(held.get(), 'C') != 0)
            return tensor_from(held->buf, *dtype, shape);
        std::vector<std::max_align_t> dense(
            static_cast<std::size_t>(held->len) / sizeof(std::max_align_t) + 1);
        if (PyBuffer_ToContiguous(dense.data(), held.get(), held->len, 'C') != 0)
            throw nb::python_error();
        return tensor_from(dense.data(), *dtype, shape);
    }
    if (options.dtype && *options.dtype != *dtype)
        cannot_lend(asker, fmt::format("{} is to become {}", name(*dtype), name(*options.dtype)));
    if (reinterpret_cast<std::uintptr_t>(held->buf) % size_of(*dtype) != 0)
        cannot_lend(asker, "the memory is not aligned");
    Ints strides;
    for (int i = 0; i < held->ndim; ++i) strides.push_back(held->strides[i]);
    Py_buffer* lent = held.release();
    return lift(lent->buf, *dtype, shape, strides, [lent] {
        release_later(
            [](void* data) {
                auto* buffer = static_cast<Py_buffer*>(data);
                PyBuffer_Release(buffer);
                delete buffer;
            },
            lent);
    });
}

std::optional<DType> type_of_dlpack(nb::dlpack::dtype type) {
    if (type.lanes != 1) return std::nullopt;
    using Code = nb::dlpack::dtype_code;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        const Code code = dtype == DType::boolean ? Code::Bool
                          : dtype == DType::bf16  ? Code::Bfloat
                          : is_complex(dtype)     ? Code::Complex
                          : is_floating(dtype)    ? Code::Float
                          : info(dtype).is_signed ? Code::Int
                                                  : Code::UInt;
        if (type.code == static_cast<std::uint8_t>(code) && type.bits == 8 * size_of(dtype))
            return dtype;
    }
    return std::nullopt;
}

Tensor from_dlpack(const Asker& asker, PyObject* object, const ArrayOptions& options) {
    using Array = nb::ndarray<nb::ro, nb::device::cpu>;
    auto array = std::make_unique<Array>();
    if (!nb::try_cast(nb::handle(object), *array, false)) {
        (void)nb::handle(object).attr("__dlpack__")();  // says why, where it is the exporter's
        throw DeviceError(
            fmt::format("{}: a {} that does not lie in the host's memory, or gives "
                        "no DLPack capsule",
                        asker.op, Py_TYPE(object)->tp_name));
    }
    const auto dtype = type_of_dlpack(array->dtype());
    if (!dtype)
        throw DTypeError(
            fmt::format("{}: DLPack's type (code {}, {} bits, {} lanes) has no element "
                        "type here",
                        asker.op, array->dtype().code, array->dtype().bits, array->dtype().lanes));
    if (!options.copy && options.dtype && *options.dtype != *dtype)
        cannot_lend(asker, fmt::format("{} is to become {}", name(*dtype), name(*options.dtype)));
    Shape shape;
    Ints strides;
    const auto item = static_cast<std::int64_t>(size_of(*dtype));
    for (std::size_t i = 0; i < array->ndim(); ++i) {
        shape.push_back(static_cast<std::int64_t>(array->shape(i)));
        strides.push_back(array->stride(i) * item);
    }
    const void* data = array->data();
    Array* lent = array.release();
    Tensor out = lift(data, *dtype, shape, strides, [lent] {
        release_later([](void* p) { delete static_cast<Array*>(p); }, lent);
    });
    if (!options.copy) return out;
    // Reading the lifted memory is what knows about strides.
    const HostView copy = host_view(out, true);
    return tensor_from(copy.data, *dtype, shape);
}

/// What numpy makes of the object, with numpy's own exceptions.
Tensor from_numpy(const Asker& asker, PyObject* object, const ArrayOptions& options) {
    nb::object array = nb::module_::import_("numpy").attr("asarray")(nb::handle(object));
    const nb::object type = array.attr("dtype");
    const auto text = nb::cast<std::string>(type.attr("name"));
    std::optional<DType> as;
    if (text == "bfloat16") {
        array = array.attr("view")("uint16");
        as = DType::bf16;
    } else if (!nb::cast<bool>(type.attr("isnative"))) {
        if (!options.copy) cannot_lend(asker, "the bytes are in another order");
        array = array.attr("astype")(type.attr("newbyteorder")("="));
    }
    ArrayOptions plain = options;
    if (as) plain.dtype = std::nullopt;
    auto out = from_buffer(asker, array.ptr(), plain);
    if (!out)
        throw DTypeError(
            fmt::format("{}: elements of numpy's type {} have no element type here ({})", asker.op,
                        text, Py_TYPE(object)->tp_name));
    if (!as) return *out;
    if (!options.copy) cannot_lend(asker, "memory of bfloat16 is copied");
    return out->bitcast(*as);
}

[[noreturn]] void no_elements(const Asker& asker, PyObject* object) {
    throw DTypeError(fmt::format("{}: no tensor can be made of a {} ('{}')", asker.op,
                                 Py_TYPE(object)->tp_name, asker.param));
}

/// A size that varies as a tensor of rank 0, of the type that its number would have. It is one
/// element of a row of positions, which nobody writes down.
Tensor from_dim(Dim size) {
    const bool fits = size.bounds().high <= std::numeric_limits<std::int32_t>::max();
    const Index last[] = {size.raw()};
    return at(iota(Shape{size + 1}, 0, fits ? DType::i32 : DType::i64), last);
}

Tensor convert(const Asker& asker, PyObject* object, const ArrayOptions& options) {
    if (is_dim(object)) return from_dim(dim_of(object));
    if (PyUnicode_Check(object) || object == Py_None) no_elements(asker, object);
    if (PyList_Check(object) || PyTuple_Check(object) || PyFloat_CheckExact(object) ||
        PyLong_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object)) {
        Shape shape;
        std::vector<Scalar> numbers;
        if (gather_numbers(asker, object, 0, shape, numbers)) {
            if (!options.copy) cannot_lend(asker, "Python's numbers are not elements");
            return from_numbers(asker, numbers, shape, options);
        }
        return from_numpy(asker, object, options);
    }
    if (PyObject_CheckBuffer(object) != 0) {
        if (auto out = from_buffer(asker, object, options)) return *std::move(out);
    }
    if (PyObject_HasAttrString(object, "__array_interface__") != 0)
        return from_numpy(asker, object, options);
    if (PyObject_HasAttrString(object, "__dlpack__") != 0)
        return from_dlpack(asker, object, options);
    if (PyObject_HasAttrString(object, "__array__") != 0 || PySequence_Check(object) != 0)
        return from_numpy(asker, object, options);
    no_elements(asker, object);
}

}  // namespace

Tensor to_tensor(const Asker& asker, PyObject* object, const ArrayOptions& options) {
    Tensor out = is_tensor(object) ? tensor_of(object) : convert(asker, object, options);
    return options.dtype && *options.dtype != out.dtype() ? out.cast(*options.dtype)
                                                          : std::move(out);
}

namespace {

ArrayOptions options_of(const Function& self, PyObject* dtype, PyObject* copy) {
    ArrayOptions out;
    if (dtype != Py_None) out.dtype = to_dtype({self.name, "dtype"}, dtype);
    out.copy = copy == Py_None || to_bool({self.name, "copy"}, copy);
    return out;
}

PyObject* array(const Function& self, PyObject* const* o) {
    release_now();
    return wrap(to_tensor({self.name, "x"}, o[0], options_of(self, o[1], o[2])));
}

PyObject* import_dlpack(const Function& self, PyObject* const* o) {
    release_now();
    if (is_tensor(o[0])) return Py_NewRef(o[0]);
    if (PyObject_HasAttrString(o[0], "__dlpack__") == 0)
        throw nb::type_error(
            fmt::format("from_dlpack: a {} has no __dlpack__", Py_TYPE(o[0])->tp_name).c_str());
    return wrap(from_dlpack({self.name, "x"}, o[0], options_of(self, Py_None, o[1])));
}

}  // namespace

void bind_arrays(nb::module_& m) {
    define(
        m, Place::module, "array(x, dtype=None, copy=True)",
        "A tensor of numbers, nested lists, arrays of numpy, buffers or anything with DLPack.\n\n"
        "The elements are copied. With copy=False they are lent: nothing may change them while a\n"
        "tensor made of them lives. Python's own numbers become int32 (int64 where they do not\n"
        "fit), float32 or complex64; elements of arrays keep their type.",
        array);
    m.attr("tensor") = m.attr("array");
    define(m, Place::module, "asarray(x, dtype=None, copy=None)",
           "As `array`: a tensor is returned as it is, anything else is copied unless copy=False.",
           array);
    define(m, Place::module, "from_dlpack(x, *, copy=None)",
           "A tensor of what another library exports by DLPack. The elements are copied; with\n"
           "copy=False they are lent: nothing may change them while a tensor made of them lives.",
           import_dlpack);
}

}  // namespace lazuli::python
