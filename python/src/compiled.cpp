// Functions that are recorded once and planned once for all sizes, and the programs they become.

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <charconv>

#include "convert.h"
#include "function.h"
#include "tree.h"

namespace lazuli::python {

namespace {

using Tensors = std::vector<Tensor>;

PyObject* make_placeholder(const Function& self, PyObject* const* o) {
    // The type first, as in C++, or the shape first, as in `zeros`.
    const bool typed = find_dtype(o[0]).has_value();
    const DType dtype = to_dtype({self.name, "dtype"}, o[typed ? 0 : 1]);
    return wrap(placeholder(dtype, to_ints({self.name, "shape"}, o[typed ? 1 : 0])));
}

nb::dict dict_of(std::span<const SizeBinding> values) {
    nb::dict out;
    for (const auto& [name, value] : values) out[name.c_str()] = value;
    return out;
}

/// Arguments by position and by name, as one tree each.
struct Arguments {
    std::vector<Tree> positional;
    std::vector<std::pair<std::string, Tree>> named;

    Arguments(const nb::args& specs, const nb::kwargs& more, Tensors& tensors) {
        for (std::size_t i = 0; i < specs.size(); ++i)
            positional.push_back(Tree::of(specs[i], tensors, Tree::Others::refused,
                                          fmt::format("compile: spec {}", i)));
        for (const auto& [key, value] : more) {
            const auto name = nb::cast<std::string>(key);
            named.emplace_back(name, Tree::of(value, tensors, Tree::Others::refused,
                                              fmt::format("compile: spec '{}'", name)));
        }
    }

    /// The tensors of a call's arguments.
    Tensors of(const nb::args& args, const nb::kwargs& more) const {
        if (args.size() != positional.size())
            throw ArgumentError(fmt::format("the function takes {} arguments by position, {} given",
                                            positional.size(), args.size()));
        Tensors out;
        for (std::size_t i = 0; i < positional.size(); ++i)
            positional[i].collect(args[i], fmt::format("argument {}", i), out);
        for (const auto& [name, tree] : named) {
            if (!more.contains(name.c_str()))
                throw ArgumentError(fmt::format("the function needs the argument '{}'", name));
            tree.collect(nb::object(more[name.c_str()]), "argument " + name, out);
        }
        for (const auto& [key, value] : more) {
            const auto given = nb::cast<std::string>(key);
            bool known = false;
            for (const auto& [name, tree] : named) known = known || name == given;
            if (!known)
                throw ArgumentError(fmt::format("the function has no argument '{}'", given));
        }
        return out;
    }

    std::vector<std::string> paths() const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < positional.size(); ++i)
            positional[i].paths(fmt::format("{}", i), out);
        for (const auto& [name, tree] : named) tree.paths(name, out);
        return out;
    }

    /// What the function is called with while it is recorded.
    nb::object call(const nb::object& function, const Tensors& tensors) const {
        nb::list args;
        nb::dict more;
        for (const Tree& tree : positional) args.append(tree.build(tensors));
        for (const auto& [name, tree] : named) more[name.c_str()] = tree.build(tensors);
        return function(*nb::tuple(args), **more);
    }
};

/// `argument 3` counts tensors; whoever called knows them by their places.
std::string with_paths(std::string_view message, std::span<const std::string> paths) {
    constexpr std::string_view kWord = "argument ";
    std::string out;
    for (;;) {
        const std::size_t at = message.find(kWord);
        if (at == std::string_view::npos) return out + std::string(message);
        out += message.substr(0, at + kWord.size());
        message.remove_prefix(at + kWord.size());
        std::size_t number = 0;
        const auto [end, error] =
            std::from_chars(message.data(), message.data() + message.size(), number);
        if (error != std::errc{} || number >= paths.size()) continue;
        out += paths[number];
        message.remove_prefix(static_cast<std::size_t>(end - message.data()));
    }
}

class Compiled {
   public:
    Compiled(const nb::object& function, const nb::args& specs, const nb::kwargs& more)
        : name_(nb::cast<std::string>(
              nb::str(nb::getattr(function, "__name__", nb::str(function.type()))))),
          arguments_(specs, more, placeholders_),
          paths_(arguments_.paths()) {
        std::vector<TensorSpec> list;
        for (const Tensor& tensor : placeholders_) list.push_back(tensor.spec());
        placeholders_.clear();
        const nb::gil_scoped_release released;  // planning takes a while
        function_ = lazuli::compile(
            [&](const Tensors& given) {
                const nb::gil_scoped_acquire lock;
                Tensors results;
                results_ = Tree::of(arguments_.call(function, given), results, Tree::Others::kept,
                                    "result");
                return results;
            },
            std::move(list));
    }

    nb::object call(const nb::args& args, const nb::kwargs& more) const {
        return results_.build(with_tensors(
            args, more, [&](Tensors tensors) { return function_.call(std::move(tensors)); }));
    }

    /// At the sizes of some arguments, or at those of the last call.
    Explanation explain(const nb::args& args, const nb::kwargs& more) const {
        if (args.size() + more.size() > 0) {
            return with_tensors(args, more,
                                [&](const Tensors& tensors) { return function_.explain(tensors); });
        }
        const nb::gil_scoped_release released;
        return function_.explain();
    }

    const lazuli::Function& function() const { return function_; }

    std::string repr() const {
        const Program& program = function_.program();
        std::string in;
        for (std::size_t i = 0; i < paths_.size(); ++i)
            in += (i == 0 ? "" : ", ") + program.params()[i].spec.str();
        std::string out;
        for (const ProgramResult& result : program.results())
            out += (out.empty() ? "" : ", ") + program.spec(result.value).str();
        std::string where;
        for (const Dim variable : program.variables()) {
            const Bounds bounds = variable.bounds();
            where += fmt::format("{}{} <= {} <= {}", where.empty() ? " where " : ", ", bounds.low,
                                 variable.str(), bounds.high);
        }
        return fmt::format("<lazuli.Compiled {}({}) -> ({}){}>", name_, in, out, where);
    }

   private:
    /// What `body` makes of the tensors among a call's arguments, while others may run Python code.
    /// Errors name the function, and arguments by their places.
    template <class Body>
    std::invoke_result_t<Body, Tensors> with_tensors(const nb::args& args, const nb::kwargs& more,
                                                     const Body& body) const {
        Tensors tensors;
        try {
            tensors = arguments_.of(args, more);
        } catch (const ArgumentError& e) {
            throw ArgumentError(fmt::format("{}: {}", name_, e.what()));
        }
        try {
            const nb::gil_scoped_release released;
            return body(std::move(tensors));
        } catch (const ShapeError& e) {
            throw ShapeError(told(e), e.expected, e.actual);
        } catch (const DTypeError& e) {
            throw DTypeError(told(e));
        } catch (const ArgumentError& e) {
            throw ArgumentError(told(e));
        }
    }

    std::string told(const Error& e) const {
        return fmt::format("{}: {}", name_, with_paths(e.what(), paths_));
    }

    std::string name_;
    Tensors placeholders_;  // while it is made
    Arguments arguments_;
    std::vector<std::string> paths_;  // of the tensors among them
    Tree results_;
    lazuli::Function function_;
};

void bind_programs(nb::module_& m) {
    nb::class_<Program>(m, "Program", nb::is_final(),
                        "Operations in an order in which operands come first; prints as text.")
        .def_prop_ro(
            "variables",
            [](const Program& p) {
                nb::list out;
                for (const Dim variable : p.variables()) out.append(nb::cast(variable));
                return out;
            },
            "The variables of its sizes: none where all sizes are numbers.")
        .def(
            "instantiate",
            [](const Program& p, nb::handle values) {
                return p.instantiate(to_bindings({"instantiate", "values"}, values));
            },
            nb::arg("values"), "The same program with numbers for its sizes, a dict by name.")
        .def("json", &Program::json, "As JSON.")
        .def("bytes",
             [](const Program& p) {
                 const std::string bytes = p.bytes();
                 return nb::bytes(bytes.data(), bytes.size());
             })
        .def("__len__", &Program::size)
        .def("__eq__",
             [](const Program& p, nb::handle other) {
                 return nb::isinstance<Program>(other) && p == nb::cast<const Program&>(other);
             })
        .def("__hash__", &Program::hash)
        .def("__str__", &Program::str)
        .def("__repr__", &Program::str);
}

}  // namespace

void bind_compiled(nb::module_& m) {
    bind_programs(m);
    define(m, Place::module, "placeholder(dtype, shape)",
           "A tensor without a value, which stands for an argument of a compiled function: its "
           "sizes are integers or variables (lazuli.dim). The shape may come first.",
           make_placeholder)
        .records = true;
    nb::class_<Compiled>(
        m, "Compiled",
        "A function that was recorded once and is planned once for all sizes of its arguments; "
        "lazuli.compile makes it. It is called with arguments of the form it was compiled for, and "
        "returns what the function returned: tensors are computed, everything else is as it was "
        "when the function was recorded.")
        .def("__call__", &Compiled::call, nb::arg("args"), nb::arg("kwargs"))
        .def(
            "program", [](const Compiled& c) { return c.function().program(); },
            "What was recorded: the arguments come first, then what was taken from outside.")
        .def("explain", &Compiled::explain, nb::arg("args"), nb::arg("kwargs"),
             "Its kernels, and whether they serve all sizes; where they do not, why. Figures are "
             "those of the sizes of the arguments that are given, else of the last call's, else of "
             "some.")
        .def(
            "bindings_seen",
            [](const Compiled& c) {
                nb::list out;
                for (const auto& values : c.function().bindings_seen()) out.append(dict_of(values));
                return out;
            },
            "The sizes it was called with and still has plans for, each a dict; last ones first.")
        .def("__repr__", &Compiled::repr);
    m.def(
        "compile",
        [](const nb::object& function, const nb::args& specs, const nb::kwargs& named) {
            if (PyCallable_Check(function.ptr()) == 0)
                refuse({"compile", "function"}, "a function", function.ptr());
            return new Compiled(function, specs, named);  // nanobind owns it
        },
        nb::arg("function"), nb::arg("specs"), nb::arg("named"),
        "Records a function and plans it for all sizes at once. There is a spec for each argument: "
        "a placeholder, or lists, tuples and dicts of them. The function is called once, now, with "
        "tensors that have no value; tensors it takes from outside are kept.\n\n"
        "    b = lazuli.dim(\"b\", 1, 64)\n"
        "    f = lazuli.compile(lambda x: (x @ w).softmax(), lazuli.placeholder(\"f32\", (b, 8)))\n"
        "    f(x)  # of any x of that type with 1 to 64 rows");
}

}  // namespace lazuli::python
