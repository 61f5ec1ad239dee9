// Work beside the thread that records it, and bounds of memory.

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <vector>

#include "context.h"
#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

PyObject* async_eval_all(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
    return guarded([&]() -> PyObject* {
        std::vector<Tensor> tensors;
        for (Py_ssize_t i = 0; i < count; ++i) collect_tensors("async_eval", arguments[i], tensors);
        {
            const nb::gil_scoped_release released;
            async_eval(std::span<const Tensor>(tensors));
        }
        Py_RETURN_NONE;
    });
}

PyMethodDef async_eval_def = {
    "async_eval", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(async_eval_all)),
    METH_FASTCALL,
    "async_eval(*tensors)\n--\n\nStarts to compute tensors, and returns: their values are there "
    "when somebody has waited for them,\nas all that reads values does."};

/// `with lazuli.Stream() as s:` puts the work of `async_eval` there.
class StreamObject : public Context<StreamScope> {
   public:
    void commit() const { (void)stream_.commit(); }
    void synchronize() const {
        const nb::gil_scoped_release released;
        stream_.synchronize();
    }

   private:
    std::unique_ptr<StreamScope> begin() const override {
        return std::make_unique<StreamScope>(stream_);
    }
    Stream stream_ = Stream::make();
};

std::uint64_t to_count(const Asker& asker, PyObject* object) {
    const std::int64_t count = to_integer(asker, object);
    if (count < 0)
        throw ArgumentError(fmt::format("{}: {} is {}, below 0", asker.op, asker.param, count));
    return static_cast<std::uint64_t>(count);
}

}  // namespace

void bind_streams(nb::module_& m) {
    const nb::str module_name("lazuli");
    m.attr("async_eval") =
        nb::steal(PyCFunction_NewEx(&async_eval_def, nullptr, module_name.ptr()));
    define(m, Place::module, "synchronize()", "Returns when all work of all streams is over.",
           [](const Function&, PyObject* const*) -> PyObject* {
               {
                   const nb::gil_scoped_release released;
                   synchronize();
               }
               Py_RETURN_NONE;
           });
    define(m, Place::both, "is_ready(x)",
           "Whether its value is there. Starts to compute it where nobody has.",
           [](const Function& self, PyObject* const* o) -> PyObject* {
               const Tensor x = to_tensor({self.name, "x"}, o[0]);
               bool is_ready = false;
               {
                   const nb::gil_scoped_release released;
                   is_ready = ready(x).is_done();
               }
               return PyBool_FromLong(is_ready ? 1 : 0);
           });
    define(m, Place::both, "wait(x, timeout=None)",
           "Returns when its value is there, or throws why there is none. Timeout where that takes "
           "longer than so many seconds: the work goes on then, and can be waited for again.",
           [](const Function& self, PyObject* const* o) -> PyObject* {
               const Tensor x = to_tensor({self.name, "x"}, o[0]);
               const bool forever = o[1] == Py_None;
               const double seconds = forever ? 0 : to_real({self.name, "timeout"}, o[1]);
               if (!(seconds >= 0))
                   throw ArgumentError(fmt::format("wait: a timeout of {} s is below 0", seconds));
               {
                   const nb::gil_scoped_release released;
                   // Beyond a century there is no difference.
                   if (!forever)
                       ready(x).wait(std::chrono::nanoseconds(
                           static_cast<std::int64_t>(std::min(seconds, 3e9) * 1e9)));
                   x.eval();
               }
               Py_RETURN_NONE;
           });
    define(m, Place::module, "set_memory_limit(bytes)",
           "Bounds the bytes in use, from now on; 0 means what the machine has. Returns the bound "
           "before.",
           [](const Function& self, PyObject* const* o) {
               return PyLong_FromUnsignedLongLong(
                   set_memory_limit(to_count({self.name, "bytes"}, o[0])));
           });
    define(m, Place::module, "set_cache_limit(bytes)",
           "Bounds the bytes that are kept for work to come, and gives back what is beyond them. "
           "Returns the bound before.",
           [](const Function& self, PyObject* const* o) {
               return PyLong_FromUnsignedLongLong(
                   set_cache_limit(to_count({self.name, "bytes"}, o[0])));
           });
    define(m, Place::module, "reset_peak_memory()",
           "Begins the count of the peak anew, from what is in use now.",
           [](const Function&, PyObject* const*) -> PyObject* {
               reset_peak_memory();
               Py_RETURN_NONE;
           });
    define(m, Place::module,
           "set_stream_limits(*, max_ops_per_commit=None, max_bytes_per_commit=None, "
           "max_run_ahead_bytes=None, max_run_ahead_commands=None)",
           "When streams start to run what they were given, and how much may be pending. None "
           "leaves a limit as it is.",
           [](const Function& self, PyObject* const* o) -> PyObject* {
               StreamLimits limits = stream_limits();
               const auto set = [&](int i, const char* name, auto& field) {
                   if (o[i] != Py_None) field = to_count({self.name, name}, o[i]);
               };
               set(0, "max_ops_per_commit", limits.max_ops_per_commit);
               set(1, "max_bytes_per_commit", limits.max_bytes_per_commit);
               set(2, "max_run_ahead_bytes", limits.max_run_ahead_bytes);
               set(3, "max_run_ahead_commands", limits.max_run_ahead_commands);
               set_stream_limits(limits);
               Py_RETURN_NONE;
           });
    nb::class_<StreamObject> stream(
        m, "Stream",
        "Work that runs in the order it was given. `with lazuli.Stream() as s:` puts what "
        "`async_eval` starts there.");
    stream.def(nb::init<>())
        .def("commit", &StreamObject::commit, "Lets all work that it was given run.")
        .def("synchronize", &StreamObject::synchronize,
             "Returns when all work that it was given is over.");
    add_context(stream);
}

}  // namespace lazuli::python
