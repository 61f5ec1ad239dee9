// Ranges, positions and factories whose sizes are expressions: what is recorded, and what is
// refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::HasSubstr;

std::string message(const auto& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

class SymbolicFrontend : public testing::Test {
   protected:
    const Dim b = dim("front_b", 1, 64);
    const Dim t = dim("front_t", 4, 500);
    const Dim any = dim("front_any", 0, 9);
    // Recorded and never read: sizes alone are compared.
    const Tensor x = zeros({b, t});
};

TEST_F(SymbolicFrontend, RangesHaveTheSizesOfNumpysRule) {
    const auto size = [&](Slice range) { return x(whole, range).shape().dim(1).str(); };
    EXPECT_EQ(size(whole), "front_t");
    EXPECT_EQ(size(slice(0, 3)), "3");
    EXPECT_EQ(size(slice(1, {})), "front_t - 1");
    EXPECT_EQ(size(slice({}, -1)), "front_t - 1");
    EXPECT_EQ(size(slice(-4, {})), "4");
    EXPECT_EQ(size(slice(-4, -1)), "3");
    EXPECT_EQ(size(slice(3, 1)), "0");
    EXPECT_EQ(size(slice({}, {}, -1)), "front_t");
    EXPECT_EQ(size(slice({}, 7)), "min(7, front_t)");
    EXPECT_EQ(size(slice(-7, {})), "min(7, front_t)");
    EXPECT_EQ(size(slice(0, (t - 2).raw())), "front_t - 2");
    EXPECT_EQ(size(slice((t - 3).raw(), t.raw())), "3");
    EXPECT_EQ(size(slice(INT64_MIN, INT64_MAX)), "front_t");
    // Of numbers, a range may still be of a size.
    EXPECT_EQ(zeros({10})(slice(0, any.raw())).shape().dim(0), any);
}

TEST_F(SymbolicFrontend, RangesThatAreCutAgreeWithNumbers) {
    const Tensor row = zeros({any});
    for (std::int64_t start = -4; start <= 4; ++start) {
        for (std::int64_t stop = -4; stop <= 4; ++stop) {
            for (const std::int64_t step : {1, -1}) {
                SCOPED_TRACE(message([&] { (void)row(slice(start, stop, step)); }));
                Dim count;
                try {
                    count = row(slice(start, stop, step)).shape().dim(0);
                } catch (const ShapeError&) {
                    continue;  // not proved to lie inside: refused, never wrong
                }
                for (std::int64_t size = 0; size <= 9; ++size) {
                    const SizeBinding values[] = {{"front_any", size}};
                    EXPECT_EQ(count.evaluate(values),
                              zeros({size})(slice(start, stop, step)).shape()[0])
                        << size << " " << start << ":" << stop << ":" << step;
                }
            }
        }
    }
}

TEST_F(SymbolicFrontend, PositionsAreInsideForAllSizes) {
    EXPECT_EQ(x(0).shape(), Shape{t});
    EXPECT_EQ(x(-1, -4).shape(), Shape{});
    EXPECT_EQ(x(whole, (t - 1).raw()).shape(), Shape{b});
    EXPECT_EQ(x(ellipsis, newaxis).shape(), (Shape{b, t, Dim(1)}));
    EXPECT_EQ(x(iota({2}, 0, i64)).shape(), (Shape{Dim(2), t}));
    EXPECT_THAT(message([&] { (void)x(1); }),
                HasSubstr("position 1 may be outside dimension 0 of size front_b"));
    EXPECT_THAT(message([&] { (void)x(whole, -5); }), HasSubstr("position -5 may be outside"));
    EXPECT_THAT(message([&] { (void)x(b.raw()); }), HasSubstr("position front_b may be outside"));
    EXPECT_THAT(message([&] { (void)x(whole, slice((any - 3).raw(), {})); }),
                HasSubstr("whether the position front_any - 3 counts from the end depends"));
}

TEST_F(SymbolicFrontend, FactoriesAndFormsTakeThem) {
    EXPECT_EQ(full({b, Dim(3)}, 2.5F).shape(), (Shape{b, Dim(3)}));
    EXPECT_EQ(ones_like(x).shape(), x.shape());
    EXPECT_EQ(eye(b).shape(), (Shape{b, b}));
    EXPECT_EQ(tri(b, t, -1).shape(), (Shape{b, t}));
    EXPECT_EQ(x.flatten().shape(), Shape{b * t});
    EXPECT_EQ(x(newaxis).squeeze(Axes(0)).shape(), x.shape());
    EXPECT_THAT(message([&] { (void)zeros({b - 2}); }), HasSubstr("negative size"));
    EXPECT_THAT(message([&] { (void)x.squeeze(Axes(0)); }),
                HasSubstr("axis 0 of [front_b, front_t] has size front_b, which need not be 1"));
    EXPECT_THAT(message([&] { (void)x.squeeze(Axes(1)); }), HasSubstr("has size front_t, not 1"));
    EXPECT_EQ(zeros({t, Dim(1)}).squeeze().shape(), Shape{t});
}

}  // namespace
}  // namespace lazuli
