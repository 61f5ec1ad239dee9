// Algebra that changes no bit. See tests/golden/optimize/algebra.ir

#include <cmath>

#include "optimize/passes.h"
#include "optimize/pattern.h"

namespace lazuli::optimize {

bool Pattern::matches_value(const Rewriter& rewriter, const Value& value, Letters& letters) const {
    if (letter_ >= 0) {
        auto& known = letters[static_cast<std::size_t>(letter_)];
        if (known && !(known->ref() == value.ref())) return false;
        known = value;
    }
    switch (kind_) {
        case Kind::any: return true;
        case Kind::number: {
            const auto number = rewriter.number(value);
            if (!number || number->kind() == lazuli::Kind::complex) return false;
            const double n = number->to_double();
            return n == value_ && std::signbit(n) == std::signbit(value_);
        }
        case Kind::op: {
            const Candidate* made = rewriter.producer(value);
            return made != nullptr && matches(rewriter, *made, letters);
        }
    }
    __builtin_unreachable();
}

bool Pattern::matches(const Rewriter& rewriter, const Candidate& candidate,
                      Letters& letters) const {
    if (candidate.def().name != name_ || candidate.inputs.size() != operands_.size()) return false;
    const auto in_order = [&](std::size_t first, std::size_t second) {
        Letters trial = letters;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            const std::size_t at = i == 0 ? first : i == 1 ? second : i;
            if (!operands_[i].matches_value(rewriter, candidate.inputs[at], trial)) return false;
        }
        letters = trial;
        return true;
    };
    return in_order(0, 1) || (commutes_ && in_order(1, 0));
}

std::span<const Rule> algebra_rules() {
    static const Pattern x = Pattern::any(0);
    static const Pattern c = Pattern::any(1);
    const auto n = [](double v) { return Pattern::number(v); };
    const auto op = [](std::string_view name, std::vector<Pattern> operands) {
        return Pattern::op(name, std::move(operands));
    };
    const auto either = [](std::string_view name, std::vector<Pattern> operands) {
        return Pattern::op(name, std::move(operands), true);
    };
    static const Rule rules[] = {
        {.name = "mul_one", .lhs = either("mul", {x, n(1)}), .rhs = 0},
        {.name = "div_one", .lhs = op("div", {x, n(1)}), .rhs = 0},
        {.name = "sub_zero", .lhs = op("sub", {x, n(0)}), .rhs = 0},
        {.name = "add_minus_zero", .lhs = either("add", {x, n(-0.0)}), .rhs = 0},
        // -0 + 0 is 0: only integers have one zero.
        {.name = "add_zero", .lhs = either("add", {x, n(0)}), .rhs = 0, .integers_only = true},
        {.name = "mul_zero",
         .lhs = either("mul", {x, n(0).as(1)}),
         .rhs = 1,
         .integers_only = true},
        {.name = "pow_one", .lhs = op("pow", {x, n(1)}), .rhs = 0},
        {.name = "neg_neg", .lhs = op("neg", {op("neg", {x})}), .rhs = 0},
        {.name = "abs_abs", .lhs = op("abs", {op("abs", {x}).as(1)}), .rhs = 1},
        {.name = "max_same", .lhs = op("maximum", {x, x}), .rhs = 0},
        {.name = "min_same", .lhs = op("minimum", {x, x}), .rhs = 0},
        {.name = "select_same", .lhs = op("select", {c, x, x}), .rhs = 0},
        // Where a value is stored is for the plan to say.
        {.name = "contiguous", .lhs = op("contiguous", {x}), .rhs = 0},
    };
    return rules;
}

Program algebra(const Program& program, Fuel& fuel) {
    return Rewriter(fuel).run(
        program, [](Rewriter& rewriter, const Candidate& candidate) -> std::optional<Value> {
            for (const Rule& rule : algebra_rules()) {
                if (rule.lhs.root() != candidate.def().name || rule.fp != Fp::exact) continue;
                if (rule.integers_only && kind(candidate.spec.dtype) >= Kind::floating) continue;
                Pattern::Letters letters;
                if (!rule.lhs.matches(rewriter, candidate, letters)) continue;
                // A smaller operand that was broadcast is not the result.
                rewriter.name_rule(rule.name);
                const Value& replacement = *letters[static_cast<std::size_t>(rule.rhs)];
                if (replacement.spec() == candidate.spec) return replacement;
            }
            return std::nullopt;
        });
}

}  // namespace lazuli::optimize
