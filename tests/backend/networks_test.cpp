// Ops of networks through the public interface: arguments that may be left out, implementations
// that a policy names, and values worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::IsNan;
using testing::Pointwise;

Tensor drawn(Shape shape, std::uint64_t seed, Device device = Device()) {
    return (key(seed).random_uniform(std::move(shape)).to(device) * 4.0 - 2.0).eval();
}

TEST(Networks, BothImplementationsOfLayerNormAgree) {
    EXPECT_THAT(functional::implementations("layer_norm"), ElementsAre("two_pass", "one_pass"));
    for (const char* device : {"reference", "cpu"}) {
        const Tensor x = drawn({7, 300}, 1).to(Device(device)) + 50.0;
        const Tensor weight = drawn({300}, 2).to(Device(device));
        const Tensor bias = drawn({300}, 3).to(Device(device));
        const auto by = [&](const char* name, const Tensor& rows) {
            const functional::PolicyScope scope("layer_norm", functional::Policy::force(name));
            return layer_norm(rows, weight, bias).eval().to_vector<float>();
        };
        const std::vector<float> exact =
            layer_norm(x.cast(f64), weight.cast(f64), bias.cast(f64)).cast(f32).to_vector<float>();
        EXPECT_THAT(by("two_pass", x), Pointwise(FloatNear(1e-4F), exact)) << device;
        EXPECT_THAT(by("one_pass", x), Pointwise(FloatNear(1e-4F), exact)) << device;
        // One element, rows of one value, and NaN and inf, which take their row with them.
        const Tensor rows =
            ones({3, 300}).to(Device(device)) * Tensor{{2.F}, {NAN}, {INFINITY}}.to(Device(device));
        for (const char* name : {"two_pass", "one_pass"}) {
            const std::vector<float> out = by(name, rows);
            EXPECT_EQ(out[0], bias.to(Device()).to_vector<float>()[0]) << name;
            EXPECT_THAT(out[300], IsNan()) << name;
            EXPECT_THAT(out[600], IsNan()) << name;
        }
    }
}

TEST(Networks, PoolsTakeTheirWindowAsStride) {
    const Tensor x = arange(6, f32).reshape({1, 1, 6});
    EXPECT_THAT(max_pool(x, {2}).to_vector<float>(), ElementsAre(1, 3, 5));
    EXPECT_THAT(avg_pool(x, {3}).to_vector<float>(), ElementsAre(1, 4));
    EXPECT_THAT(max_pool(-x, {3}, {2}, {1}).to_vector<float>(), ElementsAre(0, -1, -3));
    EXPECT_THAT(avg_pool(x, {2}, {4}, {1}).to_vector<float>(), ElementsAre(0, 3.5));
    EXPECT_THAT(avg_pool(x, {2}, {3}, {1}, false).to_vector<float>(), ElementsAre(0, 2.5, 5));
    // Padding never wins, not even over the lowest integers; of padding alone comes the lowest.
    const Tensor low = full({1, 1, 2}, std::int64_t{-128}).cast(i8);
    EXPECT_THAT(max_pool(low, {2}, {1}, {1}).to_vector<std::int8_t>(),
                ElementsAre(-128, -128, -128));
    EXPECT_EQ(max_pool(x, {2}, {8}, {2}).to_vector<float>()[0], -INFINITY);
    EXPECT_THAT(max_pool(Tensor{{{1.F, NAN, 3.F, 4.F}}}, {2}).to_vector<float>(),
                ElementsAre(IsNan(), 4));
}

TEST(Networks, InterpolationKeepsCornersAndCentres) {
    const Tensor x{{{0.F, 4.F}}};
    EXPECT_THAT(interpolate(x, {4}).to_vector<float>(), ElementsAre(0, 0, 4, 4));
    EXPECT_THAT(interpolate(x, {4}, true).to_vector<float>(), ElementsAre(0, 1, 3, 4));
    EXPECT_THAT(interpolate(interpolate(x, {4}, true), {2}, true).to_vector<float>(),
                ElementsAre(0.5, 3.5));
}

TEST(Networks, ConvolutionTransposeUndoesTheShapeOfConvolution) {
    const Tensor x = ones({1, 1, 2, 2});
    const Tensor w = ones({1, 1, 2, 2});
    EXPECT_THAT(convolution_transpose(x, w).to_vector<float>(),
                ElementsAre(1, 2, 1, 2, 4, 2, 1, 2, 1));
    const Tensor image = drawn({2, 4, 7, 9}, 5);
    const Tensor window = drawn({6, 4, 3, 3}, 6);
    const Tensor small = convolution(image, window, {2, 2}, {1, 1});
    const Tensor back = convolution_transpose(small, window, {2, 2}, {1, 1});
    EXPECT_EQ(back.shape(), image.shape());
    // <conv(image), y> = <image, transpose(y)>.
    const Tensor y = drawn(small.shape(), 7);
    const auto dot = [](const Tensor& a, const Tensor& b) { return (a * b).sum().item<float>(); };
    EXPECT_NEAR(dot(small, y), dot(image, convolution_transpose(y, window, {2, 2}, {1, 1})), 1e-3);
}

TEST(Networks, ClassesAndDropout) {
    EXPECT_THAT(one_hot(Tensor{2, 0, 5}, 3, i32).to_vector<int>(),
                ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0));
    EXPECT_THROW(one_hot(Tensor{1}, -1), ArgumentError);
    const Tensor logits{{0.F, 0.F}, {100.F, 0.F}};
    EXPECT_NEAR(cross_entropy(logits, Tensor{1, 0}).item<float>(), std::log(2) / 2, 1e-6);
    EXPECT_NEAR(cross_entropy(logits, Tensor{1, -100}).item<float>(), std::log(2), 1e-6);
    EXPECT_THAT(cross_entropy(logits, Tensor{-100, -100}).item<float>(), IsNan());
    EXPECT_THAT(cross_entropy(logits, Tensor{0, 2}).item<float>(), IsNan());
    EXPECT_NEAR(cross_entropy(logits, Tensor{0, 0}, 0.5).item<float>(),
                (std::log(2) + 0.25 * 100) / 2, 1e-4);
    const Tensor x = ones({10000});
    const std::vector<float> dropped = dropout(x, 0.25, key(3)).to_vector<float>();
    const auto kept = std::ranges::count_if(dropped, [](float v) { return v != 0; });
    EXPECT_NEAR(static_cast<double>(kept), 7500, 200);
    for (const float v : dropped) ASSERT_TRUE(v == 0 || std::fabs(v - 1 / 0.75F) < 1e-6F);
    EXPECT_EQ(dropout(x, 0.25, key(3)).to_vector<float>(), dropped);
    EXPECT_NE(dropout(x, 0.25, key(4)).to_vector<float>(), dropped);
    EXPECT_EQ(dropout(x, 1, key(3)).sum().item<float>(), 0);
    EXPECT_THROW(embedding(ones({3, 2}), Tensor{3}).eval(), ExecutionError);
    EXPECT_THAT(embedding(arange(6, f32).reshape({3, 2}), Tensor{-1, 0}).to_vector<float>(),
                ElementsAre(4, 5, 0, 1));
}

TEST(Networks, Triangles) {
    EXPECT_THAT(tri(2, 3, 0, i32).to_vector<int>(), ElementsAre(1, 0, 0, 1, 1, 0));
    EXPECT_THAT(tri(2, -1, -1, i32).to_vector<int>(), ElementsAre(0, 0, 1, 0));
    EXPECT_EQ(tri(0).shape(), (Shape{0, 0}));
    EXPECT_THROW(tri(-1), Error);
    EXPECT_THAT((Tensor{{1, 2}, {3, 4}}).tril().to_vector<int>(), ElementsAre(1, 0, 3, 4));
    EXPECT_THAT((Tensor{{1, 2}, {3, 4}}).triu(1).to_vector<int>(), ElementsAre(0, 2, 0, 0));
}

TEST(Networks, RopeKeepsLengthsAndDependsOnDistance) {
    const Tensor q = drawn({1, 8}, 1);
    const Tensor k = drawn({1, 8}, 2);
    for (const bool interleaved : {false, true}) {
        const auto turned = [&](const Tensor& x, int at) {
            return rope(x, Tensor{at}.to(Device()), 10000, interleaved);
        };
        const auto score = [&](int at_q, int at_k) {
            return (turned(q, at_q) * turned(k, at_k)).sum().item<float>();
        };
        EXPECT_EQ(turned(q, 0).to_vector<float>(), q.to_vector<float>());
        EXPECT_NEAR(score(5, 3), score(100002, 100000), 1e-5);
        EXPECT_GT(std::fabs(score(5, 3) - score(5, 4)), 1e-4);
    }
}

TEST(Networks, AttentionWithSharedHeadsIsAttentionWithRepeatedOnes) {
    for (const char* device : {"reference", "cpu"}) {
        const Device there(device);
        const Tensor q = drawn({2, 6, 9, 8}, 1).to(there);
        const Tensor k = drawn({2, 2, 11, 8}, 2).to(there);
        const Tensor v = drawn({2, 2, 11, 5}, 3).to(there);
        const Tensor mask = drawn({9, 11}, 4).to(there);
        const auto near = [&](const Tensor& a, const Tensor& b) {
            EXPECT_THAT(a.to_vector<float>(), Pointwise(FloatNear(1e-5F), b.to_vector<float>()))
                << device;
        };
        const Tensor wide_k = k.repeat(3, 1);
        const Tensor wide_v = v.repeat(3, 1);
        near(attention_general(q, k, v, mask, {}, 0, true),
             attention(q, wide_k, wide_v, mask, 0, true));
        // Slopes and window as a mask: key j and query i stand j - (i + 2) apart.
        const Tensor distance = (iota({9, 11}, 1) - iota({9, 11}, 0) - 2).cast(f32).to(there);
        const Tensor slopes = Tensor{0.5F, 0.25F, 0.125F, 1.F, 2.F, 0.F}.to(there);
        const Tensor lowered = -slopes.reshape({6, 1, 1}) * distance.abs();
        near(attention_general(q, k, v, {}, slopes), attention(q, wide_k, wide_v, lowered));
        near(attention_general(q, k, v, {}, {}, 0, true, 3),
             attention(q, wide_k, wide_v, distance > -3.0, 0, true));
        near(attention_general(q, k, v, {}, {}, 0, false, 3),
             attention(q, wide_k, wide_v, distance.abs() < 3.0));
        // A high cap changes nothing, a low one makes all keys alike.
        near(attention_general(q, k, v, {}, {}, 0, false, 0, 1e4), attention(q, wide_k, wide_v));
        near(attention_general(q, k, v, {}, {}, 0, false, 0, 1e-6),
             wide_v.mean(2, true).broadcast_to({2, 6, 9, 5}));
        near(attention_general(q, k, v, (distance <= 0.0).to(there)),
             attention(q, wide_k, wide_v, {}, 0, true));
    }
}

TEST(Networks, AddActivateTakesThreeActivations) {
    const Tensor x{-1.F, 2.F};
    const Tensor y{0.5F, -4.F};
    EXPECT_THAT(
        add_activate(x, y, Activation::relu, Activation::none, Activation::relu).to_vector<float>(),
        ElementsAre(0.5F, 0));
    EXPECT_THAT(lerp(x, y, 0.5).to_vector<float>(), ElementsAre(-0.25F, -1));
    EXPECT_THAT(lerp(x, y, 0.25, true).to_vector<float>(), ElementsAre(0.125F, -2.5F));
    EXPECT_THAT(blend(x, y, Tensor{1.F, 0.F}).to_vector<float>(), ElementsAre(-1, -4));
}

}  // namespace
}  // namespace lazuli
