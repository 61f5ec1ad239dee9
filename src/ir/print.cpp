// Program -> text.

#include <fmt/format.h>

#include <charconv>

#include "ir/placement.h"
#include "ir/text.h"
#include "lazuli/program.h"
#include "symbolic/variables.h"

namespace lazuli {

namespace ir {

std::string default_result_name(std::size_t index) { return fmt::format("r{}", index); }

std::string value_text(const Program& program, ValueRef value) {
    return value.is_param() ? program.params()[value.index()].name
                            : fmt::format("%{}", value.index());
}

namespace {

std::optional<double> parse_real(std::string_view text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    double v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return v;
}

}  // namespace

std::optional<Scalar> parse_scalar(std::string_view text) {
    if (text == "true") return Scalar(true);
    if (text == "false") return Scalar(false);
    if (text.size() > 4 && text.front() == '(' && text.ends_with("j)")) {
        const std::string_view body = text.substr(1, text.size() - 3);
        for (std::size_t i = 1; i < body.size();
             ++i) {  // the sign between the parts, not the one of an exponent
            if ((body[i] != '+' && body[i] != '-') || body[i - 1] == 'e') continue;
            const auto re = parse_real(body.substr(0, i));
            const auto im = parse_real(body[i] == '+' ? body.substr(i + 1) : body.substr(i));
            if (re && im) return Scalar(std::complex<double>(*re, *im));
        }
        return std::nullopt;
    }
    if (text.find_first_of(".ein") == std::string_view::npos) {
        std::int64_t i = 0;
        const char* last = text.data() + text.size();
        if (const auto [end, error] = std::from_chars(text.data(), last, i);
            error == std::errc{} && end == last)
            return Scalar(i);
        std::uint64_t u = 0;
        if (const auto [end, error] = std::from_chars(text.data(), last, u);
            error == std::errc{} && end == last)
            return Scalar(u);
        return std::nullopt;
    }
    if (const auto v = parse_real(text)) return Scalar(*v);
    return std::nullopt;
}

}  // namespace ir

namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else {
            out += c;
        }
    }
    return out + '"';
}

/// The text of a program within another's.
std::string indented(std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::string out;
    for (const char c : text) {
        out += c;
        if (c == '\n') out += "  ";
    }
    return out;
}

/// `base` is the shape of the first operand, which movements start from.
std::string attr_text(AttrKind kind, const Attribute& value, const Shape& base) {
    if (kind == AttrKind::choice) return std::get<std::string>(value);
    if (kind == AttrKind::program) return indented(std::get<std::string>(value));
    struct Printer {
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(std::int64_t v) const {
            return detail::is_expression(v) ? fmt::format("({})", Dim::from_raw(v).str())
                                            : fmt::format("{}", v);
        }
        std::string operator()(double v) const { return Scalar(v).str(); }
        std::string operator()(const Scalar& v) const { return v.str(); }
        std::string operator()(const Ints& v) const { return v.str(); }
        std::string operator()(const std::string& v) const { return quoted(v); }
        std::string operator()(const Placement& v) const { return ir::placement_text(v, base); }
        const Shape& base;
    };
    return std::visit(Printer{base}, value);
}

}  // namespace

std::string Program::str() const {
    std::string out = "program(";
    for (std::size_t i = 0; i < params().size(); ++i) {
        fmt::format_to(std::back_inserter(out), "{}{}: {}", i == 0 ? "" : ", ", params()[i].name,
                       params()[i].spec.str());
    }
    symbolic::Variables variables;
    for (const Dim variable : this->variables()) variables.add(variable);
    out += variables.all().empty() ? ") {\n" : fmt::format(") where {} {{\n", variables.str());
    for (std::size_t i = 0; i < size(); ++i) {
        const Operation operation = this->operation(i);
        const OpDef& def = operation.def();
        fmt::format_to(std::back_inserter(out), "  %{} = {}(", i, def.name);
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            out += k == 0 ? "" : ", ";
            out += ir::value_text(*this, operation.input(k));
        }
        out += ')';
        const Attrs attrs = operation.attrs();
        const TensorSpec spec = operation.spec();
        const Shape base =
            operation.input_count() > 0 ? this->spec(operation.input(0)).shape : Shape();
        for (std::size_t k = 0; k < def.attrs.size(); ++k) {
            const AttrKind kind = def.attrs[k].kind;
            out += ' ';
            if (kind != AttrKind::view)
                fmt::format_to(std::back_inserter(out), "{}=", def.attrs[k].name);
            out += attr_text(kind, attrs.get(static_cast<int>(k), spec.shape), base);
        }
        fmt::format_to(std::back_inserter(out), " : {}\n", spec.str());
    }
    out += "  return";
    for (std::size_t i = 0; i < results().size(); ++i) {
        const ProgramResult& result = results()[i];
        fmt::format_to(std::back_inserter(out), "{} {}", i == 0 ? "" : ",",
                       ir::value_text(*this, result.value));
        if (result.name != ir::default_result_name(i)) out += " as " + result.name;
    }
    return out + "\n}\n";
}

}  // namespace lazuli
