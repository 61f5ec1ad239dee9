#include "lazuli/shape.h"

#include <gtest/gtest.h>

#include <utility>

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

TEST(Shape, ASizeMayBeAnExpression) {
    const Dim rows = dim("shape_rows", 1, 64);
    Shape shape = {rows, 4 * 2, rows * 2 + 1};
    EXPECT_EQ(shape.str(), "[shape_rows, 8, 2*shape_rows + 1]");
    EXPECT_FALSE(shape.is_concrete());
    EXPECT_EQ(shape.dim(0), rows);
    EXPECT_EQ(shape[1], 8);
    EXPECT_EQ((Shape{rows, 3}).count().str(), "3*shape_rows");
    EXPECT_EQ(shape, (Shape{rows, 8, 2 * rows + 1}));
    EXPECT_FALSE(shape == (Shape{rows, 8, 2 * rows}));
    // Read as a number it is an error that names it, wherever it is read.
    const Shape& fixed = shape;
    const auto message = [](const auto& read) {
        try {
            read();
        } catch (const ShapeError& e) {
            return std::string(e.what());
        }
        return std::string("nothing was thrown");
    };
    const std::string wanted = "the size shape_rows has no value yet";
    EXPECT_EQ(message([&] { (void)fixed[0]; }), wanted);
    EXPECT_EQ(message([&] { (void)(shape[0] + 1); }), wanted);
    EXPECT_EQ(message([&] { shape[0] += 1; }), wanted);
    EXPECT_EQ(message([&] { (void)fixed.numel(); }), wanted);
    EXPECT_EQ(message([&] { (void)fixed.dims(); }), wanted);
    EXPECT_EQ(message([&] {
                  for (const std::int64_t size : fixed) (void)size;
              }),
              wanted);
    shape[0] = 5;
    shape[2] = shape[0];
    EXPECT_EQ(shape, (Shape{5, 8, 5}));
    swap(shape[0], shape[1]);
    EXPECT_EQ(shape[0], 8);
}

TEST(Shape, NumbersThatLookLikeExpressionsAreNumbers) {
    Ints positions;
    positions.push_back(INT64_MIN);
    positions.push_back(INT64_MIN + 4096);
    EXPECT_EQ(positions[0], INT64_MIN);
    EXPECT_EQ(std::as_const(positions)[1], INT64_MIN + 4096);
    EXPECT_EQ(positions.str(), "[-9223372036854775808, -9223372036854771712]");
}

TEST(Shape, OnlyTheNumberOneIsBroadcast) {
    const Dim b = dim("shape_b", 1, 64);
    const Dim t = dim("shape_t", 1, 64);
    EXPECT_EQ(broadcast_shapes("add", {b, 1}, {t}), (Shape{b, t}));
    EXPECT_EQ(broadcast_shapes("add", {b + t, 3}, {t + b, 1}), (Shape{b + t, 3}));
    const auto refused = [](const Shape& x, const Shape& y) {
        try {
            (void)broadcast_shapes("add", x, y);
        } catch (const ShapeError& e) {
            return std::string(e.what());
        }
        return std::string("it broadcast");
    };
    EXPECT_EQ(refused({b}, {t}),
              "add: shapes do not broadcast: [shape_b] and [shape_t] (dimension 0: shape_b need "
              "not be shape_t)");
    EXPECT_EQ(refused({b, 2}, {8, 2}),
              "add: shapes do not broadcast: [shape_b, 2] and [8, 2] (dimension 0: shape_b need "
              "not be 8)");
    EXPECT_EQ(refused({b}, {b + 64}),
              "add: shapes do not broadcast: [shape_b] and [shape_b + 64] (dimension 0: shape_b vs "
              "shape_b + 64)");
}

TEST(Dims, WithoutANameAreAllDifferent) {
    const Dim one = any_dim();
    EXPECT_FALSE(one == any_dim());
    EXPECT_EQ(one, one);
    EXPECT_EQ(one.bounds().low, 1);
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
