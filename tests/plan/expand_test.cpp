#include "plan/expand.h"

#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "lazuli/functional.h"

namespace lazuli {
namespace {

Program softmax_program() {
    return Program::parse(
        "program(x: f32[2, 3]) { %0 = softmax(x) axis=1 : f32[2, 3] return %0 as y }");
}

bool has_op(const Program& p, std::string_view name) {
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (p.operation(i).def().name == name) return true;
    }
    return false;
}

TEST(Expand, LeavesNoComposite) {
    const Program p = plan::expand(softmax_program(), {});
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_FALSE(p.operation(i).def().is_composite());
    EXPECT_EQ(p.results()[0].name, "y");
    EXPECT_EQ(p.spec(p.results()[0].value).str(), "f32[2, 3]");
    p.verify();
}

TEST(Expand, NestedCompositesGoToo) {
    const Program p =
        plan::expand(Program::parse("program(x: f32[2, 3], w: f32[3, 4], b: f32[4]) { %0 = "
                                    "matmul_bias(x, w, b) activation=gelu : f32[2, 4] return %0 }"),
                     {});
    EXPECT_TRUE(has_op(p, "dot_general"));
    EXPECT_TRUE(has_op(p, "erf"));
    EXPECT_FALSE(has_op(p, "gelu"));
}

TEST(Expand, KeepsWhatTheBackendTakesWhole) {
    const Program p = plan::expand(
        softmax_program(),
        {.keeps = [](const OpDef& op, auto, const auto&) { return op.name == "softmax"; }});
    EXPECT_EQ(p, softmax_program());
}

TEST(Expand, TheForcedImplementationIsTaken) {
    const functional::PolicyScope scope("softmax", functional::Policy::force("logsumexp"));
    const Program p = plan::expand(softmax_program(), {});
    EXPECT_TRUE(has_op(p, "log"));
    EXPECT_FALSE(has_op(p, "div"));
}

TEST(Expand, AForcedImplementationThatDoesNotServeSaysSo) {
    const functional::PolicyScope scope("matmul", functional::Policy::force("multiply_sum"));
    try {
        (void)plan::expand(Program::parse("program(x: f32[4096, 4096]) { %0 = matmul(x, x) "
                                          "activation=none : f32[4096, 4096] return %0 }"),
                           {});
        FAIL();
    } catch (const ArgumentError& e) {
        EXPECT_STREQ(e.what(),
                     "matmul: the forced implementation 'multiply_sum' does not serve (f32[4096, "
                     "4096], f32[4096, 4096]): it would hold "
                     "all 16777216 x 4096 products at once");
    }
}

TEST(Expand, BenchmarkAsksForTheFastest) {
    const functional::PolicyScope scope("softmax", functional::Policy::benchmark(9));
    std::size_t asked = 0;
    const Program p =
        plan::expand(softmax_program(),
                     {.fastest = [&](OpId, const InferArgs&,
                                     std::span<const std::size_t> candidates, std::size_t cache) {
                         ++asked;
                         EXPECT_EQ(candidates.size(), 2U);
                         EXPECT_EQ(cache, 9U);
                         return candidates[1];
                     }});
    EXPECT_EQ(asked, 1U);
    EXPECT_TRUE(has_op(p, "log"));
}

}  // namespace
}  // namespace lazuli
