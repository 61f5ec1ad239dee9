// Functions of one made to functions of many.

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "call_arguments.h"
#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;
using Tensors = std::vector<Tensor>;

bool is_sequence(nb::handle object) {
    return PyTuple_Check(object.ptr()) || PyList_Check(object.ptr());
}

/// Axes are integers and None, and containers of them.
void check_axes(const Asker& asker, nb::handle object) {
    if (PyDict_Check(object.ptr())) {
        for (const auto& [key, value] : nb::borrow<nb::dict>(object)) check_axes(asker, value);
    } else if (is_sequence(object)) {
        for (nb::handle item : object) check_axes(asker, item);
    } else if (!object.is_none() && (PyBool_Check(object.ptr()) || is_tensor(object.ptr()) ||
                                     PyIndex_Check(object.ptr()) == 0)) {
        refuse(asker, "an integer, None, or tuples, lists and dicts of them", object.ptr());
    }
}

/// Tensors in the form of arguments or results, and the axis of each.
class Leaves {
   public:
    Tree take(nb::handle axes, std::string_view param, nb::handle object, const std::string& path) {
        Tree out;
        try {
            out = Tree::along(axes, param, object, tensors, said_, path);
        } catch (const nb::builtin_exception& e) {
            throw nb::type_error(fmt::format("vmap: {}", e.what()).c_str());
        } catch (const ArgumentError& e) {
            throw ArgumentError(fmt::format("vmap: {}", e.what()));
        }
        out.paths(path, paths);
        for (std::size_t i = axis.size(); i < said_.size(); ++i) {
            axis.emplace_back();
            if (!said_[i].is_none())
                axis.back() = static_cast<int>(to_integer({"vmap", param}, said_[i].ptr()));
        }
        return out;
    }

    Tensors tensors;
    std::vector<std::string> paths;
    std::vector<std::optional<int>> axis;

   private:
    std::vector<nb::object> said_;
};

/// The arguments of one call. What has no axis is handed on as it is: the function may look at its
/// values.
class MappedArguments {
   public:
    MappedArguments(const nb::object& axes, const nb::args& args, const nb::kwargs& named) {
        const bool each = is_sequence(axes);
        if (each && nb::len(axes) != args.size()) {
            throw ArgumentError(
                fmt::format("vmap: in_axes has {} entries, and {} arguments are given by position",
                            nb::len(axes), args.size()));
        }
        for (std::size_t i = 0; i < args.size(); ++i) {
            by_position_.push_back(all_.take(each ? nb::object(axes[i]) : axes, "in_axes", args[i],
                                             fmt::format("argument {}", i)));
        }
        for (const auto& [key, value] : named) {
            by_name_.emplace_back(
                nb::borrow(key),
                all_.take(nb::int_(0), "in_axes", value, "argument " + nb::cast<std::string>(key)));
        }
        for (std::size_t i = 0; i < all_.tensors.size(); ++i) {
            if (!all_.axis[i]) continue;
            mapped_.push_back(i);
            tensors.push_back(all_.tensors[i]);
            axes_of_tensors.push_back(all_.axis[i]);
            paths.push_back(all_.paths[i]);
        }
        if (mapped_.empty())
            throw ArgumentError(
                "vmap: no argument has an axis to run along: in_axes has None, or "
                "no tensor, for all of them");
    }

    nb::object call(const nb::object& function, const Tensors& given) const {
        Tensors all = all_.tensors;
        for (std::size_t i = 0; i < given.size(); ++i) all[mapped_[i]] = given[i];
        nb::list args;
        for (const Tree& tree : by_position_) args.append(tree.build(all));
        nb::dict named;
        for (const auto& [key, tree] : by_name_) named[key] = tree.build(all);
        return function(*nb::tuple(args), **named);
    }

    // Those that have an axis.
    Tensors tensors;
    std::vector<std::optional<int>> axes_of_tensors;
    std::vector<std::string> paths;

   private:
    Leaves all_;
    std::vector<std::size_t> mapped_;  // places among all
    std::vector<Tree> by_position_;
    std::vector<std::pair<nb::object, Tree>> by_name_;
};

/// A result with its axis where it is wanted. One that is the same for all has none yet.
Tensor placed(const Tensor& result, bool many, Dim count, std::optional<int> axis,
              const std::string& path) {
    const Shape& shape = result.shape();
    const auto text = [&] {
        TensorSpec spec{result.dtype(), {}};
        for (int d = many ? 1 : 0; d < shape.rank(); ++d) spec.shape.push_back(shape.dim(d));
        return spec.str();
    };
    if (!axis) {
        if (!many) return result;
        throw ArgumentError(
            fmt::format("vmap: {} is {} and differs from entry to entry: out_axes cannot be None "
                        "there",
                        path, text()));
    }
    const int rank = shape.rank() + (many ? 0 : 1);
    if (*axis < -rank || *axis >= rank) {
        throw IndexError(
            fmt::format("vmap: out_axes has {} for {}, which is {} for each entry: "
                        "with one more axis there are {}",
                        *axis, path, text(), rank));
    }
    const int at = *axis < 0 ? *axis + rank : *axis;
    if (many) return at == 0 ? result : result.move_axis(0, at);
    Shape wanted;
    for (int d = 0, from = 0; d < rank; ++d) wanted.push_back(d == at ? count : shape.dim(from++));
    return result.unsqueeze(at).broadcast_to(wanted);
}

/// A function of many, recorded once.
class Vmap {
   public:
    Vmap(nb::object function, nb::object in_axes, nb::object out_axes)
        : function_(std::move(function)),
          in_axes_(std::move(in_axes)),
          out_axes_(std::move(out_axes)) {}

    nb::object call(const nb::args& args, const nb::kwargs& named) const {
        const MappedArguments arguments(in_axes_, args, named);
        Leaves results;
        Tree tree;
        Mapped made = mapped_of(
            [&](const Tensors& tensors) {
                const nb::object returned = arguments.call(function_, tensors);
                tree = results.take(out_axes_, "out_axes", returned, "result");
                return results.tensors;
            },
            arguments.tensors, arguments.axes_of_tensors, arguments.paths);
        for (std::size_t i = 0; i < made.results.size(); ++i) {
            made.results[i] = placed(made.results[i], made.many[i], made.count, results.axis[i],
                                     results.paths[i]);
        }
        return tree.build(made.results);
    }

    std::string repr() const { return fmt::format("<lazuli.vmap of {}>", name_of(function_)); }

   private:
    nb::object function_;
    nb::object in_axes_;
    nb::object out_axes_;
};

PyObject* make_vmap(const Function& self, Objects o) {
    const nb::object function = to_function({self.name, "fn"}, o[0]);
    if (PyDict_Check(o[1]))
        refuse({self.name, "in_axes"}, "an integer, None, or a tuple with one entry an argument",
               o[1]);
    check_axes({self.name, "in_axes"}, o[1]);
    check_axes({self.name, "out_axes"}, o[2]);
    auto* made = new Vmap(function, nb::borrow(o[1]), nb::borrow(o[2]));
    return standing_for(function, nb::cast(made, nb::rv_policy::take_ownership)).release().ptr();
}

}  // namespace

void bind_vmap(nb::module_& m) {
    nb::class_<Vmap>(m, "Vmap",
                     "A function of many; lazuli.vmap makes it. `__wrapped__` is the function of "
                     "one.",
                     nb::dynamic_attr())
        .def("__call__", &Vmap::call, nb::arg("args"), nb::arg("kwargs"))
        .def("__get__", as_method, nb::arg("object").none(), nb::arg("type") = nb::none())
        .def("__repr__", &Vmap::repr);
    define(m, Place::module, "vmap(fn, in_axes=0, out_axes=0)",
           "A function of the same arguments with one more axis, that returns what `fn` returns "
           "for each entry along it, without a loop: `fn` is recorded once, with tensors that have "
           "no value.\n\n"
           "`in_axes` is the axis of every argument by position, or a tuple with one entry an "
           "argument: an axis, None for what is the same for all and is handed on as it is, or a "
           "dict, list or tuple of these, of the form of the argument or of its beginning. "
           "Arguments by name run along their first axis. `out_axes` says in the same way where "
           "results have their new axis; None is for those that are the same for all. Negative "
           "axes count from the end.\n\n"
           "    lazuli.vmap(lambda x, y: (x * y).sum())(xs, ys)      # one number a row\n"
           "    lazuli.vmap(f, in_axes=({'w': None, 'x': 0}, 1))(p, ys)\n"
           "    lazuli.vmap(lazuli.grad(loss), (None, 0))(w, batch)  # a gradient for each example",
           make_vmap);
}

}  // namespace lazuli::python
