// Properties of random integer expressions: what simplification may never change.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "lazuli/error.h"
#include "long_option.h"
#include "random_expression.h"

namespace lazuli::tests {
namespace {

/// What is wrong with the expression, or nothing.
std::string fault_unguarded(const DrawnExpression& drawn, Random& random, bool& checked) {
    ExprContext context;
    std::optional<BuiltExpression> built;
    try {
        built = build(context, drawn);
    } catch (const ArgumentError&) {
        return "";  // a number beyond 64 bits
    }
    const Expr expr = built->expr;
    const Bounds bounds = expr.bounds();
    const Truth truth = prove(expr);
    const auto named = [&](std::string_view name) -> std::optional<Expr> {
        for (const Expr& v : built->variables) {
            if (v.name() == name) return v;
        }
        return std::nullopt;
    };
    if (context.parse(expr.str(), named) != expr)
        return fmt::format("'{}' reads back as '{}'", expr.str(),
                           context.parse(expr.str(), named).str());
    const bool condition = drawn.tree.op == Tree::Op::at_least || drawn.tree.op == Tree::Op::both;
    constexpr int kSamples = 16;
    for (int i = 0; i < kSamples; ++i) {
        const auto values = draw_values(drawn, random, i < kSamples / 2);
        if (!values) continue;
        const auto wanted = value_of(drawn.tree, *values);
        if (!wanted) continue;
        checked = true;
        const auto at = [&](const Expr& e) {
            return e.evaluate([&](Expr v) {
                for (std::size_t k = 0; k < built->variables.size(); ++k) {
                    if (built->variables[k] == v) return (*values)[k];
                }
                throw InternalError("an unknown variable");
            });
        };
        std::string where;
        for (std::size_t k = 0; k < values->size(); ++k)
            where += fmt::format(" {}={}", drawn.variables[k].name, (*values)[k]);
        if (at(expr) != *wanted)
            return fmt::format("'{}' is {} and not {} at{}", expr.str(), at(expr), *wanted, where);
        if (*wanted < bounds.low || *wanted > bounds.high)
            return fmt::format("'{}' is {}, beyond [{}, {}], at{}", expr.str(), *wanted, bounds.low,
                               bounds.high, where);
        if (truth == Truth::yes && *wanted == 0)
            return fmt::format("'{}' was proven and is false at{}", expr.str(), where);
        if (truth == Truth::no && *wanted != 0)
            return fmt::format("'{}' was disproven and is true at{}", expr.str(), where);
        if (condition && at(negated(expr)) != 1 - *wanted)
            return fmt::format("the opposite of '{}' is not, at{}", expr.str(), where);
        // Replacing a variable by its value is evaluating it. A power of a large one may leave 64
        // bits on the way, which is an error that says so.
        const std::size_t which = random.below(values->size());
        std::optional<Expr> part;
        try {
            part = expr.substitute([&](Expr v) -> std::optional<Expr> {
                if (v != built->variables[which]) return std::nullopt;
                return context.constant((*values)[which]);
            });
        } catch (const ArgumentError&) {
        }
        if (part && at(*part) != *wanted)
            return fmt::format("'{}' with {} replaced is '{}', {} and not {} at{}", expr.str(),
                               drawn.variables[which].name, part->str(), at(*part), *wanted, where);
        // What holds under a condition.
        const Expr variable = built->variables[random.below(values->size())];
        if (!variable.name().empty()) {
            const Expr limit = context.constant(at(variable) + random.between(-2, 2));
            const Expr given = random.one_in(2) ? at_least(variable, limit) : less(variable, limit);
            const Expr narrowed = expr.assuming(given);
            if (at(given) == 1 && at(narrowed) != *wanted)
                return fmt::format("'{}' assuming '{}' is '{}', {} and not {} at{}", expr.str(),
                                   given.str(), narrowed.str(), at(narrowed), *wanted, where);
        }
    }
    return "";
}

std::string fault(const DrawnExpression& drawn, Random& random, bool& checked) {
    try {
        return fault_unguarded(drawn, random, checked);
    } catch (const Error& e) {
        return e.what();
    }
}

/// A smaller expression with a fault, where there is one.
DrawnExpression shrunk(DrawnExpression drawn) {
    const auto fails = [](const DrawnExpression& candidate) {
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            Random random(seed);
            bool checked = false;
            if (!fault(candidate, random, checked).empty()) return true;
        }
        return false;
    };
    const auto smaller = [&](const auto& self, Tree& at) -> bool {
        const Tree before = at;
        for (const Tree& part : before.parts) {
            at = part;
            if (fails(drawn)) return true;
        }
        if (before.op == Tree::Op::constant && before.value != 0) {
            at = {Tree::Op::constant, before.value / 2, {}};
            if (fails(drawn)) return true;
        }
        at = before;
        for (Tree& part : at.parts) {
            if (self(self, part)) return true;
        }
        return false;
    };
    while (smaller(smaller, drawn.tree)) {
    }
    return drawn;
}

TEST(Expressions, SimplifiedIsTheSame) {
    const int expressions = tests::count(50'000, 1'000'000);
    int checked_expressions = 0;
    std::map<Truth, int> truths;
    for (int i = 0; i < expressions; ++i) {
        Random random(tests::seed + static_cast<std::uint64_t>(i));
        const DrawnExpression drawn = draw_expression(random);
        bool checked = false;
        const std::string what = fault(drawn, random, checked);
        if (checked) ++checked_expressions;
        if (what.empty()) continue;
        const DrawnExpression small = shrunk(drawn);
        std::string variables;
        for (const DrawnVariable& v : small.variables)
            variables += fmt::format(" {} in [{}, {}]{}", v.name, v.low, v.high,
                                     v.size < 0 ? "" : fmt::format(" < {}*v{}", v.scale, v.size));
        std::string small_fault;
        for (std::uint64_t seed = 0; seed < 8 && small_fault.empty(); ++seed) {
            Random again(seed);
            small_fault = fault(small, again, checked);
        }
        FAIL() << "seed " << tests::seed + static_cast<std::uint64_t>(i) << ": " << what
               << "\nsmallest: " << text_of(small, small.tree) << " with" << variables << "\n"
               << small_fault;
    }
    fmt::print("expressions: {} drawn, {} compared at up to 16 bindings\n", expressions,
               checked_expressions);
    EXPECT_GT(checked_expressions, expressions / 2);
}

}  // namespace
}  // namespace lazuli::tests
