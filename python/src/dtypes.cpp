// Element types as Python objects: `lazuli.float32`, under numpy's names.

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

/// An element type as an object. There is one of each.
struct TypeObject {
    DType dtype;
};

std::array<PyObject*, kDTypeCount> objects{};

std::optional<DType> find_name(std::string_view name) {
    if (name == "bool_") return DType::boolean;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        if (name == numpy_name(dtype)) return dtype;
    }
    return parse_dtype(name);
}

/// What the module calls it; `bool` stays Python's own.
std::string module_name(DType dtype) {
    return dtype == DType::boolean ? "bool_" : numpy_name(dtype);
}

}  // namespace

std::string numpy_name(DType dtype) {
    const int bits = static_cast<int>(8 * size_of(dtype));
    switch (kind(dtype)) {
        case Kind::boolean: return "bool";
        case Kind::integer: return fmt::format("{}int{}", info(dtype).is_signed ? "" : "u", bits);
        case Kind::floating:
            return dtype == DType::bf16 ? "bfloat16" : fmt::format("float{}", bits);
        case Kind::complex: return fmt::format("complex{}", bits);
    }
    __builtin_unreachable();
}

nb::object dtype_object(DType dtype) {
    return nb::borrow(objects[static_cast<std::size_t>(dtype)]);
}

std::optional<DType> find_dtype(PyObject* object) {
    TypeObject* ours = nullptr;
    if (nb::try_cast(nb::handle(object), ours) && ours != nullptr) return ours->dtype;
    if (PyUnicode_Check(object)) return find_name(nb::cast<std::string>(nb::handle(object)));
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f32;
    if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::c64;
    // numpy's types have a name, and its scalar classes are named so
    const char* key = PyType_Check(object) ? "__name__" : "name";
    const nb::object name = nb::getattr(nb::handle(object), key, nb::none());
    if (!nb::isinstance<nb::str>(name)) return std::nullopt;
    return find_name(nb::cast<std::string>(name));
}

DType to_dtype(const Asker& asker, PyObject* object) {
    if (const auto dtype = find_dtype(object)) return *dtype;
    throw DTypeError(fmt::format("{}: {} is no element type; there are {}", asker.op,
                                 nb::cast<std::string>(nb::repr(nb::handle(object))), [] {
                                     std::string all;
                                     for (int i = 0; i < kDTypeCount; ++i)
                                         all += (i == 0 ? "" : ", ") +
                                                numpy_name(static_cast<DType>(i));
                                     return all;
                                 }()));
}

void bind_dtypes(nb::module_& m) {
    nb::class_<TypeObject>(m, "dtype", nb::is_final(),
                           "An element type: lazuli.float32. Names (\"float32\", \"f32\") and "
                           "numpy's types are taken for it as well.")
        .def_prop_ro("name", [](const TypeObject& t) { return numpy_name(t.dtype); })
        .def_prop_ro("short_name", [](const TypeObject& t) { return std::string(name(t.dtype)); })
        .def_prop_ro("itemsize", [](const TypeObject& t) { return size_of(t.dtype); })
        .def_prop_ro("kind",
                     [](const TypeObject& t) {
                         constexpr const char* kNames[] = {"bool", "integer", "floating",
                                                           "complex"};
                         return kNames[static_cast<int>(kind(t.dtype))];
                     })
        .def("__repr__", [](const TypeObject& t) { return "lazuli." + module_name(t.dtype); })
        .def("__str__", [](const TypeObject& t) { return numpy_name(t.dtype); })
        .def("__hash__", [](const TypeObject& t) { return static_cast<int>(t.dtype); })
        .def("__eq__", [](const TypeObject& t,
                          nb::handle other) { return find_dtype(other.ptr()) == t.dtype; })
        .def("__ne__", [](const TypeObject& t,
                          nb::handle other) { return find_dtype(other.ptr()) != t.dtype; })
        .def("__reduce__", [](const TypeObject& t) { return module_name(t.dtype); });
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        const nb::object object = nb::cast(TypeObject{dtype});
        objects[static_cast<std::size_t>(i)] = nb::object(object).release().ptr();
        m.attr(module_name(dtype).c_str()) = object;
    }
    define(m, Place::module, "promote_types(a, b)", "The type that two types are brought to.",
           [](const Function& self, PyObject* const* o) {
               const DType a = to_dtype({self.name, "a"}, o[0]);
               const DType b = to_dtype({self.name, "b"}, o[1]);
               if (const auto both = promote(a, b)) return dtype_object(*both).release().ptr();
               throw DTypeError(
                   fmt::format("promote_types: no type holds both {} and {}", name(a), name(b)));
           });
}

}  // namespace lazuli::python
