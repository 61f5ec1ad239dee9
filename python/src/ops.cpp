// Every operation as a function and a method. The declarations come from ops.inc, which names each
// op's parameters and defaults; the docs from the op table. An op of the table that has no line
// there is called through its record.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "convert.h"
#include "function.h"
#include "names.h"

namespace lazuli::python {

namespace {

// ---- calls that C++ declares

/// How an argument of a C++ type is made; a type that has none is left to the op's record.
template <class T>
struct Argument;
template <>
struct Argument<Operand> : OperandArgument {
    using OperandArgument::OperandArgument;
};
template <class T>
struct Made {
    T value;
    operator const T&() const { return value; }
};
template <>
struct Argument<Axis> : Made<Axis> {
    Argument(const Asker& a, PyObject* o) : Made{Axis(to_integer(a, o))} {}
};
template <>
struct Argument<Axes> : Made<Axes> {
    Argument(const Asker& a, PyObject* o) : Made{to_axes(a, o)} {}
};
template <>
struct Argument<Ints> : Made<Ints> {
    Argument(const Asker& a, PyObject* o) : Made{to_ints(a, o)} {}
};
template <>
struct Argument<bool> : Made<bool> {
    Argument(const Asker& a, PyObject* o) : Made{to_bool(a, o)} {}
};
template <>
struct Argument<std::int64_t> : Made<std::int64_t> {
    Argument(const Asker& a, PyObject* o) : Made{to_integer(a, o)} {}
};
template <>
struct Argument<double> : Made<double> {
    Argument(const Asker& a, PyObject* o) : Made{to_real(a, o)} {}
};
template <>
struct Argument<Scalar> : Made<Scalar> {
    Argument(const Asker& a, PyObject* o) : Made{to_number(a, o)} {}
};
template <>
struct Argument<DType> : Made<DType> {
    Argument(const Asker& a, PyObject* o) : Made{to_dtype(a, o)} {}
};
template <>
struct Argument<Tensor> : Made<Tensor> {  // one that may be left out
    Argument(const Asker& a, PyObject* o) : Made{o == Py_None ? Tensor() : to_tensor(a, o)} {}
};
/// One of a fixed list, by its name; `what` all of them are.
template <class E>
E find_choice(const Asker& asker, std::string_view what, std::span<const std::string_view> names,
              PyObject* object) {
    const std::string text(to_text(asker, object));
    const auto at = std::ranges::find(names, text);
    if (at == names.end())
        throw ArgumentError(
            fmt::format("{}: there is no {} '{}'{} (there are: {})", asker.op, what, text,
                        asker.param == what ? "" : fmt::format(" for '{}'", asker.param),
                        fmt::join(names, ", ")));
    return static_cast<E>(at - names.begin());
}
template <>
struct Argument<Activation> : Made<Activation> {
    Argument(const Asker& a, PyObject* o)
        : Made{find_choice<Activation>(a, "activation", kActivationNames, o)} {}
};
template <>
struct Argument<Side> : Made<Side> {
    Argument(const Asker& a, PyObject* o) : Made{find_choice<Side>(a, "side", kSideNames, o)} {}
};
template <>
struct Argument<Scatter> : Made<Scatter> {
    Argument(const Asker& a, PyObject* o)
        : Made{find_choice<Scatter>(a, "mode", kScatterNames, o)} {}
};

template <class T>
concept Convertible = requires { sizeof(Argument<std::remove_cvref_t<T>>); };

/// Calls `F` with arguments made of Python's.
template <auto F>
struct Caller;
template <class... Params, Tensor (*F)(Params...)>
struct Caller<F> {
    static constexpr bool kPossible = (Convertible<Params> && ...);
    static PyObject* invoke(const Function& self, PyObject* const* arguments) {
        return invoke(self, arguments, std::index_sequence_for<Params...>());
    }

   private:
    template <std::size_t... I>
    static PyObject* invoke(const Function& self, PyObject* const* arguments,
                            std::index_sequence<I...>) {
        if constexpr (kPossible) {
            return wrap(run(Argument<std::remove_cvref_t<Params>>({self.name, self.params[I].name},
                                                                  arguments[I])...));
        } else {
            return nullptr;
        }
    }
    template <class... Made>
    static Tensor run(const Made&... made) {
        if (eager_depth == 0) [[likely]]
            return F(made...);
        const nb::gil_scoped_release released;
        return F(made...);
    }
};

/// A line of ops.inc.
struct Declared {
    std::string_view name;
    std::string_view params;  // as written there
    PyObject* (*invoke)(const Function&, PyObject* const*);
    bool possible;
};

constexpr Declared kDeclared[] = {
#define LAZULI_OPERAND const Operand&
#define LAZULI_DEFAULT(...)
#define LAZULI_PARAMS(...) (const Operand& x __VA_OPT__(, ) __VA_ARGS__)
#define LAZULI_OP(name, params, args)                                                     \
    {#name, #params, &Caller<static_cast<Tensor(*) LAZULI_PARAMS params>(&name)>::invoke, \
     Caller<static_cast<Tensor(*) LAZULI_PARAMS params>(&name)>::kPossible},
#define LAZULI_OP_OWN LAZULI_OP
#include "lazuli/ops.inc"
#undef LAZULI_OP_OWN
#undef LAZULI_OP
#undef LAZULI_PARAMS
#undef LAZULI_DEFAULT
#undef LAZULI_OPERAND
};

/// `(const Axes& axes LAZULI_DEFAULT({}), bool keepdims ...)` as Python's parameters.
std::vector<Parameter> parameters_of(const Declared& op) {
    std::vector<Parameter> out{make_parameter("x", "", false)};
    for (std::string piece : split_arguments(op.params.substr(1, op.params.size() - 2))) {
        std::string fallback;
        if (const auto at = piece.find("LAZULI_DEFAULT("); at != std::string::npos) {
            fallback = piece.substr(at + 15, piece.rfind(')') - at - 15);
            piece.erase(piece.find_last_not_of(' ', at - 1) + 1);
        }
        const std::string name = piece.substr(piece.find_last_of(" &*") + 1);
        // What stands behind `keepdims` is given by name too.
        const bool by_name = name == "keepdims" || out.back().keyword_only;
        out.push_back(make_parameter(python_name(op.name, name), fallback, by_name));
    }
    return out;
}

/// Whether the last parameter is a list of its own: `x.reshape(2, 3)`.
bool packs(const Declared& op) {
    const std::vector<std::string> pieces =
        split_arguments(op.params.substr(1, op.params.size() - 2));
    return pieces.size() == 1 &&
           (pieces[0].starts_with("const Shape&") || pieces[0].starts_with("const Ints&") ||
            pieces[0].starts_with("const Axes&"));
}

// ---- calls through the record alone

/// The parameters are the operands, the attributes, and shape and type where the caller gives them.
PyObject* call_record(const Function& self, PyObject* const* arguments) {
    const OpDef& def = *self.op;
    std::size_t at = 0;
    const auto asker = [&] { return Asker{self.name, self.params[at].name}; };
    std::vector<Tensor> inputs;
    if (def.max_inputs < 0) {
        const nb::object list = to_list(asker(), arguments[0]);
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i)
            inputs.push_back(to_tensor(asker(), PySequence_Fast_GET_ITEM(list.ptr(), i)));
        ++at;
    }
    for (int i = 0; i < def.max_inputs; ++i, ++at) {
        if (arguments[at] != Py_None) inputs.push_back(to_tensor(asker(), arguments[at]));
    }
    std::vector<Attribute> attributes;
    for (const AttrDef& attr : def.attrs) {
        attributes.push_back(to_attribute(asker(), attr, arguments[at], inputs));
        ++at;
    }
    TensorSpec wanted;
    const bool shaped = has(def.traits, Trait::shaped);
    if (shaped) {
        if (!inputs.empty()) wanted = inputs[0].spec();
        if (arguments[at] != Py_None) wanted.shape = to_ints(asker(), arguments[at]);
        ++at;
        if (arguments[at] != Py_None) wanted.dtype = to_dtype(asker(), arguments[at]);
    }
    return wrap(call(def.name, inputs, attributes, shaped ? &wanted : nullptr));
}

std::vector<Parameter> parameters_of(const OpDef& def) {
    std::vector<Parameter> out;
    if (def.max_inputs < 0) out.push_back(make_parameter("tensors", "", false));
    for (int i = 0; i < def.max_inputs; ++i) {
        const std::string name =
            i < 3 ? std::string(1, static_cast<char>('x' + i)) : fmt::format("x{}", i);
        out.push_back(make_parameter(name, i < def.min_inputs ? "" : "None", false));
    }
    for (const AttrDef& attr : def.attrs) {
        const std::string choice = attr.choices.empty() ? "" : fmt::format("'{}'", attr.choices[0]);
        out.push_back(make_parameter(python_name(def.name, attr.name),
                                     attr.kind == AttrKind::boolean ? "False" : choice, false));
    }
    if (has(def.traits, Trait::shaped)) {
        out.push_back(make_parameter("shape", def.min_inputs > 0 ? "None" : "", false));
        out.push_back(make_parameter("dtype", "None", false));
    }
    // Behind a default, what has none can only be given by name.
    bool optional = false;
    for (Parameter& p : out) {
        optional = optional || p.fallback.is_valid();
        p.keyword_only = optional && !p.fallback.is_valid();
    }
    for (std::size_t i = 1; i < out.size(); ++i)
        out[i].keyword_only = out[i].keyword_only || out[i - 1].keyword_only;
    return out;
}

// ---- the table

const OpDef* find_def(std::string_view name) {
    const auto id = find_op(name);
    return id ? &op_def(*id) : nullptr;
}

std::string doc_of(const OpDef& def) {
    return std::string(def.doc) + (def.edge.empty() ? "" : "\n\n" + std::string(def.edge));
}

/// Sums and the like take the type to compute in, as in numpy.
void add_dtype(Function& function, const OpDef& def) {
    const std::string_view combine = def.reduction.combine;
    const bool has_dtype =
        std::ranges::any_of(function.params, [](const Parameter& p) { return p.name == "dtype"; });
    if (has_dtype || (combine != "add" && combine != "mul")) return;
    function.cast_to = static_cast<int>(function.params.size());
    function.params.push_back(make_parameter("dtype", "None", true));
}

/// The functions by the names of their ops.
std::map<std::string, const Function*, std::less<>> functions() {
    std::map<std::string, const Function*, std::less<>> out;
    const auto add = [&](const OpDef& def, std::vector<Parameter> params) -> Function& {
        auto& function = *new Function;
        function.name = def.name;
        function.op = &def;
        function.doc = doc_of(def);
        function.params = std::move(params);
        function.records = true;
        add_dtype(function, def);
        if (function.params.size() > Function::kMost)
            throw InternalError(fmt::format("{} has too many parameters for Python", def.name));
        out[function.name] = &function;
        return function;
    };
    for (const Declared& op : kDeclared) {
        const OpDef* def = find_def(op.name);
        if (def == nullptr || !op.possible) continue;
        Function& function = add(*def, parameters_of(op));
        function.invoke = op.invoke;
        function.packs = packs(op);
    }
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        const bool view = std::ranges::any_of(
            def.attrs, [](const AttrDef& a) { return a.kind == AttrKind::view; });
        if (out.contains(def.name) || has(def.traits, Trait::leaf) || view) continue;
        if (def.results != nullptr) continue;  // of several results: in `linalg`
        if (def.name == "constant") continue;  // `full` is
        Function& function = add(def, parameters_of(def));
        function.invoke = call_record;
    }
    return out;
}

}  // namespace

void bind_ops(nb::module_& m) {
    const nb::handle type(reinterpret_cast<PyObject*>(tensor_type));
    const auto all = functions();
    const auto put = [&](const std::string& name, const Function& function) {
        const nb::object object = function_object(function, name);
        m.attr(name.c_str()) = object;
        const bool method = function.params[0].name == "x";
        if (method) nb::setattr(type, name.c_str(), object);
    };
    for (const auto& [name, function] : all) put(name, *function);
    for (const Alias& alias : aliases()) {
        const auto at = all.find(alias.op);
        if (at == all.end() || all.contains(alias.name)) continue;
        auto& same = *new Function(*at->second);
        same.name = alias.name;
        put(same.name, same);
    }
    for (const Slot& slot : operator_slots()) {
        for (const std::string_view name : slot.ops) {
            const auto at = all.find(name);
            if (at == all.end()) continue;
            *slot.function = at->second;
            break;
        }
    }
}

}  // namespace lazuli::python
