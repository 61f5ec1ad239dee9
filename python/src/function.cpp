#include "function.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "convert.h"

namespace lazuli::python {

namespace {

struct Object {
    PyObject_HEAD vectorcallfunc vectorcall;
    const Function* function;
    PyObject* name;
    PyObject* signature;  // made when it is asked for
};

PyTypeObject* function_type = nullptr;

Object* self_of(PyObject* self) { return reinterpret_cast<Object*>(self); }

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t count,
                     PyObject* names) noexcept {
    return self_of(self)->function->call(arguments, PyVectorcall_NARGS(count), names);
}

std::string signature_text(const Function& function) {
    std::string out = "(";
    bool keywords = false;
    for (const Parameter& p : function.params) {
        if (out.size() > 1) out += ", ";
        if (p.keyword_only && !keywords) {
            out += "*, ";
            keywords = true;
        }
        out += p.name;
        if (p.fallback.is_valid()) out += "=" + nb::cast<std::string>(nb::repr(p.fallback));
    }
    return out + ")";
}

/// inspect.Signature, since a text cannot say every default.
nb::object make_signature(const Function& function) {
    const nb::module_ inspect = nb::module_::import_("inspect");
    const nb::object kind = inspect.attr("Parameter");
    nb::list list;
    for (const Parameter& p : function.params) {
        list.append(
            kind(p.name, kind.attr(p.keyword_only ? "KEYWORD_ONLY" : "POSITIONAL_OR_KEYWORD"),
                 nb::arg("default") = p.fallback.is_valid() ? p.fallback : kind.attr("empty")));
    }
    return inspect.attr("Signature")(list);
}

template <class Get>
PyObject* text_of(PyObject* self, Get get) noexcept {
    return guarded([&] { return nb::cast(get(*self_of(self))).release().ptr(); });
}

PyGetSetDef properties[] = {
    {"__name__", [](PyObject* self, void*) { return Py_NewRef(self_of(self)->name); }, nullptr,
     nullptr, nullptr},
    {"__qualname__", [](PyObject* self, void*) { return Py_NewRef(self_of(self)->name); }, nullptr,
     nullptr, nullptr},
    {"__module__", [](PyObject*, void*) { return PyUnicode_FromString("lazuli"); }, nullptr,
     nullptr, nullptr},
    {"__doc__",
     [](PyObject* self, void*) {
         return text_of(self, [](const Object& o) { return o.function->doc; });
     },
     nullptr, nullptr, nullptr},
    {"op",
     [](PyObject* self, void*) {
         return guarded([&]() -> PyObject* {
             const OpDef* op = self_of(self)->function->op;
             if (op == nullptr) Py_RETURN_NONE;
             return PyUnicode_FromStringAndSize(op->name.data(),
                                                static_cast<Py_ssize_t>(op->name.size()));
         });
     },
     nullptr, "The name of its operation in the op table, or None.", nullptr},
    {"__text_signature__",
     [](PyObject* self, void*) {
         return text_of(self, [](const Object& o) { return signature_text(*o.function); });
     },
     nullptr, nullptr, nullptr},
    {"__signature__",
     [](PyObject* self, void*) {
         return guarded([&] {
             Object& o = *self_of(self);
             if (o.signature == nullptr) o.signature = make_signature(*o.function).release().ptr();
             return Py_NewRef(o.signature);
         });
     },
     nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", [](PyObject* self, PyObject*) { return Py_NewRef(self_of(self)->name); },
     METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Object, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(+[](PyObject* self, PyObject* object, PyObject*) {
         return object == nullptr ? Py_NewRef(self) : PyMethod_New(self, object);
     })},
    {Py_tp_repr, reinterpret_cast<void*>(+[](PyObject* self) {
         return PyUnicode_FromFormat("<function lazuli.%U>", self_of(self)->name);
     })},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {"lazuli.Function", sizeof(Object), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

/// The object a default stands for: `{}`, `false`, `1e-5`, `DType::f32`, `'constant'`.
nb::object literal(std::string_view text) {
    if (text == "{}" || text == "None" || text.ends_with("()")) return nb::none();
    if (text == "true" || text == "True") return nb::borrow(Py_True);
    if (text == "false" || text == "False") return nb::borrow(Py_False);
    if (text.size() >= 2 && text.front() == '\'') return nb::str(text.data() + 1, text.size() - 2);
    const char* end = text.data() + text.size();
    long long integer = 0;
    if (const auto [p, e] = std::from_chars(text.data(), end, integer);
        e == std::errc() && p == end)
        return nb::int_(integer);
    double real = 0;
    if (const auto [p, e] = std::from_chars(text.data(), end, real); e == std::errc() && p == end)
        return nb::float_(real);
    if (const auto at = text.rfind("::"); at != std::string_view::npos) {
        const std::string_view value = text.substr(at + 2);
        if (text.starts_with("DType::")) {
            if (const auto dtype = parse_dtype(value == "boolean" ? "bool" : value))
                return dtype_object(*dtype);
        }
        return nb::str(value.data(), value.size());
    }
    throw InternalError(fmt::format("a default that Python has no word for: {}", text));
}

/// A message under this name: in place of the op's that it begins with, if it does.
std::string renamed(std::string_view message, const std::string& name) {
    const auto colon = message.find(": ");
    const std::string_view op = message.substr(0, colon);
    const bool is_name = op.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == op.npos;
    if (colon == std::string_view::npos || !is_name) return fmt::format("{}: {}", name, message);
    return name + std::string(message.substr(colon));
}

/// What `body` gives; errors about its arguments come under this name.
template <class Body>
PyObject* under_name(const std::string& name, Body&& body) {
    try {
        return body();
    } catch (const ShapeError& e) {
        throw ShapeError(renamed(e.what(), name), e.expected, e.actual);
    } catch (const DTypeError& e) {
        throw DTypeError(renamed(e.what(), name));
    } catch (const IndexError& e) {
        throw IndexError(renamed(e.what(), name));
    } catch (const ArgumentError& e) {
        throw ArgumentError(renamed(e.what(), name));
    }
}

}  // namespace

Parameter make_parameter(std::string name, std::string_view fallback, bool keyword_only) {
    Parameter out{std::move(name), {}, keyword_only};
    if (!fallback.empty()) out.fallback = literal(trim(fallback));
    out.key = PyUnicode_InternFromString(out.name.c_str());
    return out;
}

std::vector<std::string> split_arguments(std::string_view text) {
    std::vector<std::string> out;
    std::string piece;
    int depth = 0;
    for (const char c : text) {
        if (c == '(' || c == '{' || c == '[' || c == '<') ++depth;
        if (c == ')' || c == '}' || c == ']' || c == '>') --depth;
        if (c == ',' && depth == 0) {
            out.emplace_back(trim(piece));
            piece.clear();
        } else {
            piece += c;
        }
    }
    if (!trim(piece).empty()) out.emplace_back(trim(piece));
    return out;
}

std::vector<Parameter> parse_signature(std::string_view text) {
    std::vector<Parameter> out;
    bool keyword_only = false;
    for (const std::string& piece : split_arguments(text)) {
        if (piece == "*") {
            keyword_only = true;
            continue;
        }
        const auto equals = piece.find('=');
        const std::string fallback = equals == std::string::npos ? "" : piece.substr(equals + 1);
        out.push_back(make_parameter(piece.substr(0, equals), fallback, keyword_only));
    }
    return out;
}

PyObject* Function::call(PyObject* const* arguments, std::size_t positional,
                         PyObject* names) const noexcept {
    PyObject* sorted[kMost] = {};
    const std::size_t count = params.size();
    std::size_t places = count;
    while (places > 0 && params[places - 1].keyword_only) --places;
    nb::object packed;
    const auto given = positional;
    if (positional > places && packs && places > 0) {
        packed = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(positional - places + 1)));
        if (!packed.is_valid()) return nullptr;
        for (std::size_t i = places - 1; i < positional; ++i)
            PyTuple_SET_ITEM(packed.ptr(), i - places + 1, Py_NewRef(arguments[i]));
        positional = places;
    }
    if (positional > places)
        return PyErr_Format(PyExc_TypeError, "%s() takes %zu positional argument%s, %zu given",
                            name.c_str(), places, places == 1 ? "" : "s", positional);
    for (std::size_t i = 0; i < positional; ++i) sorted[i] = arguments[i];
    if (packed.is_valid()) sorted[places - 1] = packed.ptr();
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t k = 0; k < named; ++k) {
        PyObject* key = PyTuple_GET_ITEM(names, k);
        std::size_t at = 0;
        while (at < count && params[at].key != key) ++at;
        if (at == count) {
            at = 0;
            while (at < count && PyUnicode_Compare(params[at].key, key) != 0) ++at;
        }
        if (at == count)
            return PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
                                name.c_str(), key);
        if (sorted[at] != nullptr)
            return PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'",
                                name.c_str(), key);
        sorted[at] = arguments[given + static_cast<std::size_t>(k)];
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (sorted[i] != nullptr) continue;
        if (!params[i].fallback.is_valid())
            return PyErr_Format(PyExc_TypeError, "%s() missing argument '%s'", name.c_str(),
                                params[i].name.c_str());
        sorted[i] = params[i].fallback.ptr();
    }
    return guarded(
        [&] { return records ? under_name(name, [&] { return run(sorted); }) : run(sorted); });
}

PyObject* Function::run(PyObject** sorted) const {
    if (cast_to < 0 || sorted[cast_to] == Py_None) return invoke(*this, sorted);
    const DType dtype =
        to_dtype({name, params[static_cast<std::size_t>(cast_to)].name}, sorted[cast_to]);
    const nb::object first =
        nb::steal(wrap(to_tensor({name, params[0].name}, sorted[0], {.dtype = dtype})));
    sorted[0] = first.ptr();
    const nb::object result = nb::steal(invoke(*this, sorted));
    if (!result.is_valid() || tensor_of(result.ptr()).dtype() == dtype)
        return nb::object(result).release().ptr();
    return wrap(tensor_of(result.ptr()).cast(dtype));
}

void bind_functions(nb::module_& m) {
    function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (function_type == nullptr) throw nb::python_error();
    m.attr("Function") = nb::handle(reinterpret_cast<PyObject*>(function_type));
}

nb::object function_object(const Function& function, const std::string& name) {
    auto* object = PyObject_New(Object, function_type);
    if (object == nullptr) throw nb::python_error();
    object->vectorcall = vectorcall;
    object->function = &function;
    object->name = PyUnicode_InternFromString(name.c_str());
    object->signature = nullptr;
    Py_INCREF(object);  // never freed
    return nb::steal(reinterpret_cast<PyObject*>(object));
}

Function& define(nb::module_& m, Place place, std::string_view signature, const char* doc,
                 PyObject* (*invoke)(const Function&, PyObject* const*)) {
    const auto open = signature.find('(');
    auto& function = *new Function;
    function.name = signature.substr(0, open);
    function.doc = doc;
    function.params = parse_signature(signature.substr(open + 1, signature.size() - open - 2));
    function.invoke = invoke;
    const nb::object object = function_object(function, function.name);
    const nb::handle type(reinterpret_cast<PyObject*>(tensor_type));
    if (place != Place::method) m.attr(function.name.c_str()) = object;
    if (place != Place::module) nb::setattr(type, function.name.c_str(), object);
    return function;
}

}  // namespace lazuli::python
