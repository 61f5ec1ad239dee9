// What code of a kernel with variables some sizes ask for.

#include <gtest/gtest.h>

#include "codegen/flatten.h"
#include "codegen/lines.h"
#include "codegen/phases.h"

namespace lazuli::codegen {
namespace {

constexpr const char* kLessSum =
    R"(kernel less_sum(in0: f32[n*t], out0: f32[n*t] out) where 1 <= n <= 100000, 1 <= t <= 4096 {
  parallel i < n {
    %1 = reduce r < t lanes 64 (add f64 from 0.0) {
      %0 = load in0[r + t*i] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    serial k < t {
      %3 = load in0[k + t*i] : f32
      %4 = sub(%3, %2) : f32
      store out0[k + t*i] = %4
    }
  }
}
)";

/// The kernel with its first loop made flat; empty where it cannot be.
std::string flat_text(Kernel kernel) {
    auto flat = flattened(kernel.body[0], behind_all(kernel.body));
    if (!flat) return "";
    kernel.body[0] = *flat;
    const std::string text = kernel.str();
    return text.substr(text.find('\n') + 1);
}

TEST(Forms, LoopsOfOneStepAreGone) {
    EXPECT_EQ(flat_text(Kernel::parse(kLessSum)), R"(  parallel i < n {
    %0 = load in0[i*t] : f32
    %5 = constant 0.0 : f64
    %6 = cast(%0) : f64
    %1 = add(%5, %6) : f64
    %2 = cast(%1) : f32
    %3 = load in0[i*t] : f32
    %4 = sub(%3, %2) : f32
    store out0[i*t] = %4
  }
}
)");
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

TEST(Forms, WhatMayHaveMoreStepsStays) {
    // At least two steps; lanes that begin with something; a number of steps that grows.
    EXPECT_EQ(flat_text(Kernel::parse(changed(kLessSum, "1 <= t", "2 <= t"))), "");
    EXPECT_EQ(flat_text(Kernel::parse(changed(kLessSum, "from 0.0", "from 0.5"))), "");
    EXPECT_EQ(flat_text(Kernel::parse(changed(kLessSum, "r < t", "r < min(t, i + 1)"))), "");
    EXPECT_EQ(flat_text(Kernel::parse(R"(kernel k(in0: f32[n], out0: f32[n] out) where 1 <= n <= 9 {
  parallel i < n {
    %0 = load in0[i] : f32
    store out0[i] = %0
  }
})")),
              "");
}

TEST(Forms, LanesThatBeginWithNothing) {
    const auto begins = [](const char* op, const Scalar& init) {
        return begins_with_nothing({require_op(op), DType::f64, init, 0});
    };
    EXPECT_TRUE(begins("add", 0.0));
    EXPECT_FALSE(begins("add", 1.0));
    EXPECT_TRUE(begins("mul", 1.0));
    EXPECT_FALSE(begins("mul", 0.0));
    EXPECT_TRUE(begins("maximum", 3.0));
    EXPECT_FALSE(begins("sub", 0.0));
}

TEST(Forms, RowsBeginOnLinesWhereTheirLengthIsAMultiple) {
    const Kernel kernel = Kernel::parse(kLessSum);
    const Statement& rows = kernel.body[0];
    const Statement& row = rows.body[2];
    const Statement& store = row.body.back();
    const auto along = whole_lines(rows.counts, row, store);
    ASSERT_TRUE(along);
    ASSERT_EQ(along->size(), 2U);
    EXPECT_EQ((*along)[0].str(), "t");
    EXPECT_EQ((*along)[1].str(), "0");
    // Across the rows elements are no neighbours.
    EXPECT_FALSE(whole_lines({}, rows, store));
}

TEST(Forms, ColumnsBeginOnLinesWhereRowsDo) {
    const Kernel kernel =
        Kernel::parse(R"(kernel k(out0: f32[n*t] out) where 1 <= n <= 64, 1 <= t <= 64 {
  %0 = constant 1.0 : f32
  parallel i < t {
    serial k < n {
      store out0[t*k + i] = %0
    }
  }
})");
    const Statement& loop = kernel.body[1];
    const auto needs = whole_lines({}, loop, loop.body[0].body[0]);
    ASSERT_TRUE(needs);
    ASSERT_EQ(needs->size(), 2U);
    EXPECT_EQ((*needs)[0].str(), "t");
    EXPECT_EQ((*needs)[1].str(), "0");
}

TEST(Forms, LargeIsWhatIsWrittenOrElseRead) {
    const auto large = [](const std::string& text) {
        const Kernel kernel = Kernel::parse(text);
        return may_be_large(kernel, phases_of(kernel)[0]);
    };
    using Buffers = std::vector<std::size_t>;
    EXPECT_EQ(large(kLessSum), (Buffers{1}));
    EXPECT_EQ(large(changed(kLessSum, "n <= 100000", "n <= 1000")), Buffers{});
    EXPECT_EQ(
        large(
            R"(kernel sums(in0: f32[n*t], in1: f32[n], out0: f32[n] out) where 1 <= n <= 100000, 1 <= t <= 4096 {
  parallel i < n {
    %1 = reduce r < t lanes 64 (add f64 from 0.0) {
      %0 = load in0[r + t*i] : f32
      yield %0
    }
    %2 = cast(%1) : f32
    %3 = load in1[i] : f32
    %4 = add(%2, %3) : f32
    store out0[i] = %4
  }
})"),
        (Buffers{0}));
}

TEST(Forms, OnlyWhatMayBeShortIsTurned) {
    const auto may_be = [](const std::string& text) {
        const Kernel kernel = Kernel::parse(text);
        return may_be_turned(kernel, phases_of(kernel)[0]);
    };
    EXPECT_TRUE(may_be(kLessSum));
    EXPECT_FALSE(may_be(changed(kLessSum, "1 <= t", "17 <= t")));
    EXPECT_FALSE(may_be(changed(kLessSum, "n <= 100000", "n <= 8")));
}

}  // namespace
}  // namespace lazuli::codegen
