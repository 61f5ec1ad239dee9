#pragma once

// Functions that Python calls with nothing between: parameters by position or name, defaults, a
// signature and a doc. One object serves as function and as method.

#include <string>
#include <string_view>
#include <vector>

#include "common.h"

namespace lazuli::python {

struct Parameter {
    std::string name;
    nb::object fallback;  // null: an argument is needed
    bool keyword_only = false;
    PyObject* key = nullptr;  // the name, interned
};

/// A function: its signature, and what it does with arguments that are in order and complete.
struct Function {
    static constexpr int kMost = 12;
    std::string name;
    std::string doc;
    std::vector<Parameter> params;
    /// Arguments by position beyond the last parameter join it: `x.reshape(2, 3)`.
    bool packs = false;
    PyObject* (*invoke)(const Function& self, PyObject* const* arguments) = nullptr;
    const OpDef* op = nullptr;  // where it is one of the table
    int cast_to = -1;           // the parameter whose type the first operand is brought to
    /// Whether it only records, so that no error in it is one of earlier work: whatever op an error
    /// names, it is this function that was called.
    bool records = false;

    /// Sorts the arguments and calls `invoke`. No error leaves it but Python's.
    PyObject* call(PyObject* const* arguments, std::size_t positional,
                   PyObject* names) const noexcept;
    /// The same with all arguments that have no default, by position.
    template <class... Objects>
    PyObject* operator()(Objects... objects) const noexcept {
        PyObject* const arguments[] = {objects...};
        return call(arguments, sizeof...(objects), nullptr);
    }

   private:
    /// Calls `invoke` with arguments in order, the first brought to a type where one is given.
    PyObject* run(PyObject** sorted) const;
};

/// The type of the functions' objects; made at the first call.
void bind_functions(nb::module_& m);
/// The object of a function, under a name of its own. Both live as long as the process.
nb::object function_object(const Function& function, const std::string& name);

/// The parameters of a signature as Python writes it: `x, axis=None, *, keepdims=False`.
std::vector<Parameter> parse_signature(std::string_view text);
/// A parameter of that name; `fallback` is text as in C++ or Python, empty for none.
Parameter make_parameter(std::string name, std::string_view fallback, bool keyword_only);
/// Splits at commas that are in no brackets.
std::vector<std::string> split_arguments(std::string_view text);

/// What `define` makes an attribute of.
enum class Place { module, method, both };
/// Defines a function whose signature is written as Python does: `roll(x, shift, axis=None)`.
Function& define(nb::module_& m, Place place, std::string_view signature, const char* doc,
                 PyObject* (*invoke)(const Function&, PyObject* const*));

}  // namespace lazuli::python
