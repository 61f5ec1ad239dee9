// Derivatives of Python functions, and gradients that tensors keep.

#include "gradient.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "call_arguments.h"
#include "context.h"
#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;
using Tensors = std::vector<Tensor>;

/// Which arguments gradients are taken of.
class Chosen {
   public:
    Chosen(const Asker& asker, PyObject* object) : single_(PyIndex_Check(object) != 0) {
        if (single_) {
            numbers_.push_back(to_integer(asker, object));
            return;
        }
        if (!PyTuple_Check(object) && !PyList_Check(object))
            refuse(asker, "an integer or a tuple of them", object);
        for (nb::handle item : nb::handle(object))
            numbers_.push_back(to_integer(asker, item.ptr()));
        if (numbers_.empty()) throw ArgumentError(fmt::format("{}: argnums is empty", asker.op));
    }

    /// Their places among so many arguments; negative numbers count from the end.
    std::vector<std::size_t> places(std::string_view op, std::size_t count) const {
        std::vector<std::size_t> out;
        for (const std::int64_t number : numbers_) {
            const std::int64_t at = number < 0 ? number + static_cast<std::int64_t>(count) : number;
            if (at < 0 || at >= static_cast<std::int64_t>(count)) {
                throw ArgumentError(fmt::format("{}: there is no argument {}: {} given by position",
                                                op, number, count));
            }
            out.push_back(static_cast<std::size_t>(at));
        }
        return out;
    }
    /// One object where one argument was asked for, else a tuple.
    nb::object joined(const nb::list& objects) const {
        return single_ ? nb::object(objects[0]) : nb::object(nb::tuple(objects));
    }

   private:
    bool single_;
    std::vector<std::int64_t> numbers_;
};

/// A function that returns gradients of another one.
class Gradient {
   public:
    Gradient(std::string_view op, nb::object function, Chosen chosen, bool has_value, bool has_aux)
        : op_(op),
          function_(std::move(function)),
          chosen_(std::move(chosen)),
          has_value_(has_value),
          has_aux_(has_aux) {}

    nb::object call(const nb::args& args, const nb::kwargs& named) const {
        CallArguments arguments(op_, args);
        const std::vector<std::size_t> places = chosen_.places(op_, arguments.size());
        for (const std::size_t i : places) arguments.take_apart(i);
        arguments.expect_floats();
        Tree aux;
        const ValueAndGrad made = value_and_grad_of(
            [&](const Tensors& tensors) {
                return results_of(arguments.call(function_, tensors, named), aux);
            },
            arguments.tensors());
        nb::list gradients;
        for (const std::size_t i : places)
            gradients.append(arguments.tree(i).build(made.gradients));
        const nb::object all = chosen_.joined(gradients);
        if (!has_value_ && !has_aux_) return all;
        nb::object beside = nb::steal(wrap(Tensor(made.value)));
        if (has_aux_) {
            const nb::object more = aux.build(made.aux);
            if (!has_value_) return nb::make_tuple(all, more);
            beside = nb::make_tuple(beside, more);
        }
        return nb::make_tuple(beside, all);
    }

    std::string repr() const { return fmt::format("<lazuli.{} of {}>", op_, name_of(function_)); }

   private:
    /// The number that the function returned, and the tensors of what it returned beside it.
    Tensors results_of(nb::object returned, Tree& aux) const {
        nb::object value = returned;
        Tensors beside;
        if (has_aux_) {
            if (!nb::isinstance<nb::tuple>(returned) || nb::len(returned) != 2) {
                throw nb::type_error(
                    fmt::format("{}: with has_aux the function returns a tuple of its value and "
                                "something else, not {}",
                                op_, described(returned))
                        .c_str());
            }
            value = returned[0];
            aux = Tree::of(nb::object(returned[1]), beside, Tree::Others::kept, "aux");
        }
        if (!is_tensor(value.ptr())) {
            throw nb::type_error(
                fmt::format("{}: the function returned {}, and a tensor is needed: one that "
                            "remembers how it was computed{}",
                            op_, described(value),
                            nb::isinstance<nb::tuple>(value) && !has_aux_
                                ? "; has_aux=True says that there is something beside it"
                                : "")
                    .c_str());
        }
        Tensors out{tensor_of(value.ptr())};
        out.insert(out.end(), beside.begin(), beside.end());
        return out;
    }

    static std::string described(const nb::object& object) {
        if (object.is_none()) return "None";
        if (nb::isinstance<nb::tuple>(object)) return fmt::format("a tuple of {}", nb::len(object));
        return fmt::format("a {}",
                           is_tensor(object.ptr()) ? "Tensor" : Py_TYPE(object.ptr())->tp_name);
    }

    std::string_view op_;
    nb::object function_;
    Chosen chosen_;
    bool has_value_;
    bool has_aux_;
};

PyObject* make_gradient(const Function& self, Objects o, std::string_view op, bool has_value) {
    const nb::object function = to_function({self.name, "fn"}, o[0]);
    auto* gradient = new Gradient(op, function, Chosen({self.name, "argnums"}, o[1]), has_value,
                                  to_bool({self.name, "has_aux"}, o[2]));
    return standing_for(function, nb::cast(gradient, nb::rv_policy::take_ownership))
        .release()
        .ptr();
}

/// How cotangents of a function's results flow back to its arguments.
class Pull {
   public:
    Pull(Vjp vjp, Tree results, std::vector<Tree> arguments)
        : vjp_(std::move(vjp)), results_(std::move(results)), arguments_(std::move(arguments)) {}

    nb::object call(nb::handle cotangents) const {
        Alike given("vjp");
        given.collect(results_, cotangents, "the cotangent", vjp_.results);
        const Tensors made = vjp_.pull(given.checked(vjp_.results));
        nb::list out;
        for (const Tree& tree : arguments_) out.append(tree.build(made));
        return nb::tuple(out);
    }

   private:
    Vjp vjp_;
    Tree results_;
    std::vector<Tree> arguments_;
};

nb::object call_vjp(const nb::object& function, const nb::args& primals) {
    if (PyCallable_Check(function.ptr()) == 0) refuse({"vjp", "fn"}, "a function", function.ptr());
    CallArguments arguments("vjp", primals);
    std::vector<Tree> trees;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        arguments.take_apart(i);
        trees.push_back(arguments.tree(i));
    }
    arguments.expect_floats();
    Tree results;
    Vjp made = vjp(
        [&](const Tensors& tensors) {
            return take_results_apart("vjp", arguments.call(function, tensors), results);
        },
        arguments.tensors());
    const nb::object returned = results.build(made.results);
    auto* pull = new Pull(std::move(made), std::move(results), std::move(trees));
    return nb::make_tuple(returned, nb::cast(pull, nb::rv_policy::take_ownership));
}

PyObject* call_jvp(const Function& self, Objects o) {
    const nb::object function = to_function({self.name, "fn"}, o[0]);
    for (std::size_t i = 1; i <= 2; ++i) {
        if (!PyTuple_Check(o[i]) && !PyList_Check(o[i]))
            refuse({self.name, self.params[i].name}, "a tuple with one entry an argument", o[i]);
    }
    CallArguments arguments("jvp", o[1]);
    const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(o[2]));
    if (count != arguments.size()) {
        throw ArgumentError(
            fmt::format("jvp: {} tangents for {} arguments", count, arguments.size()));
    }
    for (std::size_t i = 0; i < count; ++i) arguments.take_apart(i);
    Alike tangents("jvp");
    for (std::size_t i = 0; i < count; ++i) {
        tangents.collect(arguments.tree(i),
                         PySequence_Fast_GET_ITEM(o[2], static_cast<Py_ssize_t>(i)),
                         fmt::format("tangent {}", i), arguments.tensors());
    }
    Tree results;
    const Jvp made = jvp(
        [&](const Tensors& tensors) {
            return take_results_apart("jvp", arguments.call(function, tensors), results);
        },
        arguments.tensors(), tangents.checked(arguments.tensors()));
    return nb::make_tuple(results.build(made.results), results.build(made.tangents))
        .release()
        .ptr();
}

class NoGradContext : public Context<NoGradScope> {
    std::unique_ptr<NoGradScope> begin() const override { return std::make_unique<NoGradScope>(); }
};

/// The tensor of a Python object, to be changed in place: other objects with it do not see that.
Tensor& tensor_in(PyObject* object) { return *nb::inst_ptr<Tensor>(object); }

void bind_methods(nb::module_& m) {
    define(m, Place::method, "requires_grad_(x, requires_grad=True)",
           "Says that gradients of it are wanted, or not any more, and returns it.",
           [](const Function& self, Objects o) {
               tensor_in(o[0]).set_requires_grad(to_bool({self.name, "requires_grad"}, o[1]));
               return Py_NewRef(o[0]);
           })
        .records = true;
    define(m, Place::method, "backward(x, cotangent=None)",
           "Adds to `grad` of every tensor that it is computed from and that wants one how much "
           "this one changes with it. It is one number, or `cotangent` weighs its elements.",
           [](const Function& self, Objects o) -> PyObject* {
               const Tensor x = tensor_of(o[0]);
               Tensor cotangent;
               if (o[1] != Py_None) {
                   const auto dtype = find_number(o[1]) ? std::optional(x.dtype()) : std::nullopt;
                   cotangent = to_tensor({self.name, "cotangent"}, o[1], {.dtype = dtype});
               }
               x.backward(cotangent);
               Py_RETURN_NONE;
           })
        .records = true;
    define(m, Place::method, "zero_grad(x)", "Forgets what `backward` added up.",
           [](const Function&, Objects o) -> PyObject* {
               tensor_of(o[0]).zero_grad();
               Py_RETURN_NONE;
           });
    define(m, Place::method, "detach(x)",
           "The same values as a tensor of its own, which gradients take for a number from "
           "outside.",
           [](const Function&, Objects o) {
               const Tensor& x = tensor_of(o[0]);
               // What is not there yet may be a body's, whose gradient is taken later.
               const bool plain = x.is_materialized() && !x.requires_grad();
               return wrap(plain ? Tensor(x) : stop_gradient(x));
           });
}

}  // namespace

void bind_gradient_properties(nb::class_<Tensor>& type) {
    type.def_prop_rw(
            "requires_grad", [](const Tensor& x) { return x.requires_grad(); },
            [](nb::object self, nb::object wanted) {
                tensor_in(self.ptr())
                    .set_requires_grad(to_bool({"requires_grad", "value"}, wanted.ptr()));
            },
            nb::for_setter(nb::arg("value")),
            "Whether gradients of it, or of what it is computed from, are wanted. Setting it makes "
            "it a value of its own, which does not know where it came from.")
        .def_prop_rw(
            "grad",
            [](const Tensor& x) -> nb::object {
                Tensor gradient = x.grad();
                return gradient.defined() ? nb::steal(wrap(std::move(gradient))) : nb::none();
            },
            [](const Tensor& x, nb::object value) {
                if (!value.is_none()) refuse({"grad", "value"}, "None", value.ptr());
                x.zero_grad();
            },
            nb::for_setter(nb::arg("value").none()),
            "What `backward` added up; None where there is nothing. Setting it to None forgets "
            "it.");
}

void bind_gradients(nb::module_& m) {
    bind_methods(m);
    nb::class_<Gradient>(m, "Gradient",
                         "A function that returns gradients of another one; lazuli.grad and "
                         "lazuli.value_and_grad make it. `__wrapped__` is the other one.",
                         nb::dynamic_attr())
        .def("__call__", &Gradient::call, nb::arg("args"), nb::arg("kwargs"))
        .def("__get__", as_method, nb::arg("object").none(), nb::arg("type") = nb::none())
        .def("__repr__", &Gradient::repr);
    nb::class_<Pull>(m, "Pull",
                     "From cotangents of a function's results, in their form, to a tuple with one "
                     "for each argument; lazuli.vjp makes it. It may be called several times, and "
                     "None stands for no cotangent.")
        .def("__call__", &Pull::call, nb::arg("cotangents").none());
    define(m, Place::module, "grad(fn, argnums=0, has_aux=False)",
           "A function of the same arguments that returns the gradient of what `fn` returns, a "
           "real number of rank 0, with respect to the arguments that `argnums` says by their "
           "positions: one of the form of the argument, or a tuple where `argnums` is one. An "
           "argument is a tensor, or lists, tuples and dicts of tensors. With `has_aux`, `fn` "
           "returns a pair of its value and anything else, and the gradient comes in a pair with "
           "that.\n\n"
           "    lazuli.grad(lambda x: (x * x).sum())(x)  # 2 * x",
           [](const Function& self, Objects o) { return make_gradient(self, o, "grad", false); });
    define(m, Place::module, "value_and_grad(fn, argnums=0, has_aux=False)",
           "The same as lazuli.grad, with what `fn` returns beside the gradient.\n\n"
           "    loss, gradient = lazuli.value_and_grad(f)(weights, batch)\n"
           "    (loss, aux), gradient = lazuli.value_and_grad(f, has_aux=True)(weights, batch)",
           [](const Function& self, Objects o) {
               return make_gradient(self, o, "value_and_grad", true);
           });
    m.def("vjp", &call_vjp, nb::arg("fn"), nb::arg("primals"),
          "Calls a function and returns a pair: what it returned, and a function from cotangents "
          "of that to a tuple of cotangents of the arguments: the product of a vector and the "
          "Jacobian.\n\n"
          "    y, pull = lazuli.vjp(f, x)\n"
          "    (flow,) = pull(lazuli.ones_like(y))");
    define(m, Place::module, "jvp(fn, primals, tangents)",
           "Calls a function with a tuple of arguments, and returns a pair: what it returned, and "
           "how that changes as the arguments move along `tangents`, which have the form of the "
           "arguments (None for what stays): the product of the Jacobian and a vector.\n\n"
           "    y, change = lazuli.jvp(f, (x,), (lazuli.ones_like(x),))",
           call_jvp);
    nb::class_<NoGradContext> no_grad(
        m, "no_grad",
        "`with lazuli.no_grad():` what this thread records is nothing that gradients flow "
        "through.");
    no_grad.def(nb::init<>());
    add_context(no_grad);
}

}  // namespace lazuli::python
