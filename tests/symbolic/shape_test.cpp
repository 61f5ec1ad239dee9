#include "lazuli/shape.h"

#include <gtest/gtest.h>

#include "lazuli/arguments.h"
#include "lazuli/error.h"

namespace lazuli {
namespace {

TEST(Shape, HoldsSmallAndLargeRanks) {
    for (int rank = 0; rank <= Shape::kMaxRank; ++rank) {
        Shape shape;
        for (int i = 0; i < rank; ++i) shape.push_back(i + 1);
        ASSERT_EQ(shape.rank(), rank);
        for (int i = 0; i < rank; ++i) ASSERT_EQ(shape[i], i + 1);
        Shape copy = shape;
        EXPECT_EQ(copy, shape);
        Shape moved = std::move(copy);
        EXPECT_EQ(moved, shape);
        Shape assigned{7, 7};
        assigned = shape;
        EXPECT_EQ(assigned, shape);
        assigned = Shape{1, 2};
        EXPECT_EQ(assigned, (Shape{1, 2}));
        assigned = std::move(moved);
        EXPECT_EQ(assigned, shape);
    }
    EXPECT_THROW(Shape::filled(65, 1), ShapeError);
}

TEST(Shape, CountsElementsAndRefusesToOverflow) {
    EXPECT_EQ(Shape{}.numel(), 1);
    EXPECT_EQ((Shape{2, 3}).numel(), 6);
    EXPECT_EQ((Shape{INT64_MAX, 0}).numel(), 0);
    EXPECT_THROW((void)(Shape{INT64_MAX, 2}).numel(), ShapeError);
    EXPECT_THROW((void)(TensorSpec{f64, {INT64_MAX}}).nbytes(), ShapeError);
}

TEST(Shape, BroadcastsAsNumpy) {
    EXPECT_EQ(broadcast_shapes("add", {2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
    EXPECT_EQ(broadcast_shapes("add", {}, {5}), (Shape{5}));
    EXPECT_EQ(broadcast_shapes("add", {0, 3}, {1, 3}), (Shape{0, 3}));
    try {
        broadcast_shapes("add", {2, 3}, {4});
        FAIL();
    } catch (const ShapeError& e) {
        EXPECT_STREQ(e.what(),
                     "add: shapes do not broadcast: [2, 3] and [4] (dimension 1: 3 vs 4)");
        EXPECT_EQ(e.expected, "[2, 3]");
        EXPECT_EQ(e.actual, "[4]");
    }
}

TEST(Axes, CountFromTheEnd) {
    EXPECT_EQ(ensure_axis("sum", -1, {2, 3}), 1);
    EXPECT_EQ(ensure_axes("sum", Axes{}, {2, 3}), (Ints{0, 1}));
    EXPECT_EQ(ensure_axes("sum", Axes{-1, 0}, {2, 3}), (Ints{1, 0}));
    EXPECT_THROW(ensure_axis("sum", 2, {2, 3}), IndexError);
    EXPECT_THROW(ensure_axis("sum", 0, {}), IndexError);
    EXPECT_THROW(ensure_axes("sum", Axes{0, -2}, {2, 3}), IndexError);
}

}  // namespace
}  // namespace lazuli
