// Composites of sizes that are expressions: what they are built of, optimised or not, is at any
// numbers a program that gives the bits of the one built of the numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lazuli/error.h"
#include "lazuli/functional.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "symbolic_calls.h"
#include "symbolic_run.h"

namespace lazuli {
namespace {

using tests::Bindings;
using tests::Bytes;
using tests::Call;
using tests::instance_of;

/// Bodies are run by the runtime, which layers above do not have.
bool has_bodies(const OpDef& def) {
    return std::ranges::any_of(def.attrs,
                               [](const AttrDef& attr) { return attr.kind == AttrKind::program; });
}

/// Cases that cannot be built with variables, and why.
struct Known {
    std::string_view op;
    int refused;
    std::string_view why;
};
constexpr Known kKnown[] = {
    {"einsum", 1, "the smallest of several products comes first"},
    {"interpolate", 4, "sizes that stay are not interpolated"},
};

/// Calls f(op, program with variables, call) for each case that infers.
template <class F>
void for_each_program(F&& f) {
    for (int id = 0; id < op_count(); ++id) {
        const OpDef& def = op_def(static_cast<OpId>(id));
        for (const Call& call : tests::calls_of(def)) {
            const auto varied = tests::varied(def, call);
            if (varied && varied->call.infer_of(def)) f(def, *varied);
        }
    }
}

struct Seen {
    int built = 0;
    int compared = 0;
    int failing = 0;
    std::set<std::string_view> ops;
    std::map<std::string_view, std::vector<std::string>> refused;
    std::set<std::string> unmoved;
};

/// One case, expanded and optimised, beside those of the numbers.
void expect_bits_of_numbers(const OpDef& def, const tests::VariedCall& varied, Seen& seen) {
    const Program program = varied.call.program(def);
    Program expanded = program;
    try {
        expanded = plan::expand(program, {});
    } catch (const Error& error) {
        EXPECT_NE(std::string_view(error.what()).find(def.name), std::string_view::npos)
            << error.what();
        seen.refused[def.name].emplace_back(error.what());
        return;
    }
    SCOPED_TRACE(expanded.str());
    ++seen.built;
    seen.ops.insert(def.name);
    const Program optimized = optimize::optimize(expanded, {.verify = true});
    for (std::size_t i = 0; i < optimized.size(); ++i) {
        const OpDef& left = optimized.operation(i).def();
        if (left.move != nullptr && !has(left.traits, Trait::view))
            seen.unmoved.insert(fmt::format("{} in {}", left.name, def.name));
    }
    for (const std::int64_t more : {0, 1, 4}) {
        const Bindings bindings = varied.larger_by(more);
        const Program numbers = plan::expand(varied.at(bindings).program(def), {});
        const Program plain = instance_of(expanded, bindings);
        const Program better = instance_of(optimized, bindings);
        plain.verify();
        better.verify();
        for (std::size_t i = 0; i < numbers.results().size(); ++i) {
            const TensorSpec spec = numbers.spec(numbers.results()[i].value);
            EXPECT_EQ(plain.spec(plain.results()[i].value), spec);
            EXPECT_EQ(better.spec(better.results()[i].value), spec);
        }
        if (has_bodies(def)) continue;
        const std::vector<Bytes> operands = tests::draw(numbers, def.sample, 7);
        std::string thrown[3];
        const auto wanted = tests::run(numbers, operands, thrown[0]);
        EXPECT_EQ(tests::run(plain, operands, thrown[1]), wanted) << plain.str();
        EXPECT_EQ(tests::run(better, operands, thrown[2]), wanted) << better.str();
        EXPECT_EQ(thrown[1], thrown[0]);
        EXPECT_EQ(thrown[2], thrown[0]);
        ++seen.compared;
        seen.failing += thrown[0].empty() ? 0 : 1;
    }
}

TEST(SymbolicExpand, GivesTheBitsOfTheNumbers) {
    Seen seen;
    for_each_program([&](const OpDef& def, const tests::VariedCall& varied) {
        expect_bits_of_numbers(def, varied, seen);
    });
    for (const auto& [op, reasons] : seen.refused) {
        const auto* at = std::ranges::find(kKnown, op, &Known::op);
        EXPECT_EQ(static_cast<int>(reasons.size()), at == std::end(kKnown) ? 0 : at->refused)
            << reasons[0];
    }
    for (const Known& known : kKnown) EXPECT_TRUE(seen.refused.contains(known.op)) << known.why;
    fmt::print(
        "symbolic expansion: {} cases of {} ops, {} times the bits of the numbers, of which {} "
        "times an execution error; {} ops refuse\n",
        seen.built, seen.ops.size(), seen.compared, seen.failing, seen.refused.size());
    // What may be empty, or moved by more than there are, has no view that serves all sizes.
    EXPECT_EQ(seen.unmoved, (std::set<std::string>{"diagonal in diagonal", "roll in roll"}));
    EXPECT_GT(seen.ops.size(), 150U);
}

TEST(SymbolicExpand, OtherImplementationsToo) {
    Seen seen;
    for_each_program([&](const OpDef& def, const tests::VariedCall& varied) {
        for (std::size_t i = 1; i < def.implementations.size(); ++i) {
            const Implementation& other = def.implementations[i];
            const functional::PolicyScope scope(def.name,
                                                functional::Policy::force(std::string(other.name)));
            expect_bits_of_numbers(def, varied, seen);
        }
    });
    EXPECT_EQ(seen.ops,
              (std::set<std::string_view>{"softmax", "layer_norm", "matmul", "matmul_bias"}));
    // Sizes may be so large that all products at once are too many.
    std::set<std::string_view> refused;
    for (const auto& [op, reasons] : seen.refused) refused.insert(op);
    EXPECT_EQ(refused, (std::set<std::string_view>{"matmul", "matmul_bias"}));
}

}  // namespace
}  // namespace lazuli
