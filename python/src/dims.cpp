// Sizes that are expressions over named variables: `lazuli.dim("b", 1, 64)`.

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <functional>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

std::optional<Dim> find_dim(PyObject* object) {
    if (is_dim(object)) return dim_of(object);
    if (PyBool_Check(object) || is_tensor(object)) return std::nullopt;
    if (PyFloat_Check(object)) {  // a float may be equal to a size, as it may be to an int
        const double value = PyFloat_AS_DOUBLE(object);
        if (std::abs(value) >= 0x1p53 || value != std::floor(value)) return std::nullopt;
        return Dim(static_cast<std::int64_t>(value));
    }
    if (PyIndex_Check(object) == 0) return std::nullopt;
    return Dim(to_integer({"Dim", "size"}, object));
}

nb::object dim_object(Dim size) {
    return size.is_concrete() ? nb::object(nb::int_(size.value())) : nb::cast(size);
}

std::vector<SizeBinding> to_bindings(const Asker& asker, nb::handle values) {
    if (!nb::isinstance<nb::dict>(values)) refuse(asker, "a dict of names and sizes", values.ptr());
    std::vector<SizeBinding> out;
    for (const auto& [name, value] : nb::borrow<nb::dict>(values))
        out.emplace_back(to_text(asker, name.ptr()), to_integer(asker, value.ptr()));
    return out;
}

namespace {

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

template <Dim (*F)(Dim, Dim)>
nb::object left(Dim a, nb::handle other) {
    if (PyFloat_Check(other.ptr())) return not_implemented();
    const auto b = find_dim(other.ptr());
    return b ? dim_object(F(a, *b)) : not_implemented();
}

template <Dim (*F)(Dim, Dim)>
nb::object right(Dim b, nb::handle other) {
    if (PyFloat_Check(other.ptr())) return not_implemented();
    const auto a = find_dim(other.ptr());
    return a ? dim_object(F(*a, b)) : not_implemented();
}

Dim plus(Dim a, Dim b) { return a + b; }
Dim minus(Dim a, Dim b) { return a - b; }
Dim times(Dim a, Dim b) { return a * b; }
Dim quotient(Dim a, Dim b) { return a / b; }
Dim rest(Dim a, Dim b) { return a % b; }
Dim smaller(Dim a, Dim b) { return min(a, b); }
Dim larger(Dim a, Dim b) { return max(a, b); }

std::string with_bounds(Dim size) {
    if (size.is_concrete()) return size.str();
    return fmt::format("{} (from {} to {})", size.str(), size.bounds().low, size.bounds().high);
}

/// An answer that a recorded function may rely on: one that is the same for all sizes.
bool proved(Truth truth, Dim a, const char* sign, Dim b) {
    if (truth != Truth::depends) return truth == Truth::yes;
    throw ArgumentError(fmt::format("whether {} {} {} depends on the sizes: {}{}{}", a.str(), sign,
                                    b.str(), with_bounds(a), b.is_concrete() ? "" : ", ",
                                    b.is_concrete() ? "" : with_bounds(b)));
}

template <Truth (*F)(Dim, Dim), bool Negated = false>
auto compared(const char* sign) {
    return [sign](Dim a, nb::handle other) {
        const auto b = find_dim(other.ptr());
        if (!b) return not_implemented();
        return nb::object(nb::bool_(proved(F(a, *b), a, sign, *b) != Negated));
    };
}

Truth same(Dim a, Dim b) { return equal(a, b); }
Truth below(Dim a, Dim b) { return less(a, b); }
Truth above(Dim a, Dim b) { return less(b, a); }
Truth not_above(Dim a, Dim b) { return at_least(b, a); }
Truth not_below(Dim a, Dim b) { return at_least(a, b); }

/// Of any two sizes, numbers or not.
template <Dim (*F)(Dim, Dim)>
nb::object extreme(nb::handle a, nb::handle b) {
    const auto size = [](const char* name, nb::handle object) {
        const auto found = find_dim(object.ptr());
        if (!found) refuse({"Dim", name}, "an integer or a Dim", object.ptr());
        return *found;
    };
    return dim_object(F(size("a", a), size("b", b)));
}

}  // namespace

void bind_dims(nb::module_& m) {
    const auto number = [](Dim d) { return d.value(); };
    nb::class_<Dim> type(
        m, "Dim", nb::is_final(),
        "The size of a dimension that is known only when a compiled function is called: a "
        "variable, or an expression of some. +, -, *, // and % with integers and other sizes give "
        "sizes again, or integers where the variables cancel.\n\nA comparison answers True or "
        "False only where that holds for all values within the bounds, and is an ArgumentError "
        "else: what is recorded serves all sizes, so a branch taken for some would be wrong for "
        "others. It has no number: int(d) is an error that names it.");
    dim_type = reinterpret_cast<PyTypeObject*>(type.ptr());
    type.def("__add__", left<plus>, nb::arg("other").none())
        .def("__radd__", right<plus>, nb::arg("other").none())
        .def("__sub__", left<minus>, nb::arg("other").none())
        .def("__rsub__", right<minus>, nb::arg("other").none())
        .def("__mul__", left<times>, nb::arg("other").none())
        .def("__rmul__", right<times>, nb::arg("other").none())
        .def("__floordiv__", left<quotient>, nb::arg("other").none())
        .def("__rfloordiv__", right<quotient>, nb::arg("other").none())
        .def("__mod__", left<rest>, nb::arg("other").none())
        .def("__rmod__", right<rest>, nb::arg("other").none())
        .def("__neg__", [](Dim d) { return dim_object(Dim(0) - d); })
        .def("__pos__", [](Dim d) { return d; })
        .def("__copy__", [](Dim d) { return d; })
        .def("__deepcopy__", [](Dim d, nb::handle) { return d; })
        .def("__eq__", compared<same>("=="), nb::arg("other").none())
        .def("__ne__", compared<same, true>("!="), nb::arg("other").none())
        .def("__lt__", compared<below>("<"), nb::arg("other").none())
        .def("__le__", compared<not_above>("<="), nb::arg("other").none())
        .def("__gt__", compared<above>(">"), nb::arg("other").none())
        .def("__ge__", compared<not_below>(">="), nb::arg("other").none())
        .def("__bool__", [](Dim d) { return !proved(equal(d, 0), d, "==", 0); })
        .def("__hash__", [](Dim d) { return std::hash<std::int64_t>()(d.raw()); })
        .def("__int__", number)
        .def("__index__", number)
        .def("__float__", number)
        .def("__str__", &Dim::str)
        .def("__repr__", [](Dim d) { return fmt::format("Dim({})", d.str()); })
        .def_prop_ro(
            "bounds", [](Dim d) { return nb::make_tuple(d.bounds().low, d.bounds().high); },
            "The lowest and the highest value it may have.")
        .def(
            "evaluate",
            [](Dim d, nb::handle values) {
                return d.evaluate(to_bindings({"evaluate", "values"}, values));
            },
            nb::arg("values"), "Its value for these values of its variables, a dict by name.")
        .def_static("min", extreme<smaller>, nb::arg("a"), nb::arg("b"),
                    "The smaller of two sizes, numbers or not.")
        .def_static("max", extreme<larger>, nb::arg("a"), nb::arg("b"),
                    "The larger of two sizes, numbers or not.");
    define(m, Place::module, "dim(name, low, high)",
           "A size that varies between two bounds, both included. The same name is the same "
           "variable everywhere; other bounds for a name in use are an error.",
           [](const Function& self, PyObject* const* o) {
               return dim_object(dim(to_text({self.name, "name"}, o[0]),
                                     to_integer({self.name, "low"}, o[1]),
                                     to_integer({self.name, "high"}, o[2])))
                   .release()
                   .ptr();
           });
    define(m, Place::module, "any_dim()",
           "A size that varies from 1 to what fits, different from all others.",
           [](const Function&, PyObject* const*) { return dim_object(any_dim()).release().ptr(); });
}

}  // namespace lazuli::python
