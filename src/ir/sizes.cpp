#include "ir/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/encoding.h"
#include "lazuli/error.h"
#include "symbolic/variables.h"

namespace lazuli {

namespace ir {

SizeValues::SizeValues(std::string_view who, std::span<const Dim> variables,
                       std::span<const SizeBinding> values)
    : values_(values.begin(), values.end()) {
    const auto names = [&] {
        std::vector<std::string> out;
        for (const Dim variable : variables) out.push_back(variable.str());
        return out.empty() ? "none" : fmt::format("{}", fmt::join(out, ", "));
    };
    for (const auto& [name, value] : values) {
        const bool known =
            std::ranges::any_of(variables, [&](Dim variable) { return variable.str() == name; });
        if (!known)
            throw ArgumentError(
                fmt::format("{}: there is no size '{}'; there are: {}", who, name, names()));
    }
    for (const Dim variable : variables) {
        try {
            known_.emplace_back(variable.raw(), variable.evaluate(values));
        } catch (const ArgumentError& error) {
            throw ArgumentError(fmt::format("{}: {}", who, error.what()));
        }
    }
}

std::int64_t SizeValues::at(std::int64_t raw) {
    if (Dim::from_raw(raw).is_concrete()) return raw;
    for (const auto& [bits, value] : known_) {
        if (bits == raw) return value;
    }
    if (!detail::is_expression(raw)) return raw;
    const std::int64_t value = Dim::from_raw(raw).evaluate(values_);
    known_.emplace_back(raw, value);
    return value;
}

TensorSpec SizeValues::at(const TensorSpec& spec) {
    TensorSpec out{spec.dtype, {}};
    for (const std::int64_t slot : spec.shape.raw()) out.shape.push_back(at(slot));
    return out;
}

namespace {

template <class Word, class Body>
void visit_bodies(const OpDef& def, std::span<Word> attrs, const Body& body) {
    for (const AttrDef& attr : def.attrs) {
        if (attr.kind == AttrKind::program) body(attrs[0]);
        attrs = attrs.subspan(attr_length(attr.kind, attrs.data(), attrs.size()));
    }
}

void add_variables(const Program& program, symbolic::Variables& out) {
    const auto add = [&](std::uint64_t word) {
        const auto raw = static_cast<std::int64_t>(word);
        if (detail::is_expression(raw)) out.add(Dim::from_raw(raw));
    };
    for (const Param& param : program.params())
        for (const std::int64_t slot : param.spec.shape.raw()) out.add(Dim::from_raw(slot));
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        const TensorSpec spec = operation.spec();
        for (const std::int64_t slot : spec.shape.raw()) out.add(Dim::from_raw(slot));
        visit_numbers(operation.def(), operation.attrs().words(), add);
        visit_bodies(operation.def(), operation.attrs().words(),
                     [&](std::uint64_t body) { add_variables(program_at(body), out); });
    }
}

/// The attributes of an operation, with numbers for sizes.
std::vector<std::uint64_t> attrs_with_numbers(const Operation& operation, const Shape& result,
                                              SizeValues& values);

Program with_numbers(const Program& program, SizeValues& values) {
    std::vector<Param> params(program.params().begin(), program.params().end());
    for (Param& param : params) {
        param.spec = values.at(param.spec);
        (void)param.spec.nbytes();
    }
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        const TensorSpec spec = values.at(operation.spec());
        const auto attrs = attrs_with_numbers(operation, spec.shape, values);
        words.push_back(header_word(operation.op(), spec.dtype, spec.shape.rank(),
                                    operation.input_count(), attrs.size()));
        for (std::size_t k = 0; k < operation.input_count(); k += 2) {
            const bool two = k + 1 < operation.input_count();
            const std::uint64_t second = two ? operation.input(k + 1).raw : 0;
            words.push_back(operation.input(k).raw | second << 32);
        }
        for (const std::int64_t size : spec.shape.raw())
            words.push_back(static_cast<std::uint64_t>(size));
        words.insert(words.end(), attrs.begin(), attrs.end());
    }
    return ProgramBuilder::from_words(std::move(params), std::move(words),
                                      {program.results().begin(), program.results().end()});
}

std::vector<std::uint64_t> attrs_with_numbers(const Operation& operation, const Shape& result,
                                              SizeValues& values) {
    const auto as_number = [&](std::uint64_t& word) {
        word = static_cast<std::uint64_t>(values.at(static_cast<std::int64_t>(word)));
    };
    const OpDef& def = operation.def();
    std::vector<std::uint64_t> words(operation.attrs().words().begin(),
                                     operation.attrs().words().end());
    visit_numbers(def, std::span(words), as_number);
    visit_bodies(def, std::span(words), [&](std::uint64_t& word) {
        const Program& body = program_at(word);
        if (!body.variables().empty()) word = intern_program(with_numbers(body, values));
    });
    return in_simplest_form(def, std::move(words), result);
}

}  // namespace

std::vector<std::uint64_t> in_simplest_form(const OpDef& def, std::vector<std::uint64_t> attrs,
                                            const Shape& result) {
    const bool has_view = std::ranges::any_of(
        def.attrs, [](const AttrDef& attr) { return attr.kind == AttrKind::view; });
    if (!has_view) return attrs;
    AttrWords simple;
    for (std::size_t k = 0; k < def.attrs.size(); ++k)
        simple.append(def.name, def.attrs[k], Attrs(def, attrs).get(static_cast<int>(k), result));
    return {simple.words().begin(), simple.words().end()};
}

std::vector<Dim> find_variables(const Program& program) {
    symbolic::Variables out;
    add_variables(program, out);
    return out.all();
}

}  // namespace ir

Program Program::instantiate(std::span<const SizeBinding> values) const {
    const std::vector<Dim> all = variables();
    ir::SizeValues numbers("instantiate", all, values);
    return all.empty() ? *this : ir::with_numbers(*this, numbers);
}

}  // namespace lazuli
