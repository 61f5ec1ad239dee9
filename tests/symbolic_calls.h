#pragma once

// Every op's cases with variables for their sizes, for tests that compare what comes of expressions
// with what comes of numbers.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lazuli/error.h"
#include "lazuli/op.h"
#include "lazuli/program.h"

namespace lazuli::tests {

using Bindings = std::vector<SizeBinding>;

/// Where a size stands: an operand, and an axis counted from the end where it is negative. The
/// result asked for is operand `kWanted`.
struct Place {
    static constexpr int kWanted = -1;
    static constexpr int kAllAxes = 100;
    int operand;
    int axis = kAllAxes;
    int rank = -1;  // of the operands it is about, where not all
};

/// What an op's cases need to be tried with variables.
struct Rule {
    std::string_view op;
    /// Sizes that count operands, axes or parts, and are numbers whatever the others are.
    std::vector<Place> numbers = {};
    /// Sizes that can be divided by this are so many times a variable.
    std::int64_t multiple = 1;
    /// An attribute that is a size itself, where it is an integer.
    int sized_attr = -1;
    /// How many cases are refused all the same, and why.
    int refused = 0;
    std::string_view why = "";
};

inline const Rule& rule_of(std::string_view op) {
    static const std::vector<Rule> rules = {
        // One position a dimension, and a box whose sizes are those of a case.
        {.op = "dynamic_slice", .numbers = {{1}}},
        {.op = "dynamic_update_slice", .numbers = {{1}, {2}}},
        {.op = "blit", .numbers = {{1}}},
        // Runs are lines of three numbers; keys, values, rates and directions are four.
        {.op = "token_shift", .numbers = {{3}}},
        {.op = "shift_state", .numbers = {{2}}},
        {.op = "channel_mix_v7", .numbers = {{5}}},
        {.op = "time_mix_v7", .numbers = {{2, 0}, {4}}},
        {.op = "time_mix_v7_grad", .numbers = {{2, 0}, {6}}},
        {.op = "rope", .multiple = 2},
        {.op = "glu", .multiple = 2},
        {.op = "group_norm", .numbers = {{0, 1}, {1}, {2}}},
        // Heads that share keys, and windows.
        {.op = "attention_general",
         .numbers = {{0, -3}, {1, -3}, {2, -3}, {3, 0, 1}, {3, 0, 3}, {4}}},
        {.op = "convolution", .numbers = {{0, 1}, {1}}},
        {.op = "convolution_transpose", .numbers = {{0, 1}, {1}}},
        {.op = "loop", .sized_attr = 3},
        {.op = "random_permutation", .sized_attr = 0},
        {.op = "reshape", .refused = 2, .why = "any sizes have another product than any others"},
        {.op = "view", .refused = 4, .why = "strides are the numbers of the case"},
    };
    static const Rule none{""};
    const auto at = std::ranges::find(rules, op, &Rule::op);
    return at == rules.end() ? none : *at;
}

/// One call: the specs of its operands, and the result where it is asked for.
struct Call {
    std::vector<TensorSpec> inputs;
    std::vector<Attribute> attrs;
    std::optional<TensorSpec> wanted;

    std::optional<TensorSpec> infer_of(const OpDef& def, std::string* why = nullptr) const {
        try {
            return infer(def.name, inputs, attrs, wanted ? &*wanted : nullptr);
        } catch (const Error& e) {
            if (why != nullptr) *why = e.what();
            return std::nullopt;
        }
    }
    /// Each size replaced by what `size(size, operand, axis)` makes of it.
    Call with(const auto& size) const {
        Call out = *this;
        const auto replace = [&](Shape& shape, int operand) {
            for (int i = 0; i < shape.rank(); ++i)
                shape.set(i, size(shape.dim(i), operand, i - shape.rank()));
        };
        for (std::size_t i = 0; i < inputs.size(); ++i)
            replace(out.inputs[i].shape, static_cast<int>(i));
        if (out.wanted) replace(out.wanted->shape, Place::kWanted);
        return out;
    }
    Program program(const OpDef& def) const {
        ProgramBuilder builder;
        std::vector<Value> operands;
        for (const TensorSpec& spec : inputs) operands.push_back(builder.param("", spec));
        builder.result(builder.op(def.name, operands, attrs, wanted ? &*wanted : nullptr));
        return builder.build();
    }
};

inline std::vector<Call> calls_of(const OpDef& def) {
    const DType usual = def.dtypes.contains(f32) ? f32 : def.dtypes.contains(i32) ? i32 : u64;
    std::vector<Call> out;
    for (const Case& c : def.cases) {
        Call call{{}, c.attrs, std::nullopt};
        for (std::size_t i = 0; i < c.inputs.size(); ++i) {
            // Positions and keys come last; other operands are of any type.
            const bool last = i + 1 == c.inputs.size() || usual == f32;
            call.inputs.push_back({i < c.types.size() ? c.types[i]
                                   : last             ? usual
                                                      : f32,
                                   c.inputs[i]});
        }
        if (c.result)
            call.wanted = TensorSpec{call.inputs.empty() ? f32 : call.inputs[0].dtype, *c.result};
        out.push_back(std::move(call));
    }
    if (out.empty() && has(def.traits, Trait::elementwise) && def.max_inputs > 0) {
        Call call;
        for (int i = 0; i < def.min_inputs; ++i) {
            const bool condition = i == 0 && has(def.traits, Trait::predicated);
            call.inputs.push_back({condition ? DType::boolean : usual, {3, 5}});
        }
        out.push_back(std::move(call));
    }
    std::erase_if(out, [&](const Call& call) { return !call.infer_of(def); });
    return out;
}

/// A call with variables for sizes of at least 2: one for equal sizes, since ops may need them to
/// be equal, and at least as large as in the case, since attributes may be positions.
struct VariedCall {
    Call call;
    std::vector<Dim> variables;

    /// Values of the variables that make every size so much larger than in the case.
    Bindings larger_by(std::int64_t more) const {
        Bindings out;
        for (const Dim variable : variables)
            out.emplace_back(variable.str(), variable.bounds().low + more);
        return out;
    }
    /// The call of the numbers there.
    Call at(const Bindings& bindings) const {
        Call out = call.with([&](Dim size, int, int) { return Dim(size.evaluate(bindings)); });
        for (Attribute& attr : out.attrs) {
            if (auto* number = std::get_if<std::int64_t>(&attr);
                number != nullptr && detail::is_expression(*number))
                *number = Dim::from_raw(*number).evaluate(bindings);
            if (auto* text = std::get_if<std::string>(&attr);
                text != nullptr && text->starts_with("program(")) {
                const Program body = Program::parse(*text);
                Bindings own;
                for (const Dim variable : body.variables())
                    own.emplace_back(variable.str(), variable.evaluate(bindings));
                attr = body.instantiate(own).str();
            }
        }
        return out;
    }
};

/// None where the call has no size that can be a variable.
inline std::optional<VariedCall> varied(const OpDef& def, const Call& call) {
    const Rule& rule = rule_of(def.name);
    VariedCall out;
    const auto variable = [&](std::int64_t size) -> Dim {
        if (size < 2) return size;
        const std::int64_t times = size % rule.multiple == 0 ? rule.multiple : 1;
        const std::int64_t low = size / times;
        const Dim made = dim(fmt::format("s{}", low), low, 999);
        if (std::ranges::find(out.variables, made) == out.variables.end())
            out.variables.push_back(made);
        return made * times;
    };
    out.call = call.with([&](Dim size, int operand, int from_end) {
        const int rank =
            (operand == Place::kWanted ? *call.wanted
                                       : call.inputs[static_cast<std::size_t>(operand)])
                .shape.rank();
        const bool stays = std::ranges::any_of(rule.numbers, [&](const Place& place) {
            return place.operand == operand && (place.rank < 0 || place.rank == rank) &&
                   (place.axis == Place::kAllAxes || place.axis == from_end ||
                    place.axis == from_end + rank);
        });
        return stays ? size : variable(size.value());
    });
    if (rule.sized_attr >= 0) {
        auto& number =
            std::get<std::int64_t>(out.call.attrs[static_cast<std::size_t>(rule.sized_attr)]);
        const Dim size = variable(number);
        // What is counted along no operand is a number.
        const auto has_it = [&](const TensorSpec& spec) {
            return spec.shape.rank() == 0 || spec.shape.dim(0) == size;
        };
        if (std::ranges::any_of(out.call.inputs, has_it)) number = size.raw();
    }
    // Bodies take what they are handed.
    for (Attribute& attr : out.call.attrs) {
        auto* text = std::get_if<std::string>(&attr);
        if (text == nullptr || !text->starts_with("program(")) continue;
        std::string bounds;
        for (const Dim v : out.variables) {
            const std::string number = fmt::format("{}", v.bounds().low);
            bool used = false;
            for (const std::string_view type : {"f32", "bool"}) {
                const std::string from = fmt::format("{}[{}]", type, number);
                for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos;) {
                    text->replace(at, from.size(), fmt::format("{}[{}]", type, v.str()));
                    used = true;
                }
            }
            if (used)
                bounds += fmt::format("{}{} <= {} <= 999", bounds.empty() ? " where " : ", ",
                                      number, v.str());
        }
        text->insert(text->find(" {"), bounds);
    }
    if (out.variables.empty()) return std::nullopt;
    return out;
}

}  // namespace lazuli::tests
