#include "symbolic/variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "lazuli/error.h"

namespace lazuli::symbolic {

void Variables::add(Dim size) {
    if (size.is_concrete()) return;
    for (const Expr variable : size.expr().vars()) {
        const Dim known(variable);
        if (std::ranges::find(all_, known) == all_.end()) all_.push_back(known);
    }
}

void Variables::declare(std::string_view name, std::int64_t low, std::int64_t high) {
    check_variable_name(name);
    if (low < 0 || low >= high) {
        throw ArgumentError(
            fmt::format("the size {} has no choice between {} and {}", name, low, high));
    }
    for (const Dim known : all_) {
        if (known.str() == name) throw ArgumentError(fmt::format("the size {} stands twice", name));
    }
    ExprContext context;
    all_.emplace_back(context.variable(name, low, high));
}

Dim Variables::parse(std::string_view text) const {
    ExprContext context;
    return Dim(context.parse(text, [&](std::string_view name) -> std::optional<Expr> {
        for (const Dim variable : all_) {
            if (variable.expr().name() == name) return variable.expr();
        }
        return std::nullopt;
    }));
}

std::string Variables::str() const {
    std::vector<std::string> parts;
    for (const Dim variable : all_) {
        const Bounds bounds = variable.bounds();
        parts.push_back(fmt::format("{} <= {} <= {}", bounds.low, variable.str(), bounds.high));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::size_t size_length(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && (c == ',' || c == ']' || c == ')')) return i;
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    return text.size();
}

void check_variable_name(std::string_view name) {
    const auto is_part = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '.';
    };
    const bool fits = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                      std::ranges::all_of(name, is_part) && name != "min" && name != "max" &&
                      name != "and";
    if (!fits) {
        throw ArgumentError(
            fmt::format("dim: '{}' is no name for a size (letters, digits, '_' and '.')", name));
    }
}

}  // namespace lazuli::symbolic
