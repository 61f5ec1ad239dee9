#include "codegen/sizes.h"

#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "random.h"

namespace lazuli::codegen {
namespace {

using tests::Random;

/// An expression over some variables, of some depth.
Expr drawn(Random& random, ExprContext& context, const std::vector<Expr>& variables, int depth) {
    if (depth == 0 || random.one_in(6)) {
        if (random.one_in(4)) return context.constant(random.between(-9, 9));
        return variables[random.below(variables.size())];
    }
    const auto part = [&] { return drawn(random, context, variables, depth - 1); };
    const Expr a = part();
    switch (random.below(9)) {
        case 0: return a + part();
        case 1: return a - part();
        case 2: return a * random.between(-5, 5);
        case 3: return a * part();
        // Divisors that may be 0 are left to a test of their own.
        case 4: return floor_div(a, variables[random.below(variables.size())]);
        case 5: return mod(a, random.between(1, 40) * (random.one_in(3) ? -1 : 1));
        case 6: return min(a, part());
        case 7: return max(a, part());
        default: return both(at_least(a, part()), less(a, part()));
    }
}

TEST(SizeTable, SaysWhatExpressionsDo) {
    Random random(3);
    int compared = 0;
    for (int round = 0; round < 300; ++round) {
        ExprContext context;
        const std::vector<Expr> variables{context.variable("b", 1, 64),
                                          context.variable("t", 1, 5000),
                                          context.variable("heads", 2, 12)};
        SizeTable table(variables);
        std::vector<Expr> all;
        std::vector<std::size_t> where;
        for (int i = 0; i < 8; ++i) {
            all.push_back(drawn(random, context, variables, 4));
            where.push_back(table.add(all.back()));
        }
        for (int k = 0; k < 10; ++k) {
            std::vector<std::int64_t> values;
            for (const Expr& v : variables)
                values.push_back(random.between(v.bounds().low, v.bounds().high));
            std::vector<std::int64_t> results(table.size());
            table.evaluate(values, results);
            for (std::size_t i = 0; i < all.size(); ++i) {
                const std::int64_t wanted = all[i].evaluate([&](Expr v) {
                    for (std::size_t n = 0; n < variables.size(); ++n) {
                        if (variables[n] == v) return values[n];
                    }
                    throw InternalError("no such variable");
                });
                ASSERT_EQ(results[where[i]], wanted) << all[i].str();
                ++compared;
            }
        }
    }
    EXPECT_EQ(compared, 24'000);
}

TEST(SizeTable, WhatIsEqualStandsOnce) {
    ExprContext context;
    ExprContext other;
    const std::vector<Expr> variables{context.variable("n", 1, 100)};
    SizeTable table(variables);
    const std::size_t first = table.add(floor_div(variables[0] * 3 + 7, 4));
    const std::size_t instructions = table.instructions();
    // Variables are known by their names, whoever made them.
    const Expr same = floor_div(other.variable("n", 1, 100) * 3 + 7, 4);
    EXPECT_EQ(table.add(same), first);
    EXPECT_EQ(table.instructions(), instructions);
    EXPECT_EQ(table.add(same + 1), first + 1);
    EXPECT_EQ(table.instructions(), instructions + 2);
    EXPECT_EQ(table.add(dim("sizes_test_n", 1, 9) * 0 + 5), first + 2);
    std::vector<std::int64_t> results(table.size());
    table.evaluate(std::vector<std::int64_t>{9}, results);
    EXPECT_EQ(results, (std::vector<std::int64_t>{8, 9, 5}));
}

TEST(SizeTable, RefusesWhatHasNoNumber) {
    ExprContext context;
    const std::vector<Expr> variables{context.variable("n", 0, INT64_MAX - 1)};
    const Expr n = variables[0];
    SizeTable table(variables);
    EXPECT_THROW(table.add(context.variable("m", 1, 5)), ArgumentError);
    (void)table.add(floor_div(context.constant(100), n));
    (void)table.add(n * n);
    std::vector<std::int64_t> results(2);
    table.evaluate(std::vector<std::int64_t>{7}, results);
    EXPECT_EQ(results, (std::vector<std::int64_t>{14, 49}));
    EXPECT_THROW(table.evaluate(std::vector<std::int64_t>{0}, results), ArgumentError);
    EXPECT_THROW(table.evaluate(std::vector<std::int64_t>{std::int64_t{1} << 40}, results),
                 ArgumentError);
    EXPECT_THROW(table.evaluate(std::vector<std::int64_t>{1, 2}, results), ArgumentError);
}

}  // namespace
}  // namespace lazuli::codegen
