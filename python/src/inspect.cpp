// Looking into evaluations from Python.

#include <memory>

#include "context.h"

namespace lazuli::python {

namespace {

/// `file.py:12 in f`: the innermost frame that is not of this package. Empty where none runs.
std::string python_source() {
    if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) return {};
    std::string out;
    PyFrameObject* frame = PyEval_GetFrame();  // borrowed
    Py_XINCREF(frame);
    while (frame != nullptr && out.empty()) {
        PyCodeObject* code = PyFrame_GetCode(frame);
        const char* file = PyUnicode_AsUTF8(code->co_filename);
        const char* name = PyUnicode_AsUTF8(code->co_name);
        if (file == nullptr || name == nullptr) PyErr_Clear();
        const std::string path = file != nullptr ? file : "?";
        if (path.find("/lazuli/__init__.py") == std::string::npos)
            out = path + ":" + std::to_string(PyFrame_GetLineNumber(frame)) + " in " +
                  (name != nullptr ? name : "?");
        Py_DECREF(code);
        PyFrameObject* caller = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = caller;
    }
    Py_XDECREF(frame);
    return out;
}

class NanCheckContext : public Context<NanCheck> {
    std::unique_ptr<NanCheck> begin() const override { return std::make_unique<NanCheck>(); }
};

/// A Python function that any thread may call, and drop.
std::shared_ptr<nb::object> shared_function(nb::object function) {
    return {new nb::object(std::move(function)), [](nb::object* held) {
                const nb::gil_scoped_acquire lock;
                delete held;
            }};
}

class DebugTensorsContext : public Context<DebugTensors> {
   public:
    explicit DebugTensorsContext(nb::object see)
        : see_(see.is_none() ? nullptr : shared_function(std::move(see))) {}

   private:
    std::unique_ptr<DebugTensors> begin() const override {
        if (see_ == nullptr) return std::make_unique<DebugTensors>();
        return std::make_unique<DebugTensors>([see = see_](const TensorSummary& summary) {
            const nb::gil_scoped_acquire lock;
            (*see)(nb::cast(summary, nb::rv_policy::copy));
        });
    }
    std::shared_ptr<nb::object> see_;
};

nb::object to_number(const Scalar& value) {
    switch (value.kind()) {
        case Kind::boolean: return nb::bool_(value.to_int() != 0);
        case Kind::integer: return nb::steal(PyLong_FromString(value.str().c_str(), nullptr, 10));
        case Kind::floating: return nb::float_(value.to_double());
        case Kind::complex: {
            const std::complex<double> v = value.to_complex();
            return nb::steal(PyComplex_FromDoubles(v.real(), v.imag()));
        }
    }
    __builtin_unreachable();
}

}  // namespace

void bind_inspect(nb::module_& m) {
    set_source_hook(python_source);
    nb::class_<TensorSummary>(m, "TensorSummary", "What the result of an operation is like.")
        .def_prop_ro("op", [](const TensorSummary& s) { return nb::str(s.op.c_str()); })
        .def_prop_ro("name", [](const TensorSummary& s) { return nb::str(s.name.c_str()); })
        .def_prop_ro("spec", [](const TensorSummary& s) { return nb::str(s.spec.str().c_str()); })
        .def_prop_ro("shape",
                     [](const TensorSummary& s) {
                         nb::list sizes;
                         for (const std::int64_t size : s.spec.shape) sizes.append(size);
                         return nb::tuple(sizes);
                     })
        .def_ro("min", &TensorSummary::min)
        .def_ro("max", &TensorSummary::max)
        .def_ro("mean", &TensorSummary::mean)
        .def_ro("nans", &TensorSummary::nans)
        .def_ro("infs", &TensorSummary::infs)
        .def_prop_ro("first",
                     [](const TensorSummary& s) {
                         nb::list values;
                         for (const Scalar& value : s.first) values.append(to_number(value));
                         return values;
                     })
        .def_prop_ro("source", [](const TensorSummary& s) { return nb::str(s.source.c_str()); })
        .def("__repr__", [](const TensorSummary& s) { return nb::str(s.str().c_str()); });

    nb::class_<NanCheckContext> nan_check(
        m, "nan_check",
        "`with lazuli.nan_check():` evaluations stop at the first operation that makes a NaN of "
        "operands without one: an error that names it and the line that recorded it.");
    nan_check.def(nb::init<>());
    add_context(nan_check);

    nb::class_<DebugTensorsContext> debug_tensors(
        m, "debug_tensors",
        "`with lazuli.debug_tensors():` prints what every operation computes: shape, least, "
        "greatest, mean, NaNs, infinities, first values, the line that recorded it; also values "
        "that fused kernels never write down. `debug_tensors(see)` hands each to a function "
        "instead.");
    debug_tensors.def(nb::init<nb::object>(), nb::arg("see") = nb::none());
    add_context(debug_tensors);
}

}  // namespace lazuli::python
