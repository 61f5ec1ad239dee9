// The op table as a whole: records are complete, and agree with the public declarations.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "lazuli/op.h"
#include "ops/threefry.h"

namespace lazuli {
namespace {

TEST(OpTable, EveryRecordIsWhole) {
    ASSERT_GT(op_count(), 40);
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        EXPECT_TRUE(def.doc.ends_with('.')) << def.name;
        EXPECT_FALSE(def.evaluate != nullptr && def.is_composite())
            << def.name << " has two meanings";
        // Elementwise ops without attributes get shapes by themselves, a constant gets the type's
        // edge values.
        const bool has_cases =
            !def.cases.empty() || (has(def.traits, Trait::elementwise) && def.attrs.empty());
        // Loops and conditions are tested with bodies (tests/backend/control_test.cpp).
        const bool has_body = def.name == "argument" ||
                              (!def.attrs.empty() && def.attrs[0].kind == AttrKind::program);
        const bool exempt = has(def.traits, Trait::leaf) || def.name == "constant" ||
                            def.name == "custom_call" || has_body;
        EXPECT_TRUE(has_cases || exempt) << def.name << " has no cases for the conformance tests";
        for (const AttrDef& attr : def.attrs) {
            EXPECT_EQ(attr.kind == AttrKind::choice, !attr.choices.empty())
                << def.name << " " << attr.name;
        }
    }
}

// The public declarations (ops.inc, and free functions in ops.h) against the table.
TEST(OpTable, AgreesWithThePublicDeclarations) {
    std::ifstream in(LAZULI_SOURCE_DIR "/include/lazuli/ops.inc");
    ASSERT_TRUE(in.good());
    std::map<std::string, std::string> declared;
    std::string doc;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("/// ")) doc = line.substr(4);
        if (!line.starts_with("LAZULI_OP(") && !line.starts_with("LAZULI_OP_OWN(")) continue;
        const std::size_t open = line.find('(');
        declared[line.substr(open + 1, line.find(',') - open - 1)] = doc;
    }
    // Declared by hand, because they take no operand of their own or a list of them; or not at all,
    // because only other ops record them.
    const std::set<std::string> by_hand{"constant",
                                        "concat",
                                        "stack",
                                        "einsum",
                                        "iota",
                                        "custom_call",
                                        "data",
                                        "scalar",
                                        "view",
                                        "part",
                                        "argument",
                                        "loop",
                                        "cond",
                                        "while_loop",
                                        "time_mix_v7",
                                        "bundle",
                                        "anew",
                                        "checkpoint",
                                        "custom_gradient",
                                        "time_mix_v7_grad"};
    // Functions of their own in linalg.h and fft.h.
    const std::set<std::string> elsewhere{"cholesky",         "qr",     "svd", "eigh",  "solve",
                                          "triangular_solve", "inv",    "det", "lstsq", "fft_c2c",
                                          "fft_r2c",          "fft_c2r"};
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        const std::string name(def.name);
        if (by_hand.contains(name) || elsewhere.contains(name)) continue;
        ASSERT_TRUE(declared.contains(name)) << name << " has a record and no public declaration";
        EXPECT_EQ(declared[name], def.doc) << name;
        declared.erase(name);
    }
    for (const auto& [name, text] : declared)
        ADD_FAILURE() << name << " is declared and has no record";
}

// Known answers of the published generator (Random123, kat_vectors: threefry2x32, 20 rounds).
TEST(Random, ThreefryGivesTheKnownAnswers) {
    EXPECT_EQ(ops::threefry(0, 0), 0x99ba4efe'6b200159ULL);
    EXPECT_EQ(ops::threefry(~0ULL, ~0ULL), 0xbb002be7'1cb996fcULL);
    EXPECT_EQ(ops::threefry(0x03707344'13198a2eULL, 0x85a308d3'243f6a88ULL),
              0x483df7a0'c4923a9cULL);
}

}  // namespace
}  // namespace lazuli
