// What is proved of sizes: by what quotients, minima and maxima are at least, and never more than
// holds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "lazuli/symbolic.h"
#include "random.h"

namespace lazuli {
namespace {

TEST(DimProof, WindowsAndDiagonalsStayInside) {
    const Dim n = dim("proof_n", 3, 999);
    const Dim m = dim("proof_m", 1, 999);
    // Windows of 3, every 2 elements, of n.
    const Dim windows = (n - 3) / 2 + 1;
    EXPECT_EQ(less((windows - 1) * 2 + 2, n), Truth::yes);
    EXPECT_EQ(less((windows - 1) * 2 + 3, n), Truth::depends);
    // The same, in rows of m.
    EXPECT_EQ(less(((windows - 1) * 2 + 2) * m, n * m), Truth::yes);
    // The last element of a diagonal.
    const Dim last = (min(n, m) - 1) * (m + 1);
    EXPECT_EQ(less(last, n * m), Truth::yes);
    EXPECT_EQ(at_least(max(n, m), n), Truth::yes);
    EXPECT_EQ(at_least(max(n, m) * m, n * m), Truth::yes);
    EXPECT_EQ(at_least(0, (n / 2) * 2 - n + 2), Truth::no);
    EXPECT_EQ(at_least((n / 2) * 2, n), Truth::depends);
    // Powers of one size: rows of a square.
    EXPECT_EQ(at_least(n * n, n * 3), Truth::yes);
    EXPECT_EQ(at_least(n * n, n * 4), Truth::depends);
    EXPECT_EQ(less(n * 2, n * n), Truth::yes);
    EXPECT_EQ(at_least(min(n, m), n), Truth::depends);
}

/// An expression over two sizes.
Dim drawn(tests::Random& random, std::span<const Dim> sizes, int depth) {
    if (depth == 0) {
        return random.one_in(3) ? Dim(random.between(-3, 5)) : sizes[random.below(sizes.size())];
    }
    const Dim a = drawn(random, sizes, depth - 1);
    const Dim b = drawn(random, sizes, depth - 1);
    switch (random.below(6)) {
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a / random.between(1, 4);
        case 4: return min(a, b);
        default: return max(a, b);
    }
}

TEST(DimProof, IsNeverMoreThanHolds) {
    const Dim sizes[] = {dim("proof_a", 1, 6), dim("proof_b", 2, 7)};
    tests::Random random(5);
    int proved = 0;
    for (int i = 0; i < 4000; ++i) {
        const Dim x = drawn(random, sizes, 1 + static_cast<int>(random.below(3)));
        const Dim y = drawn(random, sizes, 1 + static_cast<int>(random.below(3)));
        const Truth known = at_least(x, y);
        if (known == Truth::depends) continue;
        ++proved;
        for (std::int64_t a = 1; a <= 6; ++a) {
            for (std::int64_t b = 2; b <= 7; ++b) {
                const SizeBinding at[] = {{"proof_a", a}, {"proof_b", b}};
                ASSERT_EQ(x.evaluate(at) >= y.evaluate(at), known == Truth::yes)
                    << x.str() << " >= " << y.str() << " at " << a << ", " << b;
            }
        }
    }
    fmt::print("{} of 4000 comparisons of sizes proved\n", proved);
    EXPECT_GT(proved, 1000);
}

}  // namespace
}  // namespace lazuli
