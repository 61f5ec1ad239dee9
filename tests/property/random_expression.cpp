#include "random_expression.h"

#include <fmt/format.h>

#include <algorithm>

namespace lazuli::tests {

namespace {

Tree draw_tree(Random& random, std::size_t variables, int depth);

Tree draw_constant(Random& random) {
    static constexpr std::int64_t kUsual[] = {0, 1,  2,  3,  4,  5,  6,  7,
                                              8, 12, 16, 24, -1, -2, -3, 64};
    const std::int64_t value = random.one_in(20) ? random.between(-100'000, 100'000)
                                                 : kUsual[random.below(std::size(kUsual))];
    return {Tree::Op::constant, value, {}};
}

Tree draw_leaf(Random& random, std::size_t variables) {
    if (random.one_in(3)) return draw_constant(random);
    return {Tree::Op::variable, static_cast<std::int64_t>(random.below(variables)), {}};
}

/// A divisor: mostly a positive number, as indices have them.
Tree draw_divisor(Random& random, std::size_t variables, int depth) {
    if (random.one_in(8)) return draw_tree(random, variables, depth);
    if (random.one_in(6))
        return {Tree::Op::variable, static_cast<std::int64_t>(random.below(variables)), {}};
    Tree out = draw_constant(random);
    if (out.value <= 0 && !random.one_in(8)) out.value = random.between(1, 12);
    return out;
}

Tree draw_tree(Random& random, std::size_t variables, int depth) {
    if (depth == 0) return draw_leaf(random, variables);
    const auto part = [&] {
        return draw_tree(random, variables, depth - 1 - (random.one_in(4) && depth > 1 ? 1 : 0));
    };
    switch (random.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3: return {Tree::Op::add, 0, {part(), part()}};
        case 4: return {Tree::Op::sub, 0, {part(), part()}};
        case 5: return {Tree::Op::mul, 0, {part(), part()}};
        case 6:
        case 7: return {Tree::Op::mul, 0, {part(), draw_constant(random)}};
        case 8:
        case 9:
        case 10: return {Tree::Op::div, 0, {part(), draw_divisor(random, variables, depth - 1)}};
        case 11:
        case 12: return {Tree::Op::mod, 0, {part(), draw_divisor(random, variables, depth - 1)}};
        case 13: return {Tree::Op::min, 0, {part(), part()}};
        case 14: return {Tree::Op::max, 0, {part(), part()}};
        default: return {Tree::Op::at_least, 0, {part(), part()}};
    }
}

}  // namespace

DrawnExpression draw_expression(Random& random) {
    DrawnExpression out;
    const std::size_t count = 1 + random.below(4);
    for (std::size_t i = 0; i < count; ++i) {
        DrawnVariable v{fmt::format("v{}", i), 0, random.between(1, 16)};
        if (random.one_in(4)) v.low = random.between(1, v.high);
        if (random.one_in(6)) v.low = -random.between(0, 10);
        if (random.one_in(8)) v.high = 1'000'000'000;
        if (i > 0 && random.one_in(3)) {
            const std::size_t of = random.below(i);
            if (out.variables[of].high >= 1) {
                v.size = static_cast<int>(of);
                v.scale = random.between(1, 4);
                v.low = 0;
                v.high = out.variables[of].high * v.scale - 1;
            }
        }
        out.variables.push_back(v);
    }
    out.tree = draw_tree(random, count, 1 + static_cast<int>(random.below(5)));
    if (random.one_in(4)) {  // a condition
        Tree compare{Tree::Op::at_least, 0, {out.tree, draw_tree(random, count, 2)}};
        if (random.one_in(2)) {
            compare = {Tree::Op::both,
                       0,
                       {compare,
                        {Tree::Op::at_least,
                         0,
                         {draw_tree(random, count, 2), draw_tree(random, count, 1)}}}};
        }
        out.tree = compare;
    }
    return out;
}

std::optional<std::vector<std::int64_t>> draw_values(const DrawnExpression& drawn, Random& random,
                                                     bool extreme) {
    std::vector<std::int64_t> out;
    for (const DrawnVariable& v : drawn.variables) {
        std::int64_t high = v.high;
        if (v.size >= 0) high = out[static_cast<std::size_t>(v.size)] * v.scale - 1;
        if (high < v.low) return std::nullopt;
        out.push_back(extreme ? (random.one_in(2) ? v.low : high) : random.between(v.low, high));
    }
    return out;
}

std::optional<std::int64_t> value_of(const Tree& tree, const std::vector<std::int64_t>& values) {
    if (tree.op == Tree::Op::constant) return tree.value;
    if (tree.op == Tree::Op::variable) return values[static_cast<std::size_t>(tree.value)];
    const auto left = value_of(tree.parts[0], values);
    const auto right = value_of(tree.parts[1], values);
    if (!left || !right) return std::nullopt;
    const __int128 a = *left;
    const __int128 b = *right;
    __int128 out = 0;
    switch (tree.op) {
        case Tree::Op::constant:
        case Tree::Op::variable: break;
        case Tree::Op::add: out = a + b; break;
        case Tree::Op::sub: out = a - b; break;
        case Tree::Op::mul: out = a * b; break;
        case Tree::Op::div:
        case Tree::Op::mod: {
            if (b == 0) return std::nullopt;
            __int128 q = a / b;
            if (q * b != a && (a < 0) != (b < 0)) --q;  // rounded down
            out = tree.op == Tree::Op::div ? q : a - q * b;
            break;
        }
        case Tree::Op::min: out = std::min(a, b); break;
        case Tree::Op::max: out = std::max(a, b); break;
        case Tree::Op::at_least: out = a >= b ? 1 : 0; break;
        case Tree::Op::both: out = a != 0 && b != 0 ? 1 : 0; break;
    }
    constexpr __int128 kLimit = static_cast<__int128>(1) << 62;
    if (out > kLimit || out < -kLimit) return std::nullopt;
    return static_cast<std::int64_t>(out);
}

BuiltExpression build(ExprContext& context, const DrawnExpression& drawn) {
    std::vector<Expr> variables;
    for (const DrawnVariable& v : drawn.variables) {
        variables.push_back(
            v.size < 0
                ? context.variable(v.name, v.low, v.high)
                : context.counter(v.name, variables[static_cast<std::size_t>(v.size)] * v.scale));
    }
    const auto make = [&](const auto& self, const Tree& tree) -> Expr {
        if (tree.op == Tree::Op::constant) return context.constant(tree.value);
        if (tree.op == Tree::Op::variable) return variables[static_cast<std::size_t>(tree.value)];
        const Expr a = self(self, tree.parts[0]);
        const Expr b = self(self, tree.parts[1]);
        switch (tree.op) {
            case Tree::Op::constant:
            case Tree::Op::variable: break;
            case Tree::Op::add: return a + b;
            case Tree::Op::sub: return a - b;
            case Tree::Op::mul: return a * b;
            case Tree::Op::div: return floor_div(a, b);
            case Tree::Op::mod: return mod(a, b);
            case Tree::Op::min: return min(a, b);
            case Tree::Op::max: return max(a, b);
            case Tree::Op::at_least: return at_least(a, b);
            case Tree::Op::both: return both(a, b);
        }
        __builtin_unreachable();
    };
    const Expr expr = make(make, drawn.tree);
    return {std::move(variables), expr};
}

std::string text_of(const DrawnExpression& drawn, const Tree& tree) {
    static constexpr const char* kSigns[] = {"",  "",    "+",   "-",  "*",  "/",
                                             "%", "min", "max", ">=", "and"};
    if (tree.op == Tree::Op::constant) return fmt::format("{}", tree.value);
    if (tree.op == Tree::Op::variable)
        return drawn.variables[static_cast<std::size_t>(tree.value)].name;
    return fmt::format("({} {} {})", text_of(drawn, tree.parts[0]),
                       kSigns[static_cast<std::size_t>(tree.op)], text_of(drawn, tree.parts[1]));
}

std::string smt_of(const Tree& tree) {
    const auto number = [](std::int64_t v) {
        return v < 0 ? fmt::format("(- {})", -v) : fmt::format("{}", v);
    };
    if (tree.op == Tree::Op::constant) return number(tree.value);
    if (tree.op == Tree::Op::variable) return fmt::format("v{}", tree.value);
    const std::string a = smt_of(tree.parts[0]);
    const std::string b = smt_of(tree.parts[1]);
    switch (tree.op) {
        case Tree::Op::constant:
        case Tree::Op::variable: break;
        case Tree::Op::add: return fmt::format("(+ {} {})", a, b);
        case Tree::Op::sub: return fmt::format("(- {} {})", a, b);
        case Tree::Op::mul: return fmt::format("(* {} {})", a, b);
        case Tree::Op::div: return fmt::format("(floordiv {} {})", a, b);
        case Tree::Op::mod: return fmt::format("(floormod {} {})", a, b);
        case Tree::Op::min: return fmt::format("(minimum {} {})", a, b);
        case Tree::Op::max: return fmt::format("(maximum {} {})", a, b);
        case Tree::Op::at_least: return fmt::format("(ite (>= {} {}) 1 0)", a, b);
        case Tree::Op::both:
            return fmt::format("(ite (and (not (= {} 0)) (not (= {} 0))) 1 0)", a, b);
    }
    __builtin_unreachable();
}

}  // namespace lazuli::tests
