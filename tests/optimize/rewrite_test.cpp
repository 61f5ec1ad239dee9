#include "optimize/rewrite.h"

#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "optimize/pattern.h"
#include "optimize/pipeline.h"

namespace lazuli::optimize {
namespace {

Program chain(int length) {
    ProgramBuilder builder;
    const Value x = builder.param("x", {f32, {4}});
    const Value one = builder.constant(1.0, {f32, {}});
    Value v = x;
    for (int i = 0; i < length; ++i) {
        const Value operands[] = {v, one};
        v = builder.op("mul", operands);
    }
    builder.result(v);
    return builder.build();
}

TEST(Rewrite, EveryOperationIsLookedAtOnce) {
    const Program program = chain(10'000);
    std::int64_t looked = 0;
    Fuel fuel;
    const Program same =
        Rewriter(fuel).run(program, [&](Rewriter&, const Candidate&) -> std::optional<Value> {
            ++looked;
            return std::nullopt;
        });
    EXPECT_EQ(looked, static_cast<std::int64_t>(program.size()));
    EXPECT_EQ(same, program);
    EXPECT_EQ(run_pass("algebra", program).size(), 0U);
}

TEST(Rewrite, ARuleThatNeedsNumbersDoesNotApplyToExpressions) {
    const auto run = [](Dim size) {
        ProgramBuilder builder;
        const Value x = builder.param("x", {f32, {size}});
        builder.result(builder.op("exp", {&x, 1}));
        const Program program = builder.build();
        Fuel fuel;
        std::int64_t looked = 0;
        const Program out = Rewriter(fuel).run(
            program, [&](Rewriter& rewriter, const Candidate& candidate) -> std::optional<Value> {
                ++looked;
                if (candidate.def().name == "tanh") return std::nullopt;
                (void)rewriter.emit(require_op("tanh"), candidate.inputs, {}, candidate.spec);
                if (candidate.spec.shape[0] != 3) throw ShapeError("not three", "3", "others");
                return std::nullopt;
            });
        EXPECT_EQ(looked, 2);
        EXPECT_EQ(fuel.used, 0);
        return std::pair(out, program);
    };
    // What it made before it stopped is left out.
    const auto [symbolic, given] = run(dim("rewrite_n", 1, 9));
    EXPECT_EQ(symbolic, given);
    const auto [same, numbers] = run(3);
    EXPECT_EQ(same, numbers);
    EXPECT_THROW((void)run(4), ShapeError);
}

TEST(Rewrite, FuelStopsAfterSoManyRewrites) {
    const Program program = chain(10);
    for (std::int64_t n = 0; n <= 10; ++n) {
        const std::size_t left = static_cast<std::size_t>(10 - n);
        EXPECT_EQ(run_pass("algebra", program, n).size(), left == 0 ? 0 : left + 1);
    }
}

TEST(Rewrite, PassesAreReported) {
    std::vector<std::string> names;
    std::int64_t rewrites = 0;
    (void)optimize(chain(3),
                   {.disabled = {"fold"},
                    .verify = true,
                    .observe = [&](const PassReport& report, const Program&, const Program&) {
                        names.emplace_back(report.name);
                        rewrites += report.rewrites;
                    }});
    EXPECT_EQ(names, (std::vector<std::string>{"canonicalize", "algebra", "merge_equal",
                                               "merge_loops", "open_anew"}));
    EXPECT_EQ(rewrites, 3);
}

TEST(Rewrite, OnlyExactRulesRun) {
    for (const Rule& rule : algebra_rules()) EXPECT_EQ(rule.fp, Fp::exact) << rule.name;
}

}  // namespace
}  // namespace lazuli::optimize
