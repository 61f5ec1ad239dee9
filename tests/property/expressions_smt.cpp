// Simplified expressions proven equal to the drawn ones by an SMT solver, for all values at once.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "lazuli/error.h"
#include "long_option.h"
#include "random_expression.h"
#include "symbolic/interner.h"

namespace lazuli::tests {
namespace {

constexpr const char* kDefinitions = R"(
(define-fun floordiv ((a Int) (b Int)) Int (ite (> b 0) (div a b) (div (- a) (- b))))
(define-fun floormod ((a Int) (b Int)) Int (- a (* b (floordiv a b))))
(define-fun minimum ((a Int) (b Int)) Int (ite (< a b) a b))
(define-fun maximum ((a Int) (b Int)) Int (ite (> a b) a b))
)";

std::string number(std::int64_t v) {
    return v < 0 ? fmt::format("(- {})", -v) : fmt::format("{}", v);
}

/// A simplified expression as an SMT-LIB term.
std::string smt_of(const symbolic::Node* node) {
    using symbolic::Kind;
    const auto folded = [&](const char* function) {
        std::string out = smt_of((*node)[0].node);
        for (std::size_t i = 1; i < node->count; ++i)
            out = fmt::format("({} {} {})", function, out, smt_of((*node)[i].node));
        return out;
    };
    switch (node->kind) {
        case Kind::constant: return number(node->value);
        case Kind::variable: return *node->name;
        case Kind::sum: {
            std::string out = number(node->value);
            for (const symbolic::Term& term : *node)
                out += fmt::format(" (* {} {})", number(term.coef), smt_of(term.node));
            return fmt::format("(+ {})", out);
        }
        case Kind::product: return folded("*");
        case Kind::quotient: return folded("floordiv");
        case Kind::remainder: return folded("floormod");
        case Kind::minimum: return folded("minimum");
        case Kind::maximum: return folded("maximum");
        case Kind::nonneg: return fmt::format("(ite (>= {} 0) 1 0)", smt_of((*node)[0].node));
        case Kind::all: return folded("minimum");
    }
    __builtin_unreachable();
}

/// Every divisor of the drawn expression is not zero.
void append_divisors(const Tree& tree, std::string& out) {
    if (tree.op == Tree::Op::div || tree.op == Tree::Op::mod)
        out += fmt::format("(assert (not (= {} 0)))\n", tests::smt_of(tree.parts[1]));
    for (const Tree& part : tree.parts) append_divisors(part, out);
}

TEST(Expressions, AnSmtSolverAgrees) {
    if (std::system("z3 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "z3 is not installed";
    const int queries = tests::count(300, 4'000);
    const auto folder = std::filesystem::temp_directory_path() /
                        fmt::format("lazuli-smt-{}", static_cast<std::uint64_t>(::getpid()));
    std::filesystem::create_directory(folder);
    std::vector<std::string> asked;
    {
        std::ofstream file(folder / "queries.smt2");
        file << "(set-option :timeout 300)\n" << kDefinitions;
        std::uint64_t seed = tests::seed;
        while (static_cast<int>(asked.size()) < queries) {
            Random random(~++seed);
            const DrawnExpression drawn = draw_expression(random);
            ExprContext context;
            std::optional<BuiltExpression> built;
            try {
                built = build(context, drawn);
            } catch (const ArgumentError&) {
                continue;
            }
            std::string query = "(push)\n";
            for (std::size_t i = 0; i < drawn.variables.size(); ++i) {
                const DrawnVariable& v = drawn.variables[i];
                query += fmt::format("(declare-const {0} Int)\n(assert (and (<= {1} {0}) ", v.name,
                                     number(v.low));
                query += v.size < 0 ? fmt::format("(<= {} {})))\n", v.name, number(v.high))
                                    : fmt::format("(< {} (* {} v{}))))\n", v.name, v.scale, v.size);
            }
            append_divisors(drawn.tree, query);
            query += fmt::format("(assert (not (= {} {})))\n(check-sat)\n(pop)\n",
                                 tests::smt_of(drawn.tree), smt_of(built->expr.node()));
            file << query;
            asked.push_back(query + built->expr.str());
        }
    }
    const std::string run = fmt::format("z3 {0}/queries.smt2 > {0}/answers.txt", folder.string());
    (void)std::system(run.c_str());
    std::ifstream answers(folder / "answers.txt");
    std::map<std::string, int> counts;
    std::string line;
    std::size_t at = 0;
    while (std::getline(answers, line)) {
        ASSERT_LT(at, asked.size());
        ASSERT_TRUE(line == "sat" || line == "unsat" || line == "unknown" || line == "timeout")
            << line;
        EXPECT_NE(line, "sat") << asked[at];
        ++counts[line];
        ++at;
    }
    EXPECT_EQ(at, asked.size());
    fmt::print("smt: {} expressions, {} proven equal, {} not decided in 0.3 s\n", asked.size(),
               counts["unsat"], counts["unknown"] + counts["timeout"]);
    EXPECT_GT(counts["unsat"], queries / 2);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lazuli::tests
