// Lazuli's errors as Python's: each is of the class that numpy's users expect as well, and has the
// fields it has in C++.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <new>
#include <string>

#include "common.h"

namespace lazuli::python {

namespace {

using Fields = std::initializer_list<std::pair<const char*, nb::object>>;

std::map<std::string, PyObject*, std::less<>>& classes() {
    static auto& all = *new std::map<std::string, PyObject*, std::less<>>;
    return all;
}

void set(std::string_view name, const char* what, Fields fields = {}) {
    PyObject* type = classes().find(name)->second;
    const nb::object error = nb::handle(type)(what);
    for (const auto& [key, value] : fields) error.attr(key) = value;
    PyErr_SetObject(type, error.ptr());
}

void translate() {
    try {
        throw;
    } catch (nb::python_error& e) {
        e.restore();
    } catch (const ShapeError& e) {
        set("ShapeError", e.what(),
            {{"expected", nb::cast(e.expected)}, {"actual", nb::cast(e.actual)}});
    } catch (const DTypeError& e) {
        set("DTypeError", e.what());
    } catch (const IndexError& e) {
        set("IndexError", e.what());
    } catch (const ArgumentError& e) {
        set("ArgumentError", e.what());
    } catch (const DeviceLost& e) {
        set("DeviceLost", e.what());
    } catch (const DeviceError& e) {
        set("DeviceError", e.what());
    } catch (const OutOfMemory& e) {
        set("OutOfMemory", e.what(),
            {{"demand", nb::cast(e.demand)},
             {"limit", nb::cast(e.limit)},
             {"largest", nb::cast(e.largest)}});
    } catch (const Timeout& e) {
        set("Timeout", e.what());
    } catch (const ExecutionError& e) {
        set("ExecutionError", e.what(), {{"op", nb::cast(e.op)}, {"reason", nb::cast(e.reason)}});
    } catch (const CycleError& e) {
        set("CycleError", e.what());
    } catch (const ParseError& e) {
        set("ParseError", e.what(), {{"line", nb::cast(e.line)}, {"column", nb::cast(e.column)}});
    } catch (const FileError& e) {
        set("FileError", e.what(), {{"path", nb::cast(e.path)}});
    } catch (const Error& e) {
        set("Error", e.what());
    } catch (const InternalError& e) {
        set("InternalError", e.what());
    } catch (const nb::builtin_exception& e) {
        PyErr_SetString(e.type() == nb::exception_type::type_error    ? PyExc_TypeError
                        : e.type() == nb::exception_type::index_error ? PyExc_IndexError
                                                                      : PyExc_ValueError,
                        e.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
}

}  // namespace

void set_python_error() noexcept {
    try {
        translate();
    } catch (nb::python_error& e) {  // making the error failed
        e.restore();
    } catch (...) {
        PyErr_SetString(PyExc_SystemError, "lazuli: an error could not be told");
    }
}

void bind_errors(nb::module_& m) {
    const auto define = [&](const char* name, std::initializer_list<PyObject*> bases,
                            const char* doc) {
        nb::list list;
        for (PyObject* base : bases) list.append(nb::borrow(base));
        nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
            (std::string("lazuli.") + name).c_str(), doc, nb::tuple(list).ptr(), nullptr));
        if (!type.is_valid()) throw nb::python_error();
        m.attr(name) = type;
        return classes()[name] = type.release().ptr();
    };
    PyObject* error =
        define("Error", {PyExc_Exception},
               "The root of every error that is the caller's mistake or the world's.");
    define("ShapeError", {error, PyExc_ValueError},
           "Shapes that do not fit together; `expected` and `actual` are the two, as text.");
    define("DTypeError", {error, PyExc_TypeError},
           "An element type that the operation does not take.");
    define("IndexError", {error, PyExc_IndexError}, "An index or axis outside its range.");
    define("ArgumentError", {error, PyExc_ValueError}, "An argument that is wrong in another way.");
    PyObject* device = define("DeviceError", {error, PyExc_RuntimeError},
                              "A device that is not there, or operands on different devices.");
    define("DeviceLost", {device}, "A device whose context died; its tensors are gone.");
    define("OutOfMemory", {error, PyExc_MemoryError},
           "Memory that could not be had: `demand` bytes of `limit`; `largest` are the biggest "
           "buffers. The work is lazy again and can be retried.");
    define("Timeout", {error, PyExc_TimeoutError}, "A wait that ended before the work did.");
    define("ExecutionError", {error, PyExc_RuntimeError},
           "A failure while an operation ran: `op`, and `reason`.");
    define("CycleError", {error, PyExc_RuntimeError}, "A definition that depends on itself.");
    define("ParseError", {error, PyExc_ValueError},
           "Text that does not follow the grammar, at `line` and `column`.");
    define("FileError", {error, PyExc_OSError},
           "A file, `path`, that is missing, unreadable, truncated or of the wrong format.");
    define("InternalError", {PyExc_RuntimeError}, "A broken promise inside Lazuli.");
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const Error&) {
            set_python_error();
        } catch (const InternalError&) {
            set_python_error();
        }
    });
}

}  // namespace lazuli::python
