// Functions that are recorded as one operation for the sake of their gradients.

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "call_arguments.h"
#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;
using Tensors = std::vector<Tensor>;

/// A function that is computed again on the way back, or whose gradient another function says.
class Region {
   public:
    Region(nb::object function, nb::object backward)
        : function_(std::move(function)), backward_(std::move(backward)) {}

    nb::object call(const nb::args& args, const nb::kwargs& named) const {
        CallArguments arguments(op(), args);
        for (std::size_t i = 0; i < arguments.size(); ++i)
            arguments.take_apart(i, Tree::Others::kept);
        Tree results;
        const TensorFunction function = [&](const Tensors& tensors) {
            return take_results_apart(op(), arguments.call(function_, tensors, named), results);
        };
        if (!backward_.is_valid()) {
            const Tensors made = checkpoint(function, arguments.tensors());
            return results.build(made);
        }
        const BackwardFunction backward = [&](const Tensors& given, const Tensors& made,
                                              const Tensors& cotangents) {
            return flows_back(arguments, results, given, made, cotangents);
        };
        const Tensors made = custom_gradient(function, backward, arguments.tensors());
        return results.build(made);
    }

    std::string repr() const { return fmt::format("<lazuli.{} of {}>", op(), name_of(function_)); }

   private:
    const char* op() const { return backward_.is_valid() ? "custom_gradient" : "checkpoint"; }

    /// What the backward function says. It is handed everything in the forms that arguments and
    /// results have.
    Tensors flows_back(const CallArguments& arguments, const Tree& results, const Tensors& given,
                       const Tensors& made, const Tensors& cotangents) const {
        Tensors all;  // one a result; none where that is no float
        auto next = cotangents.begin();
        for (const Tensor& result : made) {
            const bool has = is_floating(result.dtype()) || is_complex(result.dtype());
            all.push_back(has ? *next++ : Tensor());
        }
        const nb::object returned =
            backward_(arguments.built(given), results.build(made), results.build(all));
        if (!nb::isinstance<nb::tuple>(returned) || nb::len(returned) != arguments.size()) {
            throw nb::type_error(fmt::format("custom_gradient: the backward function returns a "
                                             "tuple with one entry an argument, of which there "
                                             "are {}",
                                             arguments.size())
                                     .c_str());
        }
        Alike out("custom_gradient");
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            out.collect(arguments.tree(i), nb::object(returned[i]),
                        fmt::format("the cotangent of argument {}", i), given);
        }
        return out.checked(given);
    }

    nb::object function_;
    nb::object backward_;  // null: it is computed again
};

PyObject* make_region(const Function& self, Objects o, bool has_backward) {
    const nb::object function = to_function({self.name, "fn"}, o[0]);
    auto* region = new Region(
        function, has_backward ? to_function({self.name, "backward"}, o[1]) : nb::object());
    return standing_for(function, nb::cast(region, nb::rv_policy::take_ownership)).release().ptr();
}

}  // namespace

void bind_regions(nb::module_& m) {
    nb::class_<Region>(m, "Region",
                       "A function that is recorded as one operation for the sake of its gradient; "
                       "lazuli.checkpoint and lazuli.custom_gradient make it. `__wrapped__` is the "
                       "function itself.",
                       nb::dynamic_attr())
        .def("__call__", &Region::call, nb::arg("args"), nb::arg("kwargs"))
        .def("__get__", as_method, nb::arg("object").none(), nb::arg("type") = nb::none())
        .def("__repr__", &Region::repr);
    define(m, Place::module, "checkpoint(fn)",
           "The same function, whose values in between are not kept for its gradient, but computed "
           "again when that is: less memory for more work. It is recorded with tensors that have "
           "no value.",
           [](const Function& self, Objects o) { return make_region(self, o, false); });
    define(m, Place::module, "custom_gradient(fn, backward)",
           "The same function, whose gradient is what backward(arguments, results, cotangents) "
           "says: a tuple with one entry an argument, of its form, and None where nothing flows "
           "back. `arguments` is a tuple; the others have the form of what `fn` returns. Both are "
           "recorded with tensors that have no value.\n\n"
           "    # rounds, and lets gradients through as if it did not\n"
           "    f = lazuli.custom_gradient(lazuli.round, lambda x, y, flow: (flow,))",
           [](const Function& self, Objects o) { return make_region(self, o, true); });
}

}  // namespace lazuli::python
