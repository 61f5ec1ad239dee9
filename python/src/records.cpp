// The op table's records, to be read.

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

const char* kind_text(AttrKind kind) {
    switch (kind) {
        case AttrKind::boolean: return "boolean";
        case AttrKind::integer: return "integer";
        case AttrKind::real: return "real";
        case AttrKind::scalar: return "scalar";
        case AttrKind::axes: return "axes";
        case AttrKind::ints: return "ints";
        case AttrKind::text: return "text";
        case AttrKind::choice: return "choice";
        case AttrKind::view: return "view";
        case AttrKind::program: return "program";
    }
    __builtin_unreachable();
}

nb::object attribute_object(const Attribute& value) {
    struct Maker {
        nb::object operator()(bool v) const { return nb::cast(v); }
        nb::object operator()(std::int64_t v) const { return nb::cast(v); }
        nb::object operator()(double v) const { return nb::cast(v); }
        nb::object operator()(const Scalar& v) const { return nb::steal(number_object(v)); }
        nb::object operator()(const Ints& v) const { return tuple_of(v); }
        nb::object operator()(const std::string& v) const { return nb::cast(v); }
        nb::object operator()(const Placement&) const { return nb::none(); }
    };
    return std::visit(Maker{}, value);
}

nb::list cases_of(const OpDef& def) {
    nb::list out;
    for (const Case& one : def.cases) {
        nb::list shapes;
        for (const Shape& shape : one.inputs) shapes.append(tuple_of(shape));
        nb::dict attributes;
        for (std::size_t i = 0; i < one.attrs.size(); ++i)
            attributes[std::string(def.attrs[i].name).c_str()] = attribute_object(one.attrs[i]);
        nb::object result = nb::none();
        if (one.result) result = tuple_of(*one.result);
        out.append(nb::make_tuple(shapes, attributes, result));
    }
    return out;
}

/// The operation on some operands, by the attributes' names in the record.
Tensor call_op(const OpDef& def, nb::handle operands, const nb::dict& attributes, nb::handle shape,
               nb::handle dtype) {
    const nb::object list = to_list({def.name, "operands"}, operands.ptr());
    std::vector<Tensor> inputs;
    for (nb::handle item : list) inputs.push_back(to_tensor({def.name, "operands"}, item.ptr()));
    std::vector<Attribute> attrs;
    for (const AttrDef& attr : def.attrs) {
        const std::string name(attr.name);
        if (!attributes.contains(name.c_str()))
            throw ArgumentError(fmt::format("{}: the attribute '{}' is not given", def.name, name));
        attrs.push_back(
            to_attribute({def.name, name}, attr, nb::object(attributes[name.c_str()]).ptr(), {}));
    }
    TensorSpec wanted;
    const bool shaped = has(def.traits, Trait::shaped);
    if (!inputs.empty()) wanted = inputs[0].spec();
    if (!shape.is_none()) wanted.shape = to_ints({def.name, "shape"}, shape.ptr());
    if (!dtype.is_none()) wanted.dtype = to_dtype({def.name, "dtype"}, dtype.ptr());
    return call(def.name, inputs, attrs, shaped ? &wanted : nullptr);
}

}  // namespace

void bind_records(nb::module_& m) {
    nb::class_<OpDef>(m, "Op", "What the op table says of an operation.")
        .def_prop_ro("name", [](const OpDef& d) { return std::string(d.name); })
        .def_prop_ro("doc", [](const OpDef& d) { return std::string(d.doc); })
        .def_prop_ro("edge", [](const OpDef& d) { return std::string(d.edge); })
        .def_prop_ro("min_inputs", [](const OpDef& d) { return d.min_inputs; })
        .def_prop_ro("max_inputs", [](const OpDef& d) { return d.max_inputs; })
        .def_prop_ro("elementwise",
                     [](const OpDef& d) { return has(d.traits, Trait::elementwise); })
        .def_prop_ro("composite", [](const OpDef& d) { return d.is_composite(); })
        .def_prop_ro(
            "differentiable",
            [](const OpDef& d) {
                if (has(d.traits, Trait::no_gradient)) return false;
                return d.gradient != nullptr || d.move != nullptr || d.is_composite();
            },
            "Whether gradients flow through it: by a rule of its own, or by those of what it is "
            "built out of.")
        .def_prop_ro("sample",
                     [](const OpDef& d) { return std::pair(d.sample.low, d.sample.high); })
        .def_prop_ro("attributes",
                     [](const OpDef& d) {
                         std::vector<std::pair<std::string, std::string>> out;
                         for (const AttrDef& attr : d.attrs)
                             out.emplace_back(std::string(attr.name), kind_text(attr.kind));
                         return out;
                     })
        .def_prop_ro("dtypes",
                     [](const OpDef& d) {
                         nb::list out;
                         for (int i = 0; i < kDTypeCount; ++i) {
                             if (d.dtypes.contains(static_cast<DType>(i)))
                                 out.append(dtype_object(static_cast<DType>(i)));
                         }
                         return out;
                     })
        .def_prop_ro("cases", cases_of,
                     "Calls that tests make: the operands' shapes, the attributes by name, and the "
                     "result's shape where the caller gives it.")
        .def(
            "call",
            [](const OpDef& d, nb::handle operands, const nb::dict& attributes, nb::handle shape,
               nb::handle dtype) {
                return nb::steal(wrap(call_op(d, operands, attributes, shape, dtype)));
            },
            nb::arg("operands"), nb::arg("attributes") = nb::dict(), nb::arg("shape") = nb::none(),
            nb::arg("dtype") = nb::none(),
            "Records it on a list of operands, with the attributes that its record names, and the "
            "result's shape and type where the caller gives them.")
        .def("__repr__", [](const OpDef& d) { return fmt::format("<op {}>", d.name); });
    define(m, Place::module, "ops()", "The operations of the op table.",
           [](const Function&, PyObject* const*) {
               nb::list out;
               for (int i = 0; i < op_count(); ++i) {
                   const OpDef& def = op_def(static_cast<OpId>(i));
                   if (!has(def.traits, Trait::leaf))
                       out.append(nb::cast(&def, nb::rv_policy::reference));
               }
               return out.release().ptr();
           });
}

}  // namespace lazuli::python
