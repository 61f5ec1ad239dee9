// Evaluation, and what the engine says of itself.

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

void collect_tensors(std::string_view asker, PyObject* object, std::vector<Tensor>& out) {
    if (is_tensor(object)) {
        out.push_back(tensor_of(object));
    } else if (PyList_Check(object) || PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
            collect_tensors(asker, PySequence_Fast_GET_ITEM(object, i), out);
    } else {
        throw nb::type_error(fmt::format("{}: takes tensors, and lists of them, not a {}", asker,
                                         Py_TYPE(object)->tp_name)
                                 .c_str());
    }
}

namespace {

PyObject* eval_all(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
    return guarded([&]() -> PyObject* {
        if (count == 1 && is_tensor(arguments[0])) {
            evaluate(tensor_of(arguments[0]));
            Py_RETURN_NONE;
        }
        std::vector<Tensor> tensors;
        for (Py_ssize_t i = 0; i < count; ++i) collect_tensors("eval", arguments[i], tensors);
        {
            const nb::gil_scoped_release released;
            eval(std::span<const Tensor>(tensors));
        }
        Py_RETURN_NONE;
    });
}

PyMethodDef eval_def = {
    "eval", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(eval_all)), METH_FASTCALL,
    "eval(*tensors)\n--\n\nEvaluates tensors together: what they share is computed once. Others "
    "may "
    "run Python code\nmeanwhile."};

/// `with lazuli.eager():`
class Eager {
   public:
    Eager() = default;
    Eager(const Eager&) = delete;
    Eager& operator=(const Eager&) = delete;
    void enter() {
        scopes_.push_back(std::make_unique<eager::Scope>());
        ++eager_depth;
    }
    void exit() {
        if (scopes_.empty()) throw ArgumentError("eager: left without being entered");
        --eager_depth;
        scopes_.pop_back();
    }

   private:
    std::vector<std::unique_ptr<eager::Scope>> scopes_;
};

nb::dict dict_of(const CacheStats& stats) {
    nb::dict out;
    out["plans"] = stats.plans;
    out["bytes"] = stats.bytes;
    out["limit"] = stats.limit;
    out["hits"] = stats.hits;
    out["misses"] = stats.misses;
    nb::dict missed;
    for (std::size_t i = 0; i < kMissNames.size(); ++i)
        missed[nb::str(kMissNames[i].data(), kMissNames[i].size())] = stats.missed[i];
    out["missed"] = missed;
    out["evicted"] = stats.evicted;
    out["fallbacks"] = stats.fallbacks;
    out["general_plans"] = stats.general_plans;
    out["general_hits"] = stats.general_hits;
    out["specialised"] = stats.specialised;
    out["open_plans"] = stats.open_plans;
    out["bindings"] = stats.bindings;
    out["own_plans"] = stats.own_plans;
    return out;
}

void bind_explanations(nb::module_& m) {
    nb::class_<KernelExplanation>(m, "Kernel", "What one kernel of an evaluation does.")
        .def_ro("name", &KernelExplanation::name)
        .def_ro("operations", &KernelExplanation::operations)
        .def_ro("bytes_read", &KernelExplanation::bytes_read)
        .def_ro("bytes_written", &KernelExplanation::bytes_written)
        .def_ro("ends", &KernelExplanation::ends, "Why it ends where it does; empty at a result.")
        .def_ro("how", &KernelExplanation::how, "How it runs; empty where it was not planned yet.")
        .def("__repr__", [](const KernelExplanation& k) {
            return fmt::format("<kernel {}: {}>", k.name, k.operations);
        });
    nb::class_<Explanation>(m, "Explanation", "What an evaluation does; prints as a table.")
        .def_ro("cache", &Explanation::cache, "'hit, ...' or 'miss, ...', with the reason.")
        .def_ro("operations", &Explanation::operations, "How many, after composites were built.")
        .def_ro("kernels", &Explanation::kernels, "The kernels, in order.")
        .def_ro("bytes_read", &Explanation::bytes_read, "By all kernels.")
        .def_ro("bytes_written", &Explanation::bytes_written, "By all kernels.")
        .def_ro("arena_bytes", &Explanation::arena_bytes,
                "Of memory to compute in, beside operands and results.")
        .def_ro("alive_bytes", &Explanation::alive_bytes, "Of it, alive at once.")
        .def_ro("unplanned_bytes", &Explanation::unplanned_bytes,
                "Of a buffer for every operation that is no movement.")
        .def("__str__", &Explanation::str)
        .def("__repr__", &Explanation::str);
}

PyObject* no_arguments(nb::object (*make)()) { return make().release().ptr(); }

}  // namespace

void bind_engine(nb::module_& m) {
    bind_explanations(m);
    const nb::str module_name("lazuli");
    m.attr("eval") = nb::steal(PyCFunction_NewEx(&eval_def, nullptr, module_name.ptr()));

    define(m, Place::both, "explain(x)",
           "What evaluating it would do: the kernels, the bytes they read and write, and whether "
           "the plan is there already. Computes nothing.",
           [](const Function& self, PyObject* const* o) {
               const Tensor x = to_tensor({self.name, "x"}, o[0]);
               Explanation made;
               {
                   const nb::gil_scoped_release released;
                   made = x.explanation();
               }
               return nb::cast(std::move(made)).release().ptr();
           });
    define(m, Place::module, "cache_stats()", "Figures about plans.",
           [](const Function&, PyObject* const*) {
               return no_arguments([]() -> nb::object { return dict_of(cache_stats()); });
           });
    define(
        m, Place::module, "memory_stats()",
        "Figures about the host memory that tensors' values take: bytes in use, their peak, bytes "
        "that are kept for work to come, and the limits of both.",
        [](const Function&, PyObject* const*) {
            return no_arguments([]() -> nb::object {
                const MemoryStats stats = memory_stats();
                nb::dict out;
                out["bytes"] = stats.bytes;
                out["peak"] = stats.peak;
                out["spare"] = stats.spare;
                out["limit"] = stats.limit;
                out["cache_limit"] = stats.cache_limit;
                return out;
            });
        });
    define(m, Place::module, "graph_stats()", "Figures about recorded graphs.",
           [](const Function&, PyObject* const*) {
               return no_arguments([]() -> nb::object {
                   const GraphStats stats = graph_stats();
                   nb::dict out;
                   out["live_nodes"] = stats.live_nodes;
                   out["peak_nodes"] = stats.peak_nodes;
                   out["recorded"] = stats.recorded;
                   out["buffer_bytes"] = stats.buffer_bytes;
                   out["flushes"] = stats.flushes;
                   return out;
               });
           });
    define(m, Place::module, "clear_caches()",
           "Drops cached plans, and gives memory without content back to the system.",
           [](const Function&, PyObject* const*) -> PyObject* {
               clear_caches();
               Py_RETURN_NONE;
           });
    define(
        m, Place::module, "set_generalising(on)",
        "Whether a graph that returns with a third value of some size gets a plan for all values "
        "of it. It is on by itself.",
        [](const Function& self, PyObject* const* o) -> PyObject* {
            set_generalising(to_bool({self.name, "on"}, o[0]));
            Py_RETURN_NONE;
        });
    define(m, Place::module, "set_specialising(on)",
           "Whether a plan for many sizes that is often used at some of them gets kernels made for "
           "these, behind the calls. It is on by itself.",
           [](const Function& self, PyObject* const* o) -> PyObject* {
               set_specialising(to_bool({self.name, "on"}, o[0]));
               Py_RETURN_NONE;
           });
    define(m, Place::module, "devices()", "The names of all devices.",
           [](const Function&, PyObject* const*) {
               return no_arguments([]() -> nb::object {
                   nb::list out;
                   for (const Device device : devices()) out.append(nb::cast(device.name()));
                   return out;
               });
           });
    define(m, Place::module, "default_device()", "The name of the device new tensors live on.",
           [](const Function&, PyObject* const*) {
               return no_arguments([] { return nb::cast(default_device().name()); });
           });
    define(m, Place::module, "set_default_device(device)",
           "Sets the device new tensors live on, for the whole process.",
           [](const Function&, PyObject* const* o) -> PyObject* {
               set_default_device(to_device(o[0]));
               Py_RETURN_NONE;
           });
    nb::class_<Eager>(m, "eager",
                      "`with lazuli.eager():` evaluates every operation as it is recorded.")
        .def(nb::init<>())
        .def("__enter__",
             [](nb::object self) {
                 nb::cast<Eager&>(self).enter();
                 return self;
             })
        .def("__exit__", [](Eager& self, const nb::args&) { self.exit(); });
}

}  // namespace lazuli::python
