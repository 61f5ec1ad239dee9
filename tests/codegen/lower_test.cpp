#include "codegen/lower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace lazuli::codegen {
namespace {

/// A reduction of f64[3, n] to a number, and how its one loop counts.
struct Reduced {
    Kernel kernel;
    explicit Reduced(const char* op, int n) {
        const Program program = Program::parse(fmt::format(
            "program(x: f64[3, {}]) {{\n  %0 = {}(x) axes=[0, 1] keepdims=false : f64[]\n"
            "  return %0\n}}",
            n, op));
        kernel = lower(program, {{0}, {ValueRef::op(0)}}, "k").kernel;
    }
    Statement& loop() {
        for (Statement& s : kernel.body) {
            if (s.kind == StatementKind::reduce) return s;
        }
        throw std::logic_error("no reduction");
    }
    double operator()(std::vector<double>& x) const {
        double out = 0;
        void* buffers[] = {x.data(), &out};
        interpret(kernel, buffers);
        return out;
    }
};

TEST(Lower, TheBitsOfASumDoNotDependOnHowManyLanesAreLeftOut) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> draw(-1, 1);
    for (const char* op : {"sum", "prod", "max", "min"}) {
        for (int n = 2; n <= 130; ++n) {
            Reduced some(op, n);
            Reduced all(op, n);
            all.loop().lanes = 64;
            EXPECT_LT(some.loop().lanes, 2 * n);
            EXPECT_GE(some.loop().lanes, std::min(n, 64));
            std::vector<double> x(static_cast<std::size_t>(3 * n));
            for (double& v : x) v = random() % 8 == 0 ? -0.0 : draw(random) * 1000;
            const double got = some(x);
            const double want = all(x);
            EXPECT_EQ(std::memcmp(&got, &want, sizeof got), 0)
                << op << " of 3 x " << n << ": " << got << " and not " << want;
        }
    }
}

}  // namespace
}  // namespace lazuli::codegen
