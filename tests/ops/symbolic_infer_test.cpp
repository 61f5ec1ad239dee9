// Inference with sizes that are expressions: every op's cases with variables for their sizes. What
// it infers must be what it infers of the numbers, at any of them; what it cannot, it must refuse.
// Such a call is a program, in all formats, and with numbers the program of the numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lazuli/error.h"
#include "lazuli/op.h"
#include "lazuli/program.h"
#include "symbolic_calls.h"

namespace lazuli {
namespace {

using tests::Bindings;
using tests::Call;

/// The sizes of a result at a binding.
Shape at(const Shape& shape, const Bindings& bindings) {
    Shape out;
    for (int i = 0; i < shape.rank(); ++i) out.push_back(shape.dim(i).evaluate(bindings));
    return out;
}

void expect_formats(const Program& program) {
    EXPECT_EQ(Program::parse(program.str()), program) << program.str();
    EXPECT_EQ(Program::from_json(program.json()), program) << program.str();
    EXPECT_EQ(Program::from_bytes(program.bytes()), program) << program.str();
}

/// The same without variables that the program does not have.
Bindings of_program(const Program& program, Bindings bindings) {
    const std::vector<Dim> variables = program.variables();
    std::erase_if(bindings, [&](const SizeBinding& binding) {
        return std::ranges::none_of(variables,
                                    [&](Dim known) { return known.str() == binding.first; });
    });
    return bindings;
}

TEST(SymbolicInfer, IsWhatTheNumbersGiveOrIsRefused) {
    int inferred = 0;
    int refused = 0;
    int instances = 0;
    std::set<std::string_view> ops;
    for (int id = 0; id < op_count(); ++id) {
        const OpDef& def = op_def(static_cast<OpId>(id));
        int refused_here = 0;
        std::string reasons;
        for (const Call& call : tests::calls_of(def)) {
            const auto varied = tests::varied(def, call);
            if (!varied) continue;
            std::string why;
            const auto symbolic = varied->call.infer_of(def, &why);
            if (!symbolic) {
                ++refused_here;
                reasons += "  " + why + "\n";
                EXPECT_NE(why.find(def.name), std::string::npos) << why;
                continue;
            }
            ++inferred;
            ops.insert(def.name);
            const Program program = varied->call.program(def);
            program.verify();
            expect_formats(program);
            for (const std::int64_t more : {0, 1, 7}) {
                const Bindings bindings = varied->larger_by(more);
                const Call numbers = varied->at(bindings);
                const auto there = numbers.infer_of(def, &why);
                ASSERT_TRUE(there) << why;
                const Program instance = program.instantiate(of_program(program, bindings));
                instance.verify();
                EXPECT_EQ(instance, numbers.program(def)) << program.str();
                ++instances;
                EXPECT_EQ(symbolic->dtype, there->dtype) << def.name;
                EXPECT_EQ(at(symbolic->shape, bindings), there->shape)
                    << def.name << ": " << symbolic->str();
            }
        }
        // What is refused is known, and so is why.
        EXPECT_EQ(refused_here, tests::rule_of(def.name).refused) << def.name << ":\n" << reasons;
        refused += refused_here;
    }
    fmt::print("symbolic inference: {} cases of {} ops at {} bindings, {} refused\n", inferred,
               ops.size(), instances, refused);
    EXPECT_GT(ops.size(), 150U);
}

}  // namespace
}  // namespace lazuli
