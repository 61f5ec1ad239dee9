#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "lazuli/symbolic.h"

namespace lazuli {
namespace {

class Expressions : public testing::Test {
   protected:
    Expr number(std::int64_t v) { return context.constant(v); }
    std::string parsed(std::string_view text) {
        return context
            .parse(text,
                   [this](std::string_view name) -> std::optional<Expr> {
                       if (name == "i") return i;
                       if (name == "j") return j;
                       if (name == "k") return k;
                       if (name == "b") return b;
                       if (name == "t") return t;
                       if (name == "u") return u;
                       return std::nullopt;
                   })
            .str();
    }
    ExprContext context;
    Expr i = context.variable("i", 0, 9);
    Expr j = context.variable("j", 0, 3);
    Expr k = context.variable("k", -5, 5);
    Expr b = context.variable("b", 1, 64);
    Expr t = context.counter("t", b);
    Expr u = context.counter("u", b * 3);
};

TEST_F(Expressions, SumsAreKeptMultipliedOut) {
    EXPECT_EQ(parsed("i + j - i"), "j");
    EXPECT_EQ(parsed("(i + 1)*(j - 1)"), "-i + j + i*j - 1");
    EXPECT_EQ(parsed("2*i + 3*i - 5*i"), "0");
    EXPECT_EQ(parsed("(i + j)*b - j*b"), "b*i");
    EXPECT_EQ(i + j, j + i);
}

TEST_F(Expressions, QuotientsTakeWholeMultiplesOut) {
    EXPECT_EQ(parsed("(4*i + j) / 4"), "i");
    EXPECT_EQ(parsed("(4*i + j) % 4"), "j");
    EXPECT_EQ(parsed("(4*i + 5) / 4"), "i + 1");
    EXPECT_EQ(parsed("(4*i + i) / 4"), "i + i / 4");
    EXPECT_EQ(parsed("(6*i + 3) / 9"), "(2*i + 1) / 3");
    EXPECT_EQ(parsed("(8*i + j) / 12"), "2*i / 3");
    EXPECT_EQ(parsed("(8*i + j) % 12"), "j + 4*(2*i % 3)");
    EXPECT_EQ(parsed("i / 2 / 3"), "i / 6");
    EXPECT_EQ(parsed("i % 6 / 3"), "i / 3 % 2");
    EXPECT_EQ(parsed("i % 8 % 4"), "i % 4");
    EXPECT_EQ(parsed("4*(i / 4) + i % 4"), "i");
    EXPECT_EQ(parsed("4*(i / 4 % 2) + i % 4"), "i % 8");
    EXPECT_EQ(parsed("k / (0 - 2)"), "(-k) / 2");
    EXPECT_EQ(parsed("i / 10"), "0");
    EXPECT_EQ(parsed("(i + 20) % 10"), "i");
}

TEST_F(Expressions, DivisorsMayBeExpressions) {
    EXPECT_EQ(parsed("(i*b + t) / b"), "i");
    EXPECT_EQ(parsed("(i*b + t) % b"), "t");
    EXPECT_EQ(parsed("(4*b*i + 4*t + j) / (4*b)"), "i");
    EXPECT_EQ(parsed("(4*b*i + 4*t + j) / 4"), "t + b*i");
    EXPECT_EQ(parsed("(i*(b + 1) + t) / (b + 1)"), "i");
    EXPECT_EQ(parsed("u / b"), "u / b");
    EXPECT_EQ(parsed("b*(u / b) + u % b"), "u");
    EXPECT_EQ(parsed("b*i / b"), "i");
}

TEST_F(Expressions, ComparisonsAreAnsweredWhereTheyCanBe) {
    EXPECT_EQ(prove(less(t, b)), Truth::yes);
    EXPECT_EQ(prove(less(b, t)), Truth::no);
    EXPECT_EQ(prove(at_least(t, number(3))), Truth::depends);
    EXPECT_EQ(prove(less(t * 4 + j, b * 4)), Truth::yes);
    EXPECT_EQ(prove(at_least(b * i, i)), Truth::yes);
    EXPECT_EQ(prove(equal(i + j, j + i)), Truth::yes);
    EXPECT_EQ(prove(equal(i, i + 1)), Truth::no);
    EXPECT_EQ(prove(equal(i, j)), Truth::depends);
    EXPECT_EQ(parsed("4*i + j >= 4"), "i >= 1");
    EXPECT_EQ(parsed("i / 3 >= 2"), "i >= 6");
    EXPECT_EQ(parsed("2 >= i / 3"), "8 >= i");
    EXPECT_EQ(parsed("i >= 3 and i >= 5"), "i >= 5");
    EXPECT_EQ(parsed("i >= 5 and 4 >= i"), "0");
    EXPECT_EQ(negated(at_least(i, number(5))), less(i, number(5)));
}

TEST_F(Expressions, SmallerAndLarger) {
    EXPECT_EQ(parsed("min(i, 20)"), "i");
    EXPECT_EQ(parsed("max(i, 20)"), "20");
    EXPECT_EQ(parsed("min(i, i + 1, k)"), "min(i, k)");
    EXPECT_EQ(min(t, b), t);
    EXPECT_EQ(min(i, j).bounds(), (Bounds{0, 3}));
    EXPECT_EQ(max(i, k).bounds(), (Bounds{0, 9}));
}

TEST_F(Expressions, AssumingNarrowsBounds) {
    const Expr wrapped = mod(i + 3, 8);
    EXPECT_EQ(wrapped.str(), "(i + 3) % 8");
    EXPECT_EQ(wrapped.assuming(less(i, number(5))).str(), "i + 3");
    EXPECT_EQ(wrapped.assuming(at_least(i, number(5))).str(), "i - 5");
    EXPECT_EQ(wrapped.assuming(at_least(j, number(1))), wrapped);
}

// Found by drawing expressions: the upper end of -16*v*v left 64 bits and was taken for infinity.
TEST_F(Expressions, BoundsBeyond64BitsSwallowNothing) {
    const Expr v = context.variable("v", 999'999'999, 1'000'000'000);
    const Expr p = v * v * 16 - v * 15'999'999'984;
    EXPECT_EQ(prove(at_least(v, p)), Truth::depends);
}

TEST_F(Expressions, EvaluateAndSubstitute) {
    const Expr e = floor_div(i * 3 + k, 4) + mod(k, 3);
    const auto at = [&](std::int64_t iv, std::int64_t kv) {
        return e.evaluate([&](Expr v) { return v == i ? iv : kv; });
    };
    EXPECT_EQ(at(0, -5), -2 + 1);
    EXPECT_EQ(at(9, 5), 8 + 2);
    EXPECT_EQ(e.substitute([&](Expr v) {
                   return v == k ? std::optional(number(1)) : std::nullopt;
               }).str(),
              floor_div(i * 3 + 1, 4).str() + " + 1");
    EXPECT_EQ(e.vars(), (std::vector<Expr>{i, k}));
    EXPECT_THROW((void)floor_div(i, k).evaluate([](Expr) { return 0; }), ArgumentError);
    EXPECT_THROW((void)number(INT64_MAX), ArgumentError);
    EXPECT_THROW((void)context.variable("none", 3, 2), ArgumentError);
}

TEST_F(Expressions, TextReadsBack) {
    for (const char* text : {"i", "-i + 3", "3*(i / 4) + j", "min(i, k)*b", "(i + k) / b % 7",
                             "i >= j and k >= 2", "-(i / 4)", "(i >= j)*4", "-(i % 3) - 1",
                             "i*(k / 2)", "i*j / 7", "2*i*j % 7", "max(0, k) - 5"})
        EXPECT_EQ(parsed(text), parsed(parsed(text))) << text;
    EXPECT_EQ(parsed("-(i / 4)"), "-(i / 4)");
    EXPECT_EQ(parsed("0 - i / 4"), "-(i / 4)");
    EXPECT_THROW((void)parsed("i +"), ParseError);
    EXPECT_THROW((void)parsed("i + x"), ParseError);
    EXPECT_THROW((void)parsed("i j"), ParseError);
    EXPECT_THROW((void)parsed("99999999999999999999"), ParseError);
    EXPECT_THROW((void)parsed(std::string(1000, '(')), ParseError);
}

TEST_F(Expressions, ContextsMix) {
    ExprContext other;
    const Expr sum = other.variable("i", 0, 9) + i;
    EXPECT_EQ(sum.str(), "2*i");
    EXPECT_EQ(context.import(sum), i * 2);
}

TEST(Dim, IsANumberOrAnExpression) {
    const Dim b = dim("batch", 1, 64);
    EXPECT_EQ(dim("batch", 1, 64), b);
    EXPECT_THROW((void)dim("batch", 1, 65), ArgumentError);
    EXPECT_THROW((void)dim("empty", 2, 1), ArgumentError);
    EXPECT_EQ(sizeof(Dim), 8U);
    EXPECT_EQ((Dim(6) / 4).value(), 1);
    EXPECT_EQ((Dim(-6) % 4).value(), 2);
    EXPECT_EQ((b * 4 + 1).str(), "4*batch + 1");
    EXPECT_EQ(b * 4 / 4, b);
    EXPECT_EQ(b - b, Dim(0));
    EXPECT_EQ((b * 2).bounds(), (Bounds{2, 128}));
    EXPECT_EQ((b * 4 + 1).evaluate({{{"batch", 3}}}), 13);
    EXPECT_THROW((void)b.evaluate({{{"batch", 65}}}), ArgumentError);
    EXPECT_THROW((void)b.evaluate({}), ArgumentError);
    EXPECT_THROW((void)b.value(), ShapeError);
    EXPECT_EQ(less(b, 65), Truth::yes);
    EXPECT_EQ(less(b, 64), Truth::depends);
    EXPECT_EQ(at_least(b, 1), Truth::yes);
    EXPECT_EQ(equal(b, b + 1), Truth::no);
    EXPECT_THROW((void)(Dim(INT64_MAX) + 1), ShapeError);
    EXPECT_THROW((void)(b / 0), ArgumentError);
    EXPECT_EQ(min(b, 100), b);
    EXPECT_EQ(max(b, 100), Dim(100));
}

}  // namespace
}  // namespace lazuli
