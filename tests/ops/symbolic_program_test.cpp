// Programs whose sizes are expressions: text, JSON, bytes, and the numbers they become.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "lazuli/program.h"

namespace lazuli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kText =
    R"(program(x: f32[sp_b, sp_t, 768], w: f32[768, 2*sp_t + 1]) where 1 <= sp_b <= 64, 1 <= sp_t <= 4096 {
  %0 = view(x) reshape[sp_b*sp_t,768] : f32[sp_b*sp_t, 768]
  %1 = exp(%0) : f32[sp_b*sp_t, 768]
  %2 = sum(%1) axes=[1] keepdims=false : f32[sp_b*sp_t]
  return %2
}
)";

std::string message(const auto& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST(SymbolicProgram, TextSaysBetweenWhatSizesLie) {
    const Program program = Program::parse(kText);
    EXPECT_EQ(program.str(), kText);
    ASSERT_EQ(program.variables().size(), 2U);
    EXPECT_EQ(program.variables()[0].str(), "sp_b");
    EXPECT_EQ(program.variables()[1].bounds(), (Bounds{1, 4096}));
    EXPECT_EQ(program.params()[1].spec.shape.str(), "[768, 2*sp_t + 1]");
    EXPECT_EQ(Program::from_json(program.json()), program);
    EXPECT_EQ(Program::from_bytes(program.bytes()), program);
    EXPECT_THAT(program.json(), HasSubstr("\"lazuli_program\": 2"));
    program.verify();
}

TEST(SymbolicProgram, VariablesAreThoseOfTheSameNameAndBounds) {
    const Program program = Program::parse(kText);
    EXPECT_EQ(program.variables()[0], dim("sp_b", 1, 64));
    // Another program's bounds for the same name are another variable, and no trouble for whoever
    // asks for it first.
    const Program other =
        Program::parse("program(x: f32[sp_other]) where 3 <= sp_other <= 9 {\n  return x\n}\n");
    const Dim asked = dim("sp_other", 1, 20);
    EXPECT_NE(other.variables()[0], asked);
    EXPECT_THROW((void)dim("sp_other", 1, 21), ArgumentError);
}

TEST(SymbolicProgram, BecomesTheProgramOfTheNumbers) {
    const Program program = Program::parse(kText);
    for (const std::int64_t b : {1, 2, 64}) {
        const SizeBinding values[] = {{"sp_b", b}, {"sp_t", 5}};
        const Program instance = program.instantiate(values);
        instance.verify();
        EXPECT_TRUE(instance.variables().empty());
        EXPECT_EQ(instance.params()[0].spec.shape, (Shape{b, 5, 768}));
        EXPECT_EQ(instance.params()[1].spec.shape, (Shape{768, 11}));
        EXPECT_EQ(instance.operation(2).spec().shape, (Shape{5 * b}));
        EXPECT_EQ(Program::parse(instance.str()), instance);
    }
}

TEST(SymbolicProgram, ValuesAreChecked) {
    const Program program = Program::parse(kText);
    const auto with = [&](std::vector<SizeBinding> values) {
        return message([&] { (void)program.instantiate(values); });
    };
    EXPECT_THAT(with({{"sp_b", 65}, {"sp_t", 1}}), HasSubstr("sp_b = 65 is not between 1 and 64"));
    EXPECT_THAT(with({{"sp_b", 1}}), HasSubstr("sp_t has no value"));
    EXPECT_THAT(with({{"sp_b", 1}, {"sp_t", 1}, {"q", 2}}),
                HasSubstr("there is no size 'q'; there are: sp_b, sp_t"));
}

TEST(SymbolicProgram, ParseErrorsSayWhere) {
    const auto of = [](std::string_view text) {
        return message([&] { (void)Program::parse(text); });
    };
    EXPECT_THAT(of("program(x: f32[n]) {\n  return x\n}"), HasSubstr("column 16"));
    EXPECT_THAT(of("program(x: f32[n + m]) where 1 <= n <= 4 {\n  return x\n}"),
                HasSubstr("column 20: 'm' is no variable"));
    EXPECT_THAT(of("program(x: f32[n]) where 4 <= n <= 4 {\n  return x\n}"),
                HasSubstr("no choice between 4 and 4"));
    EXPECT_THAT(of("program(x: f32[n]) where 1 <= n <= 4, 1 <= n <= 4 {\n  return x\n}"),
                HasSubstr("stands twice"));
    EXPECT_THAT(of("program(x: f32[n]) where 1 <= min <= 4 {\n  return x\n}"),
                HasSubstr("'min' is no name for a size"));
    EXPECT_THAT(of("program(x: f32[n - 2]) where 1 <= n <= 4 {\n  return x\n}"),
                HasSubstr("negative size"));
    EXPECT_THAT(of("program(x: f32[n"), HasSubstr("line 1"));
}

}  // namespace
}  // namespace lazuli
