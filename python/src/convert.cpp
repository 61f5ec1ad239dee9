#include "convert.h"

#include <fmt/format.h>

#include <limits>

namespace lazuli::python {

namespace {

std::string type_name(PyObject* object) {
    return is_tensor(object) ? "Tensor" : Py_TYPE(object)->tp_name;
}

/// The class of numpy's scalars; null while nobody has imported numpy, so none can be about.
PyObject* numpy_scalar_class() {
    static PyObject* found = nullptr;
    if (found == nullptr) {
        PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
        if (numpy == nullptr) return nullptr;
        found = PyObject_GetAttrString(numpy, "generic");
        if (found == nullptr) PyErr_Clear();  // numpy is being imported just now
    }
    return found;
}

std::optional<Scalar> integer_number(PyObject* object) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return Scalar(static_cast<std::int64_t>(value));
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw ArgumentError("an integer needs more than 64 bits");
    }
    return Scalar(static_cast<std::uint64_t>(large));
}

}  // namespace

void refuse(const Asker& asker, std::string_view wanted, PyObject* object) {
    throw nb::type_error(
        fmt::format("{}: '{}' must be {}, not {}", asker.op, asker.param, wanted, type_name(object))
            .c_str());
}

std::optional<Scalar> find_number(PyObject* object) {
    if (PyFloat_Check(object)) return Scalar(PyFloat_AS_DOUBLE(object));
    if (PyBool_Check(object)) return Scalar(object == Py_True);
    if (PyLong_Check(object)) return integer_number(object);
    if (PyComplex_Check(object)) {
        return Scalar(
            std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
    }
    PyObject* numpy = numpy_scalar_class();
    if (numpy == nullptr || PyObject_IsInstance(object, numpy) != 1) return std::nullopt;
    const nb::object plain = nb::handle(object).attr("item")();
    if (PyObject_IsInstance(plain.ptr(), numpy) == 1) return std::nullopt;  // has no counterpart
    return find_number(plain.ptr());
}

Scalar to_number(const Asker& asker, PyObject* object) {
    if (const auto number = find_number(object)) return *number;
    refuse(asker, "a number", object);
}

bool to_bool(const Asker& asker, PyObject* object) {
    if (object == Py_True) return true;
    if (object == Py_False) return false;
    const auto number = find_number(object);
    if (!number || number->kind() != Kind::boolean) refuse(asker, "True or False", object);
    return number->to_int() != 0;
}

std::int64_t to_integer(const Asker& asker, PyObject* object) {
    if (PyBool_Check(object) || PyIndex_Check(object) == 0) refuse(asker, "an integer", object);
    const nb::object index = nb::steal(PyNumber_Index(object));
    if (!index.is_valid()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
        PyErr_Clear();  // a tensor or array of more than one number, or of other ones
        refuse(asker, "an integer", object);
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0)
        throw ArgumentError(fmt::format("{}: '{}' needs more than 64 bits", asker.op, asker.param));
    return value;
}

double to_real(const Asker& asker, PyObject* object) {
    const auto number = find_number(object);
    if (!number || number->kind() == Kind::complex) refuse(asker, "a real number", object);
    return number->to_double();
}

Ints to_ints(const Asker& asker, PyObject* object) {
    if (object == Py_None) return {};
    const auto add = [&](Ints& out, PyObject* item) {
        if (is_dim(item)) {
            out.push_back(dim_of(item));
        } else {
            out.push_back(to_integer(asker, item));
        }
    };
    Ints out;
    if (PyIndex_Check(object) != 0 && !is_tensor(object)) {
        add(out, object);
        return out;
    }
    if (PySequence_Check(object) == 0 || PyUnicode_Check(object))
        refuse(asker, "an integer or several", object);
    const nb::object list = to_list(asker, object);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i)
        add(out, PySequence_Fast_GET_ITEM(list.ptr(), i));
    return out;
}

Axes to_axes(const Asker& asker, PyObject* object) {
    if (object == Py_None) return {};
    return Axes(to_ints(asker, object));
}

std::string to_text(const Asker& asker, PyObject* object) {
    if (!PyUnicode_Check(object)) refuse(asker, "a text", object);
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) throw nb::python_error();
    return {text, static_cast<std::size_t>(size)};
}

nb::object to_function(const Asker& asker, PyObject* object) {
    if (PyCallable_Check(object) == 0) refuse(asker, "a function", object);
    return nb::borrow(object);
}

nb::object to_list(const Asker& asker, PyObject* object) {
    if (PySequence_Check(object) == 0 && PyObject_HasAttrString(object, "__iter__") == 0)
        refuse(asker, "a sequence", object);
    const nb::object list = nb::steal(PySequence_Fast(object, "a sequence"));
    if (!list.is_valid()) throw nb::python_error();
    return list;
}

Attribute to_attribute(const Asker& asker, const AttrDef& attr, PyObject* object,
                       std::span<const Tensor> inputs) {
    switch (attr.kind) {
        case AttrKind::boolean: return to_bool(asker, object);
        case AttrKind::integer: {
            const std::int64_t value = to_integer(asker, object);
            const bool axis = attr.name == "axis" && !inputs.empty();
            return axis ? ensure_axis(asker.op, value, inputs[0].shape()) : value;
        }
        case AttrKind::real: return to_real(asker, object);
        case AttrKind::scalar: return to_number(asker, object);
        case AttrKind::axes:
            return inputs.empty()
                       ? to_ints(asker, object)
                       : ensure_axes(asker.op, to_axes(asker, object), inputs[0].shape());
        case AttrKind::ints: return to_ints(asker, object);
        case AttrKind::text:
        case AttrKind::program:
        case AttrKind::choice: return to_text(asker, object);
        case AttrKind::view: break;
    }
    throw ArgumentError(
        fmt::format("{}: '{}' is a view, which Python cannot give", asker.op, asker.param));
}

Device to_device(PyObject* object) { return Device(to_text({"device", "name"}, object)); }

nb::tuple tuple_of(const Shape& shape) {
    PyObject* out = PyTuple_New(shape.rank());
    if (out == nullptr) throw nb::python_error();
    nb::tuple tuple = nb::steal<nb::tuple>(out);
    const std::span<const std::int64_t> slots = shape.raw();
    for (int i = 0; i < shape.rank(); ++i) {
        const std::int64_t slot = slots[static_cast<std::size_t>(i)];
        // Lists of integers come by here too, and may hold any.
        PyObject* size = detail::is_expression(slot)
                             ? dim_object(Dim::from_raw(slot)).release().ptr()
                             : PyLong_FromLongLong(slot);
        PyTuple_SET_ITEM(out, i, size);
    }
    return tuple;
}

PyObject* number_object(const Scalar& value) {
    switch (value.kind()) {
        case Kind::boolean: return Py_NewRef(value.to_int() != 0 ? Py_True : Py_False);
        case Kind::integer:
            return value.is_large_unsigned()
                       ? PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(value.to_int()))
                       : PyLong_FromLongLong(value.to_int());
        case Kind::floating: return PyFloat_FromDouble(value.to_double());
        case Kind::complex:
            return PyComplex_FromDoubles(value.to_complex().real(), value.to_complex().imag());
    }
    __builtin_unreachable();
}

bool is_operand(PyObject* object) {
    if (is_tensor(object) || find_number(object) || is_dim(object)) return true;
    if (PyList_Check(object) || PyTuple_Check(object)) return true;
    if (PyUnicode_Check(object) || object == Py_None || PyType_Check(object)) return false;
    return PyObject_CheckBuffer(object) != 0 || PyObject_HasAttrString(object, "__dlpack__") != 0 ||
           PyObject_HasAttrString(object, "__array__") != 0;
}

}  // namespace lazuli::python
