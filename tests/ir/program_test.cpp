// Programs without the built-in ops: this test links no layer below ir, and registers the few ops
// it needs.

#include "lazuli/program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/op_table.h"
#include "lazuli/error.h"

namespace lazuli {
namespace {

OpId twice() {
    static const OpId id = register_op({
        .name = "twice",
        .doc = "Each element twice.",
        .traits = Trait::elementwise | Trait::same_type,
        .evaluate = [](const EvalArgs&) {},
    });
    return id;
}

OpId everything() {
    static constexpr std::string_view colours[] = {"red", "green"};
    static const OpId id = register_op({
        .name = "everything",
        .doc = "An op with an attribute of each kind.",
        .min_inputs = 0,
        .max_inputs = -1,
        .traits = Trait::shaped,
        .attrs = {{"flag", AttrKind::boolean},
                  {"count", AttrKind::integer},
                  {"factor", AttrKind::real},
                  {"value", AttrKind::scalar},
                  {"axes", AttrKind::axes},
                  {"sizes", AttrKind::ints},
                  {"label", AttrKind::text},
                  {"colour", AttrKind::choice, colours}},
        .infer = [](const InferArgs& args) { return *args.wanted; },
        .evaluate = [](const EvalArgs&) {},
    });
    return id;
}

TEST(OpTable, RefusesIncompleteRecords) {
    EXPECT_THROW(register_op({.name = "Bad Name", .doc = "x"}), ArgumentError);
    EXPECT_THROW(register_op({.name = "no_doc", .doc = ""}), ArgumentError);
    EXPECT_THROW(register_op({.name = "no_meaning", .doc = "x", .traits = Trait::elementwise}),
                 ArgumentError);
    EXPECT_THROW(register_op({.name = "no_infer", .doc = "x", .evaluate = [](const EvalArgs&) {}}),
                 ArgumentError);
    (void)twice();
    EXPECT_THROW(register_op({.name = "twice",
                              .doc = "x",
                              .traits = Trait::elementwise,
                              .evaluate = [](const EvalArgs&) {}}),
                 ArgumentError);
    EXPECT_THROW(require_op("unknown"), ArgumentError);
}

Program sample() {
    ProgramBuilder b;
    const Value x = b.param("x", {f32, {2, 3}});
    const Value inputs[] = {x};
    const Value t = b.op(twice(), inputs, {});
    (void)everything();
    const Value more[] = {t, x};
    const std::vector<Attribute> attrs{true,
                                       std::int64_t{-5},
                                       0.1,
                                       Scalar(std::complex<double>(1, -2)),
                                       Ints{0, 1, 2, 3, 4, 5, 6, 7, 8},
                                       Ints{-1, 1LL << 40},
                                       std::string("a \"quoted\"\\ text\n"),
                                       std::string("green")};
    const TensorSpec wanted{bf16, {0, 7}};
    const Value e = b.op("everything", more, attrs, &wanted);
    b.result(e, "out");
    b.result(x);
    return b.build();
}

TEST(Program, PrintsAndReadsBackInAllForms) {
    const Program p = sample();
    p.verify();
    EXPECT_EQ(p.str(),
              "program(x: f32[2, 3]) {\n"
              "  %0 = twice(x) : f32[2, 3]\n"
              "  %1 = everything(%0, x) flag=true count=-5 factor=0.1 value=(1.0-2.0j) axes=[0, 1, "
              "2, 3, 4, 5, 6, 7, 8] "
              "sizes=[-1, 1099511627776] label=\"a \\\"quoted\\\"\\\\ text\\n\" colour=green : "
              "bf16[0, 7]\n"
              "  return %1 as out, x\n"
              "}\n");
    for (const Program& q :
         {Program::parse(p.str()), Program::from_json(p.json()), Program::from_bytes(p.bytes())}) {
        EXPECT_EQ(q, p);
        EXPECT_EQ(q.hash(), p.hash());
        EXPECT_EQ(q.str(), p.str());
        EXPECT_EQ(q.results()[0].name, "out");
    }
}

TEST(Program, AttributesOfEveryKindAreKept) {
    const Program p = sample();
    const Attrs attrs = p.operation(1).attrs();
    EXPECT_TRUE(attrs.boolean(0));
    EXPECT_EQ(attrs.integer(1), -5);
    EXPECT_EQ(attrs.real(2), 0.1);
    EXPECT_EQ(attrs.scalar(3), Scalar(std::complex<double>(1, -2)));
    EXPECT_EQ(attrs.list(4), (Ints{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(attrs.list(5), (Ints{-1, 1LL << 40}));
    EXPECT_EQ(attrs.text(6), "a \"quoted\"\\ text\n");
    EXPECT_EQ(attrs.integer(7), 1);
}

TEST(Program, AxesOfAnyNumberRoundTrip) {
    for (int n = 0; n <= Shape::kMaxRank; ++n) {
        AttrWords words;
        Ints axes;
        for (int i = 0; i < n; ++i) axes.push_back((i * 7) % 64);
        words.boolean(false);
        words.integer(0);
        words.real(0);
        words.scalar(0);
        words.axes(axes.dims());
        words.ints({});
        words.text("");
        words.integer(0);
        ir::check_attr_words(op_def(everything()), words.words());
        EXPECT_EQ(Attrs(op_def(everything()), words.words()).list(4), axes);
    }
}

TEST(Program, NamesAreNoPartOfIdentity) {
    const Program a = Program::parse("program(x: f32[2]) { %0 = twice(x) : f32[2] return %0 }");
    const Program b = Program::parse("program(y: f32[2]) { %z = twice(y) : f32[2] return %z }");
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.hash(), b.hash());
    EXPECT_EQ(a.results()[0].name, "r0");
    EXPECT_EQ(b.results()[0].name, "z");
    const Program c = Program::parse("program(x: f32[3]) { %0 = twice(x) : f32[3] return %0 }");
    EXPECT_FALSE(a == c);
    EXPECT_NE(a.hash(), c.hash());
}

TEST(Program, ParseErrorsSayWhere) {
    const auto message = [](const char* text) -> std::string {
        try {
            (void)Program::parse(text);
            return "parsed";
        } catch (const Error& e) {
            return e.what();
        }
    };
    (void)twice();
    (void)everything();
    EXPECT_EQ(message("program(x f32[2]) {}"), "line 1, column 11: ':' expected");
    EXPECT_EQ(message("program(x: f33[2]) {\n return x }"),
              "line 1, column 12: 'f33' is no element type");
    EXPECT_EQ(message("program(x: f32[2]) {\n  %0 = frobnicate(x) : f32[2]\n return %0 }"),
              "line 2, column 8: there is no op named 'frobnicate'");
    EXPECT_EQ(message("program(x: f32[2]) {\n  %0 = twice(y) : f32[2]\n return %0 }"),
              "line 2, column 14: 'y' is no earlier value");
    EXPECT_EQ(message("program(x: f32[2]) {\n  %0 = twice(x) : f32[3]\n return %0 }"),
              "line 2, column 3: twice is f32[2] but the program says f32[3]");
    EXPECT_EQ(message("program(x: f32[2]) { return x } more"),
              "line 1, column 33: text after the program's end");
    EXPECT_EQ(message("program(x: f32[-2]) { return x }"), "param x: negative size in f32[-2]");
    EXPECT_EQ(message("program(x: f32[2]) { %0 = twice(x, x) : f32[2] return %0 }"),
              "twice: takes 1 operand, 2 given");
    EXPECT_EQ(message("program(x: f32[2]) { return x as a, x as a }"),
              "malformed program: results: the name 'a' stands twice");
    EXPECT_EQ(message(""), "line 1, column 1: program expected");
}

TEST(Program, WordsThatAreNoOperationsAreRefused) {
    EXPECT_THROW((void)ProgramBuilder::from_words({}, {UINT64_MAX}, {}), ArgumentError);
    EXPECT_THROW((void)ProgramBuilder::from_words({}, {std::uint64_t{0xfffe}}, {}), ArgumentError);
}

TEST(Program, BytesAreCheckedToTheEnd) {
    const std::string bytes = sample().bytes();
    for (std::size_t n = 0; n < bytes.size(); ++n)
        EXPECT_THROW((void)Program::from_bytes(bytes.substr(0, n)), Error) << n;
    EXPECT_THROW((void)Program::from_bytes(bytes + "x"), Error);
    std::string other = bytes;
    other[4] = 3;
    try {
        (void)Program::from_bytes(other);
        FAIL();
    } catch (const ArgumentError& e) {
        EXPECT_STREQ(
            e.what(),
            "program bytes: version 3 is none of 1 and 2, those this build reads (at byte 5)");
    }
}

TEST(Builder, AThrowLeavesItAsItWas) {
    ProgramBuilder b;
    const Value x = b.param("x", {f32, {2}});
    const Value one[] = {x};
    const Value two[] = {x, x};
    EXPECT_THROW(b.op(twice(), two, {}), ArgumentError);
    const Value t = b.op(twice(), one, {});
    EXPECT_EQ(t.ref(), ValueRef::op(0));
    ProgramBuilder other;
    EXPECT_THROW(other.op(twice(), one, {}), ArgumentError);
    b.result(t);
    EXPECT_EQ(b.build().size(), 1U);
}

TEST(Scalars, ClassesThatStandInPrograms) {
    for (const double v : {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, HUGE_VAL, -HUGE_VAL})
        EXPECT_TRUE(is_constant_class(v)) << v;
    EXPECT_TRUE(is_constant_class(std::nan("")));
    EXPECT_TRUE(is_constant_class(true));
    for (const double v : {3.0, 0.25, -2.0, 1e-9}) EXPECT_FALSE(is_constant_class(v)) << v;
    EXPECT_FALSE(is_constant_class(UINT64_MAX));
}

}  // namespace
}  // namespace lazuli
