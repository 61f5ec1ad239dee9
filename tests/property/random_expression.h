#pragma once

// Random integer expressions as plain trees, with a meaning of their own: what the expressions of
// lazuli/symbolic.h are compared with.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazuli/symbolic.h"
#include "random.h"

namespace lazuli::tests {

struct Tree {
    enum class Op { constant, variable, add, sub, mul, div, mod, min, max, at_least, both };
    Op op = Op::constant;
    std::int64_t value = 0;  // a constant's, or a variable's number
    std::vector<Tree> parts;
};

/// A variable of a drawn expression. `size` is the number of another variable that it stays below
/// (times `scale`), or -1.
struct DrawnVariable {
    std::string name;
    std::int64_t low;
    std::int64_t high;
    int size = -1;
    std::int64_t scale = 1;
};

struct DrawnExpression {
    std::vector<DrawnVariable> variables;
    Tree tree;
};

DrawnExpression draw_expression(Random& random);

/// Values within the variables' bounds; extreme ones where `extreme`. None where a counter's bound
/// leaves it no value.
std::optional<std::vector<std::int64_t>> draw_values(const DrawnExpression& drawn, Random& random,
                                                     bool extreme);

/// The tree's value by arithmetic on integers; none where it divides by zero or leaves 62 bits.
std::optional<std::int64_t> value_of(const Tree& tree, const std::vector<std::int64_t>& values);

/// The expression in a context, and its variables there.
struct BuiltExpression {
    std::vector<Expr> variables;
    Expr expr;
};
BuiltExpression build(ExprContext& context, const DrawnExpression& drawn);

std::string text_of(const DrawnExpression& drawn, const Tree& tree);
/// As an SMT-LIB term over variables v0, v1, ...; division rounds down.
std::string smt_of(const Tree& tree);

}  // namespace lazuli::tests
