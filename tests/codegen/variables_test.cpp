// Kernels whose sizes are known when they run.

#include <gtest/gtest.h>

#include "codegen/collapse.h"
#include "codegen/in_place.h"
#include "codegen/kernel.h"
#include "codegen/phases.h"
#include "lazuli/error.h"

namespace lazuli::codegen {
namespace {

constexpr const char* kRowSums =
    R"(kernel row_sums(in0: f32[n*t], out0: f32[n] out) where 1 <= n <= 64, 1 <= t <= 4096 {
  parallel i0 < n {
    %1 = reduce i1 < t lanes 2 (add f64 from 0.0) {
      %0 = load in0[i1 + t*i0] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    store out0[i0] = %2
  }
}
)";

template <class Do>
std::string message(const Do& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST(Variables, AKernelReadsPrintsAndRuns) {
    const Kernel kernel = Kernel::parse(kRowSums);
    EXPECT_EQ(kernel.str(), kRowSums);
    ASSERT_EQ(kernel.variables.size(), 2);
    EXPECT_EQ(kernel.variables[1].bounds(), (Bounds{1, 4096}));
    std::vector<float> in{1, 2, 3, 4, 5, 6};
    std::vector<float> out(3);
    void* buffers[] = {in.data(), out.data()};
    interpret(kernel, buffers, std::vector<std::int64_t>{3, 2});
    EXPECT_EQ(out, (std::vector<float>{3, 7, 11}));
    interpret(kernel, buffers, std::vector<std::int64_t>{2, 3});
    EXPECT_EQ(out, (std::vector<float>{6, 15, 11}));
}

TEST(Variables, SizesOutOfBoundsAreRefused) {
    const Kernel kernel = Kernel::parse(kRowSums);
    const auto run = [&](std::vector<std::int64_t> sizes) {
        return message([&] { interpret(kernel, {}, sizes); });
    };
    EXPECT_EQ(run({}), "row_sums: 0 sizes given for 2");
    EXPECT_EQ(run({65, 1}), "row_sums: n = 65 is not within 1 to 64");
    EXPECT_EQ(run({2, 0}), "row_sums: t = 0 is not within 1 to 4096");
}

TEST(Variables, TheVerifierFindsAPlaceThatIsWrong) {
    const auto parsed = [](const std::string& head, const std::string& body) {
        return message([&] { (void)Kernel::parse("kernel k(" + head + " {\n" + body + "\n}"); });
    };
    const std::string negates = "%0 = load in0[INDEX] : f32\nstore out0[i] = %0\n}";
    const auto loads = [&](const std::string& elements, const std::string& index) {
        std::string body = negates;
        body.replace(body.find("INDEX"), 5, index);
        return parsed("in0: f32[" + elements + "], out0: f32[n] out) where 1 <= n <= 8",
                      "parallel i < n {\n" + body);
    };
    EXPECT_EQ(loads("n", "i"), "nothing was thrown");
    EXPECT_EQ(loads("n", "n - i - 1"), "nothing was thrown");
    EXPECT_EQ(loads("n*n", "n*i + i"), "nothing was thrown");
    EXPECT_EQ(loads("n", "i + 1"),
              "malformed kernel k: in0[i + 1] is element 1 of 1 where n = 1, i = 0");
    EXPECT_EQ(loads("n", "n - i"),
              "malformed kernel k: in0[-i + n] is element 1 of 1 where n = 1, i = 0");
    EXPECT_EQ(loads("8", "n*i"),
              "malformed kernel k: in0[i*n] is element 56 of 8 where n = 8, i = 7");
    EXPECT_EQ(loads("n - 2", "0"), "malformed kernel k: in0 has a negative size where n = 1");
    EXPECT_EQ(loads("m", "0"), "line 1, column 19: 'm' is no variable");
    // Under a condition only where it holds.
    const std::string padded = "in0: f32[n], out0: f32[n + 2] out) where 1 <= n <= 8";
    const auto padding = [&](const std::string& condition) {
        return parsed(padded, "parallel i < n + 2 {\n%0 = load in0[i - 1] where " + condition +
                                  " else 0.0 : f32\nstore out0[i] = %0\n}");
    };
    EXPECT_EQ(padding("i >= 1 and n - i >= 0"), "nothing was thrown");
    EXPECT_EQ(padding("i >= 1"),
              "malformed kernel k: in0[i - 1] is element 1 of 1 where n = 1, i = 2");
    // What a variable may be.
    EXPECT_EQ(parsed("in0: f32[n]) where 0 <= n <= 8", ""),
              "malformed kernel k: n may be 0, and sizes begin at 1");
    EXPECT_EQ(parsed("in0: f32[n]) where 1 <= n <= 8, 1 <= n <= 9", ""),
              "line 1, column 53: n stands twice");
    EXPECT_EQ(parsed("in0: f32[4]) where 8 <= n <= 8", ""), "line 1, column 40: n has no choice");
    EXPECT_EQ(parsed("in0: f32[4]) where 1 <= i <= 4", "parallel i < 4 {\n}"),
              "malformed kernel k: i counts steps, and is a size");
    Kernel unbound = Kernel::parse(kRowSums);
    unbound.variables.pop_back();
    EXPECT_EQ(message([&] { unbound.verify(); }),
              "malformed kernel row_sums: t has no value in n*t");
}

TEST(Variables, ReplacedByNumbersTheyAreGone) {
    const Kernel kernel = Kernel::parse(kRowSums);
    const Kernel at = substitute(kernel, std::vector<std::int64_t>{4, 6});
    at.verify();
    EXPECT_EQ(at.str(), R"(kernel row_sums(in0: f32[24], out0: f32[4] out) {
  parallel i0 < 4 {
    %1 = reduce i1 < 6 lanes 2 (add f64 from 0.0) {
      %0 = load in0[6*i0 + i1] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    store out0[i0] = %2
  }
}
)");
    // Loops of one step stay.
    const Kernel one = substitute(kernel, std::vector<std::int64_t>{1, 1});
    one.verify();
    EXPECT_EQ(Kernel::parse(one.str()).str(), one.str());
    EXPECT_EQ(one.body.size(), 1);
    EXPECT_EQ(kernel.str(), kRowSums);
}

TEST(Variables, LoopsOfNoStepsLeaveTheirStart) {
    const Kernel kernel = Kernel::parse(
        R"(kernel inner(in0: f32[n], out0: f32[1] out) where 1 <= n <= 9 {
  %1 = reduce i < n - 1 lanes 4 (add f32 from 0.5) {
    %0 = load in0[i + 1] : f32
    yield %0
  }
  store out0[0] = %1
})");
    float in[] = {1};
    float out[] = {0};
    void* buffers[] = {in, out};
    interpret(kernel, buffers, std::vector<std::int64_t>{1});
    const float own = out[0];
    const Kernel at = substitute(kernel, std::vector<std::int64_t>{1});
    at.verify();
    interpret(at, buffers);
    EXPECT_EQ(out[0], own);
}

TEST(Variables, TwoLoopsOverSizesBecomeOne) {
    Kernel kernel = Kernel::parse(
        R"(kernel k(in0: f32[n*t], in1: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 64, 1 <= t <= 4096 {
  parallel i0 < n {
    serial i1 < t {
      %0 = load in0[i1 + t*i0] : f32
      %1 = load in1[t*i0 + i1] : f32
      %2 = add(%0, %1) : f32
      store out0[t*i0 + i1] = %2
    }
  }
})");
    EXPECT_EQ(find_in_place(kernel), (std::vector<InPlace>{{0, 2}, {1, 2}}));
    collapse_loops(kernel);
    kernel.verify();
    EXPECT_EQ(
        kernel.str(),
        R"(kernel k(in0: f32[n*t], in1: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 64, 1 <= t <= 4096 {
  parallel c0 < n*t {
    %0 = load in0[c0] : f32
    %1 = load in1[c0] : f32
    %2 = add(%0, %1) : f32
    store out0[c0] = %2
  }
}
)");
    EXPECT_EQ(find_in_place(kernel), (std::vector<InPlace>{{0, 2}, {1, 2}}));
}

TEST(Variables, BuffersOfOtherSizesAreNotShared) {
    const Kernel kernel = Kernel::parse(
        R"(kernel k(in0: f32[m], out0: f32[n] out) where 8 <= m <= 9, 1 <= n <= 8 {
  parallel i < n {
    %0 = load in0[i] : f32
    store out0[i] = %0
  }
})");
    EXPECT_TRUE(find_in_place(kernel).empty());
}

TEST(Variables, AStepThatMayBeNothingIsNoMove) {
    ExprContext context;
    const Expr n = context.variable("n", 1, 8);
    const Expr i = context.counter("i", n);
    EXPECT_TRUE(moves_along(n * i, i));
    EXPECT_TRUE(moves_along(-i, i));
    EXPECT_TRUE(moves_along(floor_div(i, 2), i));
    EXPECT_FALSE(moves_along((n - 1) * i, i));
    EXPECT_FALSE(moves_along(n, i));
    EXPECT_EQ(step_along(n * i, i), std::nullopt);
    EXPECT_EQ(step_along(n + i * 3, i), 3);
}

}  // namespace
}  // namespace lazuli::codegen
