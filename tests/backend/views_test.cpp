// Movements of tensors: recorded as one view, read without a copy.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "lazuli/lazuli.h"

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

using Values = std::vector<std::int64_t>;

Tensor counting(Shape shape) { return iota({shape.numel()}).reshape(shape); }

std::string described(const Tensor& view, std::initializer_list<Dim> base) {
    return describe(view.view(), std::vector<Dim>(base));
}

TEST(Views, AChainIsOneNodeOverItsBase) {
    const Tensor x = Tensor{{1, 2, 3}, {4, 5, 6}};
    EXPECT_FALSE(x.is_view());
    const Tensor y = x.permute({1, 0}).pad({1, 1}, {0, 0}).slice({0, 0}, {4, 3}).flip(0);
    EXPECT_TRUE(y.is_view());
    EXPECT_EQ(y.op(), "view");
    EXPECT_EQ(y.graph_size(), 1U);
    EXPECT_EQ(described(y, {2, 3}), "permute(1,0) > flip(0) > pad[(0,1),(1,0)]");
    EXPECT_EQ(y.to_vector<std::int32_t>(),
              (std::vector<std::int32_t>{0, 3, 6, 0, 2, 5, 0, 1, 4, 0, 0, 0}));
    EXPECT_EQ(capture(y + 1).str(),
              "program(p0: i32[2, 3]) {\n"
              "  %0 = view(p0) permute(1,0) > flip(0) > pad[(0,1),(1,0)] filled 0 : i32[4, 3]\n"
              "  %1 = constant() value=1 : i32[]\n"
              "  %2 = add(%0, %1) : i32[4, 3]\n"
              "  return %2\n"
              "}\n");
}

TEST(Views, WhatUndoesItselfIsTheTensorItself) {
    const Tensor x = counting({2, 3}) + 0;
    EXPECT_EQ(x.permute({1, 0}).permute({1, 0}).id(), x.id());
    EXPECT_EQ(x.reshape({2, 3}).id(), x.id());
    EXPECT_EQ(x.flip(0).flip(0).id(), x.id());
    EXPECT_EQ(x.contiguous().id(), x.id());
    EXPECT_NE(x.permute({1, 0}).contiguous().op(), "view");
}

TEST(Views, PaddingFilledDifferentlyIsAViewOfAView) {
    const Tensor x = Tensor{1.0, 2.0};
    const Tensor y = x.pad({1}, {0}, 5).pad({0}, {1}, 7);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{5, 1, 2, 7}));
    EXPECT_EQ((y + 0).to_vector<float>(), (std::vector<float>{5, 1, 2, 7}));
    EXPECT_EQ(y.graph_size(), 2U);
    EXPECT_EQ(x.pad({1}, {0}, 5).pad({0}, {1}, 5).graph_size(), 1U);
    EXPECT_EQ(y.flip(0).to_vector<float>(), (std::vector<float>{7, 2, 1, 5}));
    EXPECT_EQ(Tensor{true}.pad({1}, {1}, true).to_vector<bool>(),
              (std::vector<bool>{true, true, true}));
}

TEST(Views, PaddingKeepsTheSignOfZero) {
    const std::vector<float> y =
        Tensor{1.0}.pad({1}, {0}, 0.0).pad({0}, {1}, -0.0).to_vector<float>();
    EXPECT_FALSE(std::signbit(y[0]));
    EXPECT_TRUE(std::signbit(y[2]));
}

TEST(Views, PutTogetherByHandAreChecked) {
    const Tensor x = counting({6}) + 0;
    const TensorSpec wanted{i64, {2, 3}};
    const auto made = [&](View view) {
        const Attribute placement[] = {Placement{ShapeTracker(std::move(view))}};
        return call("view", {&x, 1}, placement, &wanted);
    };
    EXPECT_EQ(made({{2, 3}, {3, 1}, 0, {}}).to_vector<std::int64_t>(), (Values{0, 1, 2, 3, 4, 5}));
    EXPECT_THROW((void)made({{2, 3}, {3}, 0, {}}), ArgumentError);
    EXPECT_THROW((void)made({{2, 3}, {3, 1}, 0, {{0, 1}}}), ArgumentError);
    EXPECT_THROW((void)made({{2, 3}, {3, 1}, 1, {}}), ShapeError);
    EXPECT_THROW((void)made({{2, 3}, {dim("views_test_n", 1, 4), 1}, 0, {}}), ShapeError);
    EXPECT_THROW(
        (void)made({{2, 3}, {dim("views_test_m", 1, 3), 1}, 0, {}}).to_vector<std::int64_t>(),
        ShapeError);
    EXPECT_THROW((void)made({{6}, {1}, 0, {}}), ArgumentError);
}

// A deep view whose base was evaluated is not deep any more: operations on it are not flushed.
TEST(Views, OfAnEvaluatedBaseAreNotDeep) {
    Tensor x = counting({4, 2}) + 0;
    for (int i = 0; i < 70'000; ++i) x = x.permute({1, 0}) + 1;
    const Tensor view = x.permute({1, 0});
    view.eval();
    const std::uint64_t before = graph_stats().flushes;
    for (int i = 0; i < 100; ++i) (void)(view + 1);
    EXPECT_EQ(graph_stats().flushes, before);
}

TEST(Views, ATensorExplainsItself) {
    const Tensor x = (counting({4, 8}).cast(f32) + 0).eval();
    const Tensor y = x.permute({1, 0}).softmax();
    EXPECT_EQ(
        y.explain(),
        "cache: miss, these operations were not planned before\n"
        "8 operations in 1 kernel; 128 B read, 128 B written\n"
        "  kernel  reads  writes  operations\n"
        "  k0      128 B   128 B  view, max, sub, exp, sum, constant, div, mul -> %7 f32[8, 4]\n");
    EXPECT_FALSE(y.is_materialized());
    (void)x.permute({1, 0}).softmax().eval();
    EXPECT_TRUE(y.explain().starts_with("cache: hit, the plan is there\n"));
    EXPECT_EQ(x.explain(), "nothing to compute: its values are there\n");
}

TEST(Views, NeverOwnAResult) {
    const Tensor x = counting({4, 6}) * 2;
    const Tensor y = x.permute({1, 0});
    EXPECT_FALSE(y.is_materialized());
    const std::uint64_t before = graph_stats().buffer_bytes;
    y.eval();
    EXPECT_TRUE(x.is_materialized());
    EXPECT_TRUE(y.is_materialized());
    // The base's 24 elements and nothing else.
    EXPECT_EQ(graph_stats().buffer_bytes - before, 24 * sizeof(std::int64_t));
    EXPECT_EQ(y.to_vector<std::int64_t>()[1], 12);
    EXPECT_EQ(x.reshape({24}).data<std::int64_t>(), x.data<std::int64_t>());
    EXPECT_EQ(x.slice({1, 0}, {3, 6}).data<std::int64_t>(), x.data<std::int64_t>() + 6);
    EXPECT_EQ(message([&] { (void)y.data<std::int64_t>(); }),
              "data: i64[6, 4] is not dense in memory; use to_vector(), or contiguous() before");
}

TEST(Views, HeavyCodeAllocatesOnlyItsResult) {
    const Tensor a = counting({8, 12}).cast(f32).eval();
    const Tensor b = counting({6, 16}).cast(f32).eval();
    const std::uint64_t before = graph_stats().buffer_bytes;
    const Tensor left =
        a.permute({1, 0}).slice({0, 2}, {12, 8}).reshape({6, 12}).pad({0, 0}, {0, 4});
    const Tensor right = b.flip(1).reshape({16, 6}).permute({1, 0});
    const Tensor sum = (left + right).slice({1, 0}, {5, 16}, {2, 1});
    EXPECT_EQ(graph_stats().buffer_bytes, before);
    sum.eval();
    // 64-byte lines: 6 x 16 floats.
    EXPECT_EQ(graph_stats().buffer_bytes - before, 6 * 16 * sizeof(float));
}

TEST(Views, MayBeRecordedWhileTheirBaseIsNamedAndEvaluated) {
    for (int i = 0; i < 50; ++i) {
        Tensor x = counting({4, 6}) * 2;
        std::thread other([x]() mutable {
            x.name("base");
            x.eval();
        });
        const Tensor y = x.permute({1, 0}).slice({1, 0}, {3, 4}) + 1;
        EXPECT_EQ(y.to_vector<std::int64_t>(), (Values{3, 15, 27, 39, 5, 17, 29, 41}));
        other.join();
    }
}

TEST(Views, WaitsAreCountedWithTheirReason) {
    const auto count = [](std::string_view reason) {
        for (const Wait& wait : waits()) {
            if (wait.reason == reason) return wait.count;
        }
        return std::uint64_t{0};
    };
    const std::uint64_t masks = count("boolean mask");
    const std::uint64_t items = count("item");
    const Tensor x = counting({5});
    EXPECT_EQ(x[x > 2].to_vector<std::int64_t>(), (Values{3, 4}));
    EXPECT_EQ(count("boolean mask"), masks + 1);
    (void)(x.sum() + 1).item<int>();
    EXPECT_EQ(count("item"), items + 1);
}

TEST(Views, MovementsByName) {
    const Tensor x = counting({2, 3, 4});
    EXPECT_EQ(x.move_axis(0, -1).shape(), (Shape{3, 4, 2}));
    EXPECT_EQ(x.unsqueeze(1).shape(), (Shape{2, 1, 3, 4}));
    EXPECT_EQ(x.unsqueeze(-1).squeeze().shape(), (Shape{2, 3, 4}));
    EXPECT_EQ(x.flatten().shape(), (Shape{24}));
    EXPECT_EQ(x.flatten(1).shape(), (Shape{2, 12}));
    EXPECT_EQ(x.split(2, 1).size(), 2U);
    EXPECT_EQ(x.split(2, 1)[1].shape(), (Shape{2, 1, 4}));
    EXPECT_EQ(counting({5}).roll(2).to_vector<std::int64_t>(), (Values{3, 4, 0, 1, 2}));
    EXPECT_EQ(counting({5}).unfold(0, 3, 2).to_vector<std::int64_t>(), (Values{0, 1, 2, 2, 3, 4}));
    EXPECT_EQ(counting({2, 3}).diagonal(1).to_vector<std::int64_t>(), (Values{1, 5}));
    EXPECT_EQ(counting({2}).repeat(2, 0).to_vector<std::int64_t>(), (Values{0, 0, 1, 1}));
    EXPECT_EQ(counting({2}).tile({2}).to_vector<std::int64_t>(), (Values{0, 1, 0, 1}));
}

TEST(Views, ErrorsSayBothShapes) {
    const Tensor x = counting({2, 3});
    EXPECT_EQ(message([&] { (void)x.reshape({4}); }),
              "reshape: [2, 3] does not fit [4]: 6 elements against 4");
    EXPECT_EQ(message([&] { (void)x.permute({0, 2}); }),
              "permute: axis 2 is out of range for [2, 3] (rank 2)");
    EXPECT_EQ(message([&] { (void)x.slice({0, 0}, {1, 1}, {1, 0}); }),
              "slice: step 0 in dimension 1 of [2, 3] (steps [1, 0])");
    EXPECT_EQ(message([&] { (void)x.broadcast_to({4, 3}); }),
              "broadcast_to: [2, 3] does not broadcast to [4, 3]");
    EXPECT_EQ(
        message([&] { (void)x.pad({-3, 0}, {0, 0}); }),
        "pad: [-3, 0] before and [0, 0] behind [2, 3]: more than all of dimension 0 is taken away");
    EXPECT_EQ(message([&] { (void)x.unfold(1, 4); }),
              "unfold: a window of 4 does not fit axis 1 of [2, 3], which has 3 elements");
    EXPECT_EQ(message([&] { (void)x.unfold(1, 2, 0); }),
              "unfold: size 2 must be at least 0 and step 0 at least 1 (axis 1 of [2, 3])");
    EXPECT_EQ(message([&] { (void)x.repeat(-1, 0); }),
              "repeat: the count -1 must be at least 0 (axis 0 of [2, 3])");
    EXPECT_EQ(message([&] { (void)x.tile({2, -1}); }),
              "tile: [2, -1] times [2, 3]: the count -1 must be at least 0");
    EXPECT_EQ(message([&] { (void)x(5); }),
              "index [5] of i64[2, 3]: position 5 is outside dimension 0 of size 2");
    EXPECT_EQ(message([&] { (void)x(0, 0, 0); }),
              "index [0, 0, 0] of i64[2, 3]: 3 dimensions for 2");
    EXPECT_EQ(message([&] { (void)x(slice(0, 1, 0)); }),
              "index [0:1:0] of i64[2, 3]: step 0 along dimension 0");
    EXPECT_EQ(message([&] { (void)x[Tensor{0.5}]; }),
              "index [f32[1]] of i64[2, 3]: f32[1] are no positions");
    EXPECT_EQ(message([&] { (void)x[Tensor{true}]; }),
              "index [bool[1]] of i64[2, 3]: the mask has 1 positions along dimension 0, not 2");
}

}  // namespace
}  // namespace lazuli
