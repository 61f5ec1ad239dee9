// The type of tensors: operators, indexing, conversions to Python's numbers, and what a tensor is.

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>

#include "convert.h"
#include "dlpack.h"
#include "function.h"
#include "gradient.h"
#include "host_view.h"
#include "indexing.h"
#include "names.h"

namespace lazuli::python {

namespace {

// ---- operators; which op serves one is known when the ops are bound

enum Operator : std::size_t {
    add_,
    sub_,
    mul_,
    div_,
    pow_,
    matmul_,
    floordiv_,
    mod_,
    and_,
    or_,
    xor_,
    lshift_,
    rshift_,
    neg_,
    abs_,
    invert_,
    lt_,
    le_,
    eq_,
    ne_,
    gt_,
    ge_,
    count_
};

std::array<const Function*, count_> operators{};

template <Operator Op>
PyObject* binary(PyObject* a, PyObject* b) noexcept {
    const Function* function = operators[Op];
    if (!is_tensor(a) || !is_tensor(b)) {
        const int served = guarded([&] { return is_operand(a) && is_operand(b) ? 1 : 0; });
        if (served < 0) return nullptr;
        if (served == 0) Py_RETURN_NOTIMPLEMENTED;
    }
    if (function == nullptr) Py_RETURN_NOTIMPLEMENTED;
    return (*function)(a, b);
}

template <Operator Op>
PyObject* unary(PyObject* a) noexcept {
    if (operators[Op] == nullptr) {
        PyErr_SetString(PyExc_TypeError, "no operation of the op table serves this operator");
        return nullptr;
    }
    return (*operators[Op])(a);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary<pow_>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int op) noexcept {
    switch (op) {
        case Py_LT: return binary<lt_>(a, b);
        case Py_LE: return binary<le_>(a, b);
        case Py_EQ: return binary<eq_>(a, b);
        case Py_NE: return binary<ne_>(a, b);
        case Py_GT: return binary<gt_>(a, b);
        default: return binary<ge_>(a, b);
    }
}

// ---- one element

/// The only element as a number; evaluates.
Scalar item_of(const Tensor& x) {
    evaluate(x);
    return with_type(x.dtype(), [&]<class T>(T) { return Scalar(x.item<T>()); });
}

PyObject* item(PyObject* self, PyObject*) noexcept {
    return guarded([&] { return number_object(item_of(tensor_of(self))); });
}

PyObject* as_int(PyObject* self) noexcept {
    const nb::object value = nb::steal(item(self, nullptr));
    return value.is_valid() ? PyNumber_Long(value.ptr()) : nullptr;
}

PyObject* as_float(PyObject* self) noexcept {
    const nb::object value = nb::steal(item(self, nullptr));
    return value.is_valid() ? PyNumber_Float(value.ptr()) : nullptr;
}

PyObject* as_complex(PyObject* self, PyObject*) noexcept {
    return guarded([&] {
        const std::complex<double> value = item_of(tensor_of(self)).to_complex();
        return PyComplex_FromDoubles(value.real(), value.imag());
    });
}

PyObject* as_index(PyObject* self) noexcept {
    const Tensor& x = tensor_of(self);
    if (!is_integer(x.dtype()) || x.rank() != 0) {
        PyErr_SetString(PyExc_TypeError,
                        "only a tensor of integers and rank 0 is an index of Python's");
        return nullptr;
    }
    return item(self, nullptr);
}

int as_bool(PyObject* self) noexcept {
    return guarded([&]() -> int {
        const Tensor& x = tensor_of(self);
        if (x.numel() == 1) evaluate(x);
        return static_cast<bool>(x) ? 1 : 0;
    });
}

// ---- positions

int assign(PyObject*, PyObject*, PyObject*) noexcept {
    PyErr_SetString(PyExc_TypeError,
                    "tensors do not change; make a new one, for instance with lazuli.where");
    return -1;
}

Py_ssize_t length(PyObject* self) noexcept {
    const Tensor& x = tensor_of(self);
    if (x.rank() == 0) {
        PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no length");
        return -1;
    }
    return guarded([&] { return static_cast<Py_ssize_t>(x.shape()[0]); });
}

PyObject* element(PyObject* self, Py_ssize_t i) noexcept {
    return guarded([&]() -> PyObject* {
        const Index one[] = {std::int64_t{i}};
        return wrap(at(tensor_of(self), one));
    });
}

PyObject* iterate(PyObject* self) noexcept {
    return length(self) < 0 ? nullptr : PySeqIter_New(self);
}

PyObject* nested_list(const Tensor& x, const unsigned char* data, int axis, std::int64_t stride) {
    if (axis == x.rank()) return number_object(load_scalar(x.dtype(), data));
    const std::int64_t size = x.shape()[axis];
    PyObject* out = PyList_New(size);
    if (out == nullptr) throw nb::python_error();
    const std::int64_t step = size == 0 ? 0 : stride / size;
    for (std::int64_t i = 0; i < size; ++i)
        PyList_SET_ITEM(out, i, nested_list(x, data + i * step, axis + 1, step));
    return out;
}

// ---- text

std::string values_text(const Tensor& x) {
    evaluate(x);
    return x.str({.eval = true});
}

std::string repr(const Tensor& x) {
    std::string text;
    try {
        text = values_text(x);
    } catch (const Error& e) {  // showing a tensor in a debugger is no place to fail
        return fmt::format("<{}: {}>", x.str(), e.what());
    }
    std::string lines;
    for (const char c : text) {
        lines += c;
        if (c == '\n') lines += "       ";
    }
    return fmt::format("Tensor({}, dtype={}{})", lines, numpy_name(x.dtype()),
                       x.requires_grad() ? ", requires_grad=True" : "");
}

// ---- methods without nanobind between, and with a signature that inspect reads

PyObject* eval_method(PyObject* self, PyObject*) noexcept {
    return guarded([&] {
        evaluate(tensor_of(self));
        return Py_NewRef(self);
    });
}

PyObject* freeze_method(PyObject* self, PyObject* args, PyObject* keywords) noexcept {
    int release = 0;
    const char* names[] = {"release", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|$p:freeze", const_cast<char**>(names),
                                    &release) == 0)
        return nullptr;
    return guarded([&] {
        evaluate(tensor_of(self));
        tensor_of(self).freeze(release != 0 ? Unpacked::release : Unpacked::keep);
        return Py_NewRef(self);
    });
}

PyObject* tolist(PyObject* self, PyObject*) noexcept {
    return guarded([&] {
        const Tensor& x = tensor_of(self);
        const HostView view = host_view(x);
        return nested_list(x, static_cast<const unsigned char*>(view.data), 0, x.spec().nbytes());
    });
}

PyObject* numpy_method(PyObject* self, PyObject*) noexcept {
    return guarded([&] { return numpy_of(tensor_of(self)).release().ptr(); });
}

PyObject* itself(PyObject* self, PyObject*) noexcept { return Py_NewRef(self); }

PyMethodDef methods[] = {
    {"eval", eval_method, METH_NOARGS,
     "eval($self, /)\n--\n\nComputes it and what it needs, unless that was done; returns it."},
    {"freeze", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(freeze_method)),
     METH_VARARGS | METH_KEYWORDS,
     "freeze($self, /, *, release=False)\n--\n\nComputes it, and says that it is used again and "
     "again, as weights are: products keep it packed, and where `release` is true its own memory "
     "is "
     "given back then, and made anew where somebody reads it."},
    {"item", item, METH_NOARGS, "item($self, /)\n--\n\nThe only element as a number of Python's."},
    {"tolist", tolist, METH_NOARGS, "tolist($self, /)\n--\n\nThe elements as nested lists."},
    {"numpy", numpy_method, METH_NOARGS,
     "numpy($self, /)\n--\n\nThe elements as an array of numpy that cannot be written to; "
     "numpy.array(t) copies."},
    {"__complex__", as_complex, METH_NOARGS, "__complex__($self, /)\n--\n\n"},
    {"__copy__", itself, METH_NOARGS, "__copy__($self, /)\n--\n\n"},
    {"__deepcopy__", itself, METH_O, "__deepcopy__($self, memo, /)\n--\n\n"},
};

template <class F>
void* slot(F* function) {
    return reinterpret_cast<void*>(function);
}

const PyType_Slot* type_slots() {
    static const PyType_Slot slots[] = {
        {Py_nb_add, slot(binary<add_>)},
        {Py_nb_subtract, slot(binary<sub_>)},
        {Py_nb_multiply, slot(binary<mul_>)},
        {Py_nb_true_divide, slot(binary<div_>)},
        {Py_nb_power, slot(power)},
        {Py_nb_matrix_multiply, slot(binary<matmul_>)},
        {Py_nb_floor_divide, slot(binary<floordiv_>)},
        {Py_nb_remainder, slot(binary<mod_>)},
        {Py_nb_and, slot(binary<and_>)},
        {Py_nb_or, slot(binary<or_>)},
        {Py_nb_xor, slot(binary<xor_>)},
        {Py_nb_lshift, slot(binary<lshift_>)},
        {Py_nb_rshift, slot(binary<rshift_>)},
        {Py_nb_negative, slot(unary<neg_>)},
        {Py_nb_positive, slot(+[](PyObject* self) { return Py_NewRef(self); })},
        {Py_nb_absolute, slot(unary<abs_>)},
        {Py_nb_invert, slot(unary<invert_>)},
        {Py_nb_bool, slot(as_bool)},
        {Py_nb_int, slot(as_int)},
        {Py_nb_float, slot(as_float)},
        {Py_nb_index, slot(as_index)},
        {Py_tp_richcompare, slot(compare)},
        {Py_tp_hash, slot(PyObject_HashNotImplemented)},
        {Py_tp_iter, slot(iterate)},
        {Py_mp_subscript, slot(subscript)},
        {Py_mp_ass_subscript, slot(assign)},
        {Py_mp_length, slot(length)},
        {Py_sq_item, slot(element)},
        {Py_bf_getbuffer, slot(get_buffer)},
        {Py_bf_releasebuffer, slot(release_buffer)},
        {0, nullptr},
    };
    return slots;
}

/// numpy's protocol: `copy` of None copies where that is needed, False forbids it.
nb::object array_protocol(const Tensor& x, nb::handle dtype, nb::handle copy) {
    nb::object array = numpy_of(x);
    const bool other =
        !dtype.is_none() && !nb::cast<bool>(array.attr("dtype").attr("__eq__")(dtype));
    if (other && copy.is(nb::borrow(Py_False)))
        throw nb::value_error("__array__: another type needs a copy, and copy is False");
    if (other) return array.attr("astype")(dtype);
    return copy.is(nb::borrow(Py_True)) ? nb::object(array.attr("copy")()) : array;
}

}  // namespace

std::span<const Slot> operator_slots() {
    static const Slot slots[] = {
        {{"add"}, &operators[add_]},
        {{"sub"}, &operators[sub_]},
        {{"mul"}, &operators[mul_]},
        {{"div"}, &operators[div_]},
        {{"pow"}, &operators[pow_]},
        {{"matmul"}, &operators[matmul_]},
        {{"floor_divide", "floor_div", "floordiv"}, &operators[floordiv_]},
        {{"rem"}, &operators[mod_]},
        {{"bitwise_and", "bit_and", "logical_and"}, &operators[and_]},
        {{"bitwise_or", "bit_or", "logical_or"}, &operators[or_]},
        {{"bitwise_xor", "bit_xor", "logical_xor"}, &operators[xor_]},
        {{"shift_left"}, &operators[lshift_]},
        {{"shift_right"}, &operators[rshift_]},
        {{"neg"}, &operators[neg_]},
        {{"abs"}, &operators[abs_]},
        {{"bitwise_not", "bit_not", "logical_not"}, &operators[invert_]},
        {{"lt"}, &operators[lt_]},
        {{"le"}, &operators[le_]},
        {{"eq"}, &operators[eq_]},
        {{"ne"}, &operators[ne_]},
        {{"gt"}, &operators[gt_]},
        {{"ge"}, &operators[ge_]},
    };
    return slots;
}

void bind_tensor(nb::module_& m) {
    nb::class_<Tensor> type(m, "Tensor", nb::type_slots(type_slots()), nb::is_final(),
                            nb::is_weak_referenceable(),
                            "A tensor: an operation on it records a node and returns at once; its "
                            "values are computed when they are needed. lazuli.array makes one.");
    tensor_type = reinterpret_cast<PyTypeObject*>(type.ptr());
    bind_functions(m);
    type.def_prop_ro(
            "shape", [](const Tensor& x) { return tuple_of(x.shape()); },
            "The sizes; a Dim where one varies.")
        .def_prop_ro(
            "dtype", [](const Tensor& x) { return dtype_object(x.dtype()); }, "The element type.")
        .def_prop_ro(
            "ndim", [](const Tensor& x) { return x.rank(); }, "The number of dimensions.")
        .def_prop_ro(
            "size", [](const Tensor& x) { return dim_object(x.shape().count()); },
            "The number of elements.")
        .def_prop_ro(
            "itemsize", [](const Tensor& x) { return size_of(x.dtype()); }, "Bytes an element.")
        .def_prop_ro(
            "nbytes", [](const Tensor& x) { return x.spec().nbytes(); }, "Bytes of all elements.")
        .def_prop_ro(
            "device", [](const Tensor& x) { return x.device().name(); },
            "The name of the device it lives on.")
        .def_prop_ro(
            "op", [](const Tensor& x) { return std::string(x.op()); }, "The op that made it.")
        .def_prop_ro("is_materialized", &Tensor::is_materialized, "Whether its values are there.")
        .def_prop_ro(
            "T", [](const Tensor& x) { return nb::steal(wrap(x.transpose())); },
            "The dimensions in reverse order.")
        .def("__repr__", repr)
        .def("__str__", values_text)
        .def("__array__", array_protocol, nb::arg("dtype") = nb::none(),
             nb::arg("copy") = nb::none())
        .def("__reduce__", [m](const Tensor& x) {
            return nb::make_tuple(nb::module_::import_("lazuli").attr("array"),
                                  nb::make_tuple(numpy_of(x)));
        });
    bind_dlpack(type);
    bind_gradient_properties(type);
    define(m, Place::method, "to(x, device)", "The tensor on another device.",
           [](const Function&, PyObject* const* o) {
               const Tensor x = tensor_of(o[0]);
               const Device target = to_device(o[1]);
               evaluate(x);
               return wrap(x.to(target));
           });
    for (PyMethodDef& method : methods) {
        const nb::object object = nb::steal(PyDescr_NewMethod(tensor_type, &method));
        if (!object.is_valid()) throw nb::python_error();
        nb::setattr(type, method.ml_name, object);
    }
    // numpy's operators leave the work to ours.
    nb::setattr(type, "__array_priority__", nb::float_(1000.0));
    nb::setattr(type, "__array_ufunc__", nb::none());
}

}  // namespace lazuli::python
