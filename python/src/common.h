#pragma once

// What the files of the Python module share: the tensor's type object, errors, and the lock of the
// interpreter.

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "lazuli/lazuli.h"

namespace nb = nanobind;

namespace lazuli::python {

/// The type of tensors. It cannot be derived from, so comparing types is enough.
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
inline const Tensor& tensor_of(PyObject* object) { return *nb::inst_ptr<Tensor>(object); }

/// The type of sizes that are expressions, which cannot be derived from either.
extern PyTypeObject* dim_type;

inline bool is_dim(PyObject* object) { return Py_TYPE(object) == dim_type; }
inline Dim dim_of(PyObject* object) { return *nb::inst_ptr<Dim>(object); }

/// A new Python object with the tensor.
inline PyObject* wrap(Tensor&& tensor) {
    nb::object out = nb::inst_alloc(reinterpret_cast<PyObject*>(tensor_type));
    new (nb::inst_ptr<void>(out)) Tensor(std::move(tensor));
    nb::inst_mark_ready(out);
    return out.release().ptr();
}

/// Makes the exception being handled Python's. Call it in a `catch (...)`.
void set_python_error() noexcept;

/// The result of `body`, or null with Python's error set: the border of every function that Python
/// calls without nanobind between.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        set_python_error();
        if constexpr (std::is_pointer_v<decltype(body())>) {
            return nullptr;
        } else {
            return -1;
        }
    }
}

/// Whether operations of this thread are evaluated as they are recorded.
extern thread_local int eager_depth;

/// Makes the values available. Others may run Python code meanwhile.
void evaluate(const Tensor& tensor);

/// Runs `release(data)` when a thread has the interpreter's lock and nothing of ours. Memory that
/// Python lent may be given back by any thread, while it holds locks that one with the interpreter
/// waits for.
void release_later(void (*release)(void*), void* data) noexcept;
/// Runs what waits for that. Needs the interpreter's lock.
void release_now();

// The parts of the module, each in the file of its name.
void bind_errors(nb::module_& m);
void bind_dims(nb::module_& m);
void bind_dtypes(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_forms(nb::module_& m);
void bind_linalg(nb::module_& m);
void bind_data_forms(nb::module_& m);
void bind_control(nb::module_& m);
void bind_records(nb::module_& m);
void bind_factories(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_compiled(nb::module_& m);
void bind_streams(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_regions(nb::module_& m);
void bind_vmap(nb::module_& m);
void bind_inspect(nb::module_& m);
void bind_files(nb::module_& m);

}  // namespace lazuli::python
