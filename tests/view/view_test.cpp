#include "lazuli/view.h"

#include <gtest/gtest.h>

#include "lazuli/error.h"

namespace lazuli {
namespace {

template <class Do>
std::string message(const Do& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

using Sizes = std::vector<Dim>;
using Axes = std::vector<int>;
using Ranges = std::vector<DimRange>;
using Steps = std::vector<std::int64_t>;

TEST(ShapeTracker, AChainIsOneView) {
    const ShapeTracker t = ShapeTracker{4, 6}
                               .permute(Axes{1, 0})
                               .shrink(Ranges{{1, 5}, {0, 4}})
                               .flip(Axes{0})
                               .reshape(Sizes{2, 2, 4})
                               .pad(Ranges{{0, 0}, {1, 1}, {0, 0}});
    ASSERT_EQ(t.size(), 1U);
    EXPECT_EQ(t.top(), (View{{2, 4, 4}, {-2, -1, 6}, 5, {{0, 2}, {1, 3}, {0, 4}}}));
    EXPECT_EQ(t.at(Steps{0, 1, 0}), 4);
    EXPECT_EQ(t.at(Steps{0, 0, 0}), std::nullopt);
    EXPECT_EQ(t.size_needed(), Dim(23));
}

TEST(ShapeTracker, WhatUndoesItselfIsContiguous) {
    const ShapeTracker base{4, 6};
    EXPECT_TRUE(base.permute(Axes{1, 0}).permute(Axes{1, 0}).is_contiguous());
    EXPECT_TRUE(base.flip(Axes{0, 1}).flip(Axes{0, 1}).is_contiguous());
    EXPECT_TRUE(base.pad(Ranges{{1, 1}, {0, 2}}).shrink(Ranges{{1, 5}, {0, 6}}).is_contiguous());
    EXPECT_TRUE(base.permute(Axes{1, 0})
                    .reshape(Sizes{24})
                    .reshape(Sizes{6, 4})
                    .permute(Axes{1, 0})
                    .is_contiguous());
    EXPECT_FALSE(base.permute(Axes{1, 0}).is_contiguous());
}

TEST(ShapeTracker, WhatIsNoViewStaysTwo) {
    const ShapeTracker t = ShapeTracker{4, 6}.permute(Axes{1, 0}).reshape(Sizes{24});
    EXPECT_EQ(t.size(), 2U);
    EXPECT_EQ(t.to_view(), std::nullopt);
    ExprContext context;
    const IndexExpr f = t.index_expr(context);
    EXPECT_EQ(f.index.str(), "i0 / 4 + 6*(i0 % 4)");
    EXPECT_EQ(f.valid.str(), "1");
    EXPECT_EQ(t.real_strides()[0], std::nullopt);
    // A part of it is one again.
    EXPECT_EQ(t.shrink(Ranges{{4, 8}}).size(), 1U);
}

TEST(ShapeTracker, IndexFunctionOfPadding) {
    ExprContext context;
    const IndexExpr f =
        ShapeTracker{4, 6}.pad(Ranges{{1, 1}, {0, 0}}).reshape(Sizes{36}).index_expr(context);
    EXPECT_EQ(f.index.str(), "i0 - 6");
    EXPECT_EQ(f.valid.str(), "29 >= i0 and i0 >= 6");
}

TEST(ShapeTracker, SizesMayBeVariables) {
    const Dim b = dim("view_b", 1, 64);
    const ShapeTracker t = ShapeTracker{b, 6}.permute(Axes{1, 0}).reshape(Sizes{2, 3, b});
    EXPECT_EQ(t.size(), 1U);
    EXPECT_EQ(t.top().strides, (Dims{3, 1, 6}));
    EXPECT_FALSE(t.is_concrete());
    EXPECT_EQ(t.vars(), std::vector<std::string>{"view_b"});
    EXPECT_EQ(t.bind_vars({{{"view_b", 5}}}).shape(), (Dims{2, 3, 5}));
    EXPECT_EQ(ShapeTracker({b * 4}).reshape(Sizes{b, 4}).permute(Axes{1, 0}).top().strides,
              (Dims{1, 4}));
    EXPECT_EQ(ShapeTracker({b, 6}).size_needed(), b * 6);
    EXPECT_EQ(message([&] { (void)ShapeTracker({b, 6}).reshape(Sizes{12, 3}); }),
              "reshape: cannot make [12, 3] of [view_b, 6] (6*view_b vs 36 elements, which need "
              "not be equal)");
}

// Found by drawing chains: whether the one position left is padding depends on the variable.
TEST(ShapeTracker, PaddingThatDependsOnAVariable) {
    const Dim b = dim("view_c", 1, 4);
    const ShapeTracker one =
        ShapeTracker({b}).pad(Ranges{{0, 1}}).stride(Steps{2}).stride(Steps{-3});
    ASSERT_EQ(one.shape(), Dims{1});
    for (const ShapeTracker& t :
         {one.reshape(Sizes{1, 1}), one.expand(Sizes{3}).reshape(Sizes{3, 1})}) {
        EXPECT_EQ(t.bind_vars({{{"view_c", 4}}}).at(Steps{0, 0}), std::nullopt);
        EXPECT_EQ(t.bind_vars({{{"view_c", 3}}}).at(Steps{0, 0}), 2);
    }
}

TEST(ShapeTracker, ComposePutsOneOnTop) {
    const ShapeTracker first = ShapeTracker{4, 6}.permute(Axes{1, 0});
    const ShapeTracker second = ShapeTracker{6, 4}.flip(Axes{0}).reshape(Sizes{3, 2, 4});
    EXPECT_EQ(first.compose(second), first.flip(Axes{0}).reshape(Sizes{3, 2, 4}));
    EXPECT_THROW((void)first.compose(ShapeTracker{5, 5}), ShapeError);
}

TEST(ShapeTracker, EmptyAndScalar) {
    EXPECT_EQ(ShapeTracker({0, 3}).permute(Axes{1, 0}), (ShapeTracker{3, 0}));
    EXPECT_EQ(ShapeTracker({0, 3}).pad(Ranges{{1, 1}, {0, 0}}).at(Steps{0, 0}), std::nullopt);
    EXPECT_EQ(ShapeTracker({1, 1}).reshape(Sizes{}).at({}), 0);
    // A position in padding as a scalar: no view has a mask of rank 0.
    const ShapeTracker hidden =
        ShapeTracker({1}).pad(Ranges{{1, 0}}).shrink(Ranges{{0, 1}}).reshape(Sizes{});
    EXPECT_EQ(hidden.at({}), std::nullopt);
    EXPECT_EQ(ShapeTracker({0, 3}).size_needed(), Dim(0));
}

TEST(ShapeTracker, PrintsAsMovements) {
    const Sizes base{24};
    const auto text = [&](std::string_view movements) {
        return describe(parse_movements(movements, base), base);
    };
    for (const char* same :
         {"same", "reshape[4,6]", "reshape[4,6] > permute(1,0)",
          "reshape[4,6] > permute(1,0) > pad[(1,1),(0,0)]", "reshape[4,6] > shrink[(1,3),(0,5)]",
          "reshape[4,6] > flip(1)", "reshape[24,1] > expand[24,3]",

          "reshape[4,6] > permute(1,0) | reshape[24]"})
        EXPECT_EQ(text(same), same);
    EXPECT_EQ(text("reshape[4,6] > permute(1,0) > permute(1,0)"), "reshape[4,6]");
    EXPECT_EQ(text("reshape[2,12] > pad[(0,0),(1,1)] > shrink[(0,2),(1,13)] > reshape[24]"),
              "same");
    const Sizes matrix{4, 6};
    EXPECT_EQ(describe(parse_movements("shrink[(0,4),(1,6)] > stride(1,2)", matrix), matrix),
              "shrink[(0,4),(1,6)] > stride(1,2)");
    EXPECT_EQ(text("strided[3,3](1,1)"), "strided[3,3](1,1)");
    EXPECT_THROW((void)text("reshape[4,6"), ParseError);
    EXPECT_THROW((void)text("turn(1)"), ParseError);
    EXPECT_THROW((void)text("reshape[5]"), ShapeError);
    EXPECT_THROW((void)text("strided[3](12)+1"), ShapeError);
}

TEST(ShapeTracker, ErrorsSayBothShapes) {
    const ShapeTracker t{2, 3};
    EXPECT_EQ(message([&] { (void)t.reshape(Sizes{4}); }),
              "reshape: cannot make [4] of [2, 3] (6 vs 4 elements)");
    EXPECT_EQ(message([&] { (void)t.reshape(Sizes{-2, -3}); }),
              "reshape: cannot make [-2, -3] of [2, 3] (a size may be negative)");
    EXPECT_EQ(message([&] { (void)t.permute(Axes{0, 2}); }),
              "permute: axis 2 out of range for [2, 3]");
    EXPECT_EQ(message([&] { (void)t.permute(Axes{1, 1}); }), "permute: axis 1 twice for [2, 3]");
    EXPECT_EQ(message([&] { (void)t.permute(Axes{0}); }),
              "permute: 1 given for the 2 dimensions of [2, 3]");
    EXPECT_EQ(message([&] { (void)t.expand(Sizes{2, 4}); }),
              "expand: [2, 3] does not expand to [2, 4] (dimension 1: 3 vs 4)");
    EXPECT_EQ(message([&] { (void)t.pad(Ranges{{-3, 0}, {0, 0}}); }),
              "pad: (-3, 0) takes more than all of dimension 0 of [2, 3]");
    EXPECT_EQ(message([&] { (void)t.shrink(Ranges{{0, 3}, {0, 3}}); }),
              "shrink: 0:3 is no range of dimension 0 of [2, 3]");
    EXPECT_EQ(message([&] { (void)t.flip(Axes{-1}); }), "flip: axis -1 out of range for [2, 3]");
    EXPECT_EQ(message([&] { (void)t.stride(Steps{1, 0}); }),
              "stride: step 0 along dimension 1 of [2, 3]");
}

}  // namespace
}  // namespace lazuli
