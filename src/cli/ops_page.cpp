// The op table as a page for people and as JSON for programs.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "ir/placement.h"
#include "lazuli/op.h"

namespace lazuli::cli {

namespace {

std::string types_text(DTypeSet set) {
    struct Group {
        std::string_view name;
        DTypeSet set;
    };
    constexpr Group groups[] = {
        {"all types", kAllTypes},
        {"all but bool", kNumeric},
        {"integers and floats", kReal},
        {"floats and complex", kFloating | kComplex},
        {"floats", kFloating},
        {"integers", kIntegers},
        {"bool, integers and floats", kReal | DTypeSet{DType::boolean}},
    };
    for (const Group& group : groups) {
        if (group.set == set) return std::string(group.name);
    }
    std::vector<std::string_view> names;
    for (int i = 0; i < kDTypeCount; ++i) {
        if (set.contains(static_cast<DType>(i))) names.push_back(name(static_cast<DType>(i)));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string_view kind_text(AttrKind kind) {
    switch (kind) {
        case AttrKind::boolean: return "bool";
        case AttrKind::integer: return "integer";
        case AttrKind::real: return "real";
        case AttrKind::scalar: return "number";
        case AttrKind::axes: return "axes";
        case AttrKind::ints: return "integers";
        case AttrKind::text: return "text";
        case AttrKind::choice: return "choice";
        case AttrKind::view: return "view";
        case AttrKind::program: return "program";
    }
    __builtin_unreachable();
}

std::string operands_text(const OpDef& def) {
    if (def.max_inputs < 0) return fmt::format("{} or more", def.min_inputs);
    return fmt::format("{}", def.min_inputs);
}

std::string tolerance_text(const OpDef& def) {
    if (def.tolerance.ulps == 0 && def.tolerance.absolute == 0) return "exact";
    if (def.tolerance.absolute == 0) return fmt::format("{} ulp", def.tolerance.ulps);
    return fmt::format("{} ulp + {}", def.tolerance.ulps, def.tolerance.absolute);
}

using Json = nlohmann::ordered_json;

/// `base` is the shape of the first operand, which movements start from.
Json attribute_json(const Attribute& value, const Shape& base) {
    struct Writer {
        Json operator()(bool v) const { return v; }
        Json operator()(std::int64_t v) const { return v; }
        Json operator()(double v) const { return v; }
        Json operator()(const Scalar& v) const { return v.str(); }
        Json operator()(const Ints& v) const {
            return std::vector<std::int64_t>(v.begin(), v.end());
        }
        Json operator()(const std::string& v) const { return v; }
        Json operator()(const Placement& v) const { return ir::placement_text(v, base); }
        const Shape& base;
    };
    return std::visit(Writer{base}, value);
}

Json shape_json(const Shape& shape) {
    return std::vector<std::int64_t>(shape.begin(), shape.end());
}

}  // namespace

std::string ops_markdown() {
    std::string out =
        "# Operations\n\n"
        "Generated from the op table by `lazuli ops --markdown`; do not edit.\n\n"
        "Every operation is a free function and a method. Operands of different types are promoted "
        "by the table of the Python array "
        "API standard: bool goes to the other type, an integer meeting a float or complex number "
        "takes that type, f16 with bf16 gives f32, "
        "u64 with a signed integer is an error. A C++ number beside a tensor is weak: it takes the "
        "tensor's type unless its kind is higher. "
        "Shapes broadcast as in numpy.\n\n"
        "f16, bf16 and f32 are computed in f64 and rounded once by the reference backend, c64 in "
        "c128. Tolerance is how far another backend "
        "may lie from it, in units of the result type's epsilon.\n\n";
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        fmt::format_to(std::back_inserter(out), "## {}\n\n{}\n\n", def.name, def.doc);
        if (!def.edge.empty())
            fmt::format_to(std::back_inserter(out), "At the edges: {}\n\n", def.edge);
        fmt::format_to(std::back_inserter(out), "- operands: {}; types: {}; tolerance: {}\n",
                       operands_text(def), types_text(def.dtypes), tolerance_text(def));
        if (!def.attrs.empty()) {
            std::vector<std::string> texts;
            for (const AttrDef& attr : def.attrs) {
                texts.push_back(
                    attr.kind == AttrKind::choice
                        ? fmt::format("`{}` (one of {})", attr.name, fmt::join(attr.choices, ", "))
                        : fmt::format("`{}` ({})", attr.name, kind_text(attr.kind)));
            }
            fmt::format_to(std::back_inserter(out), "- attributes: {}\n", fmt::join(texts, ", "));
        }
        if (has(def.traits, Trait::shaped))
            out += "- the caller gives the result's type and shape\n";
        if (!def.kernels.empty())
            fmt::format_to(std::back_inserter(out), "- kernels: {}\n",
                           fmt::join(def.kernels, ", "));
        if (def.is_composite()) {
            std::vector<std::string_view> names;
            for (const Implementation& impl : def.implementations) names.push_back(impl.name);
            fmt::format_to(std::back_inserter(out), "- composite; implementations: {}\n",
                           fmt::join(names, ", "));
        }
        out += '\n';
    }
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
}

std::string ops_json() {
    Json list = Json::array();
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        Json op{{"name", def.name},
                {"doc", def.doc},
                {"min_inputs", def.min_inputs},
                {"max_inputs", def.max_inputs}};
        op["elementwise"] = has(def.traits, Trait::elementwise);
        op["shaped"] = has(def.traits, Trait::shaped);
        op["leaf"] = has(def.traits, Trait::leaf);
        op["predicated"] = has(def.traits, Trait::predicated);
        op["composite"] = def.is_composite();
        op["dtypes"] = Json::array();
        for (int t = 0; t < kDTypeCount; ++t) {
            if (def.dtypes.contains(static_cast<DType>(t)))
                op["dtypes"].push_back(name(static_cast<DType>(t)));
        }
        op["attrs"] = Json::array();
        for (const AttrDef& attr : def.attrs)
            op["attrs"].push_back({{"name", attr.name}, {"kind", kind_text(attr.kind)}});
        op["sample"] = {def.sample.low, def.sample.high};
        op["tolerance"] = {{"ulps", def.tolerance.ulps}, {"absolute", def.tolerance.absolute}};
        op["cases"] = Json::array();
        for (const Case& c : def.cases) {
            Json shapes = Json::array();
            for (const Shape& shape : c.inputs) shapes.push_back(shape_json(shape));
            Json attrs = Json::array();
            for (const Attribute& attr : c.attrs)
                attrs.push_back(attribute_json(attr, c.inputs.empty() ? Shape() : c.inputs[0]));
            op["cases"].push_back({{"inputs", shapes},
                                   {"attrs", attrs},
                                   {"result", c.result ? shape_json(*c.result) : Json()}});
        }
        list.push_back(std::move(op));
    }
    return list.dump(1);
}

}  // namespace lazuli::cli
