// Program <-> JSON. Numbers of any kind are strings, because JSON has neither NaN nor integers
// beyond 2^53. So are sizes that are expressions; programs that have some are of version 2, and say
// between what the variables lie.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "ir/placement.h"
#include "ir/text.h"
#include "lazuli/error.h"
#include "lazuli/program.h"
#include "symbolic/variables.h"

namespace lazuli {

namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;
constexpr int kSizesVersion = 2;

/// A number, or an expression as text.
Json number_json(std::int64_t slot) {
    if (detail::is_expression(slot)) return Dim::from_raw(slot).str();
    return slot;
}

Json list_json(const Ints& list) {
    Json out = Json::array();
    for (const std::int64_t slot : list.raw()) out.push_back(number_json(slot));
    return out;
}

Json attr_json(const Attribute& value, const Shape& base) {
    struct Writer {
        Json operator()(bool v) const { return v; }
        Json operator()(std::int64_t v) const { return number_json(v); }
        Json operator()(double v) const { return Scalar(v).str(); }
        Json operator()(const Scalar& v) const { return v.str(); }
        Json operator()(const Ints& v) const { return list_json(v); }
        Json operator()(const std::string& v) const { return v; }
        Json operator()(const Placement& v) const { return ir::placement_text(v, base); }
        const Shape& base;
    };
    return std::visit(Writer{base}, value);
}

[[noreturn]] void fail(const std::string& what) { throw ArgumentError("program JSON: " + what); }

std::int64_t number_of(const Json& json, const symbolic::Variables& variables) {
    if (json.is_string()) return variables.parse(json.get<std::string>()).raw();
    return json.get<std::int64_t>();
}

Ints list_of(const Json& json, const symbolic::Variables& variables) {
    if (!json.is_array()) fail("a list expected");
    if (json.size() > static_cast<std::size_t>(Shape::kMaxRank)) fail("a list is too long");
    Ints out;
    for (const Json& size : json) out.push_back(number_of(size, variables));
    return out;
}

Attribute attr_of(const Json& json, const AttrDef& def, const Shape& base,
                  const symbolic::Variables& variables) {
    switch (def.kind) {
        case AttrKind::boolean: return json.get<bool>();
        case AttrKind::integer: return number_of(json, variables);
        case AttrKind::axes:
        case AttrKind::ints: return list_of(json, variables);
        case AttrKind::choice:
        case AttrKind::program:
        case AttrKind::text: return json.get<std::string>();
        case AttrKind::view:
            return ir::parse_placement(json.get<std::string>(), base, variables.all());
        case AttrKind::real:
        case AttrKind::scalar: {
            const auto number = ir::parse_scalar(json.get<std::string>());
            if (!number) fail(fmt::format("attribute '{}' is no number", def.name));
            if (def.kind == AttrKind::real) return number->to_double();
            return *number;
        }
    }
    __builtin_unreachable();
}

TensorSpec spec_of(const Json& json, const symbolic::Variables& variables) {
    const auto text = json.at("dtype").get<std::string>();
    const auto dtype = parse_dtype(text);
    if (!dtype) fail(fmt::format("'{}' is no element type", text));
    return {*dtype, list_of(json.at("shape"), variables)};
}

Program read(const Json& json) {
    const int version = json.at("lazuli_program").get<int>();
    if (version != kVersion && version != kSizesVersion) fail("of another version");
    symbolic::Variables variables;
    if (version == kSizesVersion) {
        for (const Json& variable : json.at("variables"))
            variables.declare(variable.at("name").get<std::string>(),
                              variable.at("low").get<std::int64_t>(),
                              variable.at("high").get<std::int64_t>());
    }
    ProgramBuilder builder;
    std::map<std::string, Value> values;
    for (const Json& param : json.at("params")) {
        const auto name = param.at("name").get<std::string>();
        if (!values.emplace(name, builder.param(name, spec_of(param, variables))).second)
            fail(fmt::format("'{}' stands twice", name));
    }
    const auto value = [&](const Json& name) {
        const auto it = values.find(name.get<std::string>());
        if (it == values.end()) fail(fmt::format("{} is no earlier value", name.dump()));
        return it->second;
    };
    std::size_t index = 0;
    for (const Json& op : json.at("operations")) {
        const OpId id = require_op(op.at("op").get<std::string>());
        const OpDef& def = op_def(id);
        std::vector<Value> inputs;
        for (const Json& input : op.at("inputs")) inputs.push_back(value(input));
        AttrWords words;
        for (const AttrDef& attr : def.attrs) {
            words.append(def.name, attr,
                         attr_of(op.at("attrs").at(std::string(attr.name)), attr,
                                 inputs.empty() ? Shape() : inputs[0].shape(), variables));
        }
        const TensorSpec stated = spec_of(op, variables);
        const Value v = builder.op(id, inputs, words.words(), &stated);
        if (!(v.spec() == stated)) {
            fail(fmt::format("{} is {} but the program says {}", def.name, v.spec().str(),
                             stated.str()));
        }
        values.emplace(fmt::format("%{}", index++), v);
    }
    for (const Json& result : json.at("results"))
        builder.result(value(result.at("value")), result.at("name").get<std::string>());
    return builder.build();
}

}  // namespace

std::string Program::json() const {
    Json json;
    const std::vector<Dim> variables = this->variables();
    json["lazuli_program"] = variables.empty() ? kVersion : kSizesVersion;
    for (const Dim variable : variables) {
        json["variables"].push_back({{"name", variable.str()},
                                     {"low", variable.bounds().low},
                                     {"high", variable.bounds().high}});
    }
    json["params"] = Json::array();
    for (const Param& param : params()) {
        json["params"].push_back({{"name", param.name},
                                  {"dtype", name(param.spec.dtype)},
                                  {"shape", list_json(param.spec.shape)}});
    }
    json["operations"] = Json::array();
    for (std::size_t i = 0; i < size(); ++i) {
        const Operation operation = this->operation(i);
        const OpDef& def = operation.def();
        Json inputs = Json::array();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(ir::value_text(*this, operation.input(k)));
        Json attrs = Json::object();
        for (std::size_t k = 0; k < def.attrs.size(); ++k) {
            attrs[std::string(def.attrs[k].name)] =
                attr_json(operation.attrs().get(static_cast<int>(k), operation.spec().shape),
                          operation.input_count() > 0 ? spec(operation.input(0)).shape : Shape());
        }
        const TensorSpec spec = operation.spec();
        json["operations"].push_back({{"op", def.name},
                                      {"inputs", std::move(inputs)},
                                      {"attrs", std::move(attrs)},
                                      {"dtype", name(spec.dtype)},
                                      {"shape", list_json(spec.shape)}});
    }
    json["results"] = Json::array();
    for (const ProgramResult& result : results()) {
        json["results"].push_back(
            {{"name", result.name}, {"value", ir::value_text(*this, result.value)}});
    }
    try {
        return json.dump(1);
    } catch (const Json::exception&) {
        throw ArgumentError("program JSON: a text attribute is not UTF-8");
    }
}

Program Program::from_json(std::string_view text) {
    try {
        return read(Json::parse(text));
    } catch (const Json::parse_error& e) {
        int line = 1;
        int column = 1;
        for (std::size_t i = 0; i + 1 < e.byte && i < text.size(); ++i) {
            ++column;
            if (text[i] == '\n') {
                ++line;
                column = 1;
            }
        }
        throw ParseError("not JSON", line, column);
    } catch (const Json::exception& e) {
        fail(e.what());
    }
}

}  // namespace lazuli
