// Programs drawn at random whose sizes are expressions: expanded and optimised, they give the bits
// of the numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "drawn.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "symbolic_run.h"

namespace lazuli {
namespace {

TEST(SymbolicRandom, ViewsOfViewsGiveTheBitsOfTheNumbers) {
    const char* is_long = std::getenv("LAZULI_LONG");
    const std::uint64_t programs = is_long != nullptr && *is_long == '1' ? 40000 : 600;
    int operations = 0;
    int left = 0;
    std::map<std::string_view, int> which;
    for (std::uint64_t seed = 0; seed < programs; ++seed) {
        const Program program = tests::Drawn(seed).build();
        SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program.str()));
        program.verify();
        ASSERT_EQ(Program::parse(program.str()), program);
        operations += static_cast<int>(program.size());
        const Program expanded = plan::expand(program, {});
        const Program optimized = optimize::optimize(expanded, {.verify = true});
        for (std::size_t i = 0; i < optimized.size(); ++i) {
            const OpDef& def = optimized.operation(i).def();
            if (def.move == nullptr || has(def.traits, Trait::view)) continue;
            ++left;
            ++which[def.name];
        }
        const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 2}, {2, 2}, {3, 5}, {5, 4}};
        for (const auto& [b, t] : sizes) {
            const tests::Bindings bindings{{"drawn_b", b}, {"drawn_t", t}};
            const Program numbers = tests::instance_of(program, bindings);
            const Program better = tests::instance_of(optimized, bindings);
            better.verify();
            const auto operands = tests::draw(numbers, {}, seed);
            std::string thrown;
            const auto wanted = tests::run(plan::expand(numbers, {}), operands, thrown);
            ASSERT_EQ(tests::run(better, operands, thrown), wanted) << better.str();
            ASSERT_EQ(thrown, "");
        }
    }
    fmt::print("{} programs of {} operations; {} movements have no view\n", programs, operations,
               left);
    for (const auto& [name, count] : which) fmt::print("  {}: {}\n", name, count);
}

}  // namespace
}  // namespace lazuli
