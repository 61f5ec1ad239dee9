// First values, and curves as pictures.

#include <gmock/gmock.h>

#include <cmath>

#include "fixture.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Moments {
    double mean;
    double deviation;
    double largest;
};

Moments moments_of(const Tensor& x) {
    const Tensor wide = x.cast(f64);
    const double mean = lazuli::mean(wide).item<double>();
    return {mean, std::sqrt(lazuli::mean(square(wide - mean)).item<double>()), tests::largest(x)};
}

TEST(Init, HasTheMomentsItSays) {
    const Shape shape{200, 300};
    const auto expect = [&](const char* name, const Tensor& x, double deviation, double most) {
        const Moments got = moments_of(x);
        EXPECT_NEAR(got.mean, 0, 0.02 * deviation) << name;
        EXPECT_NEAR(got.deviation, deviation, 0.02 * deviation) << name;
        EXPECT_LE(got.largest, most * (1 + 1e-6)) << name;
        EXPECT_GE(got.largest, 0.95 * std::min(most, 3.5 * deviation)) << name;
        EXPECT_EQ(x.shape(), shape) << name;
    };
    const SeedScope scope(1);
    const double root = std::sqrt(2.0 / 500);
    constexpr double kAny = 1e9;
    expect("normal", nn::init::normal(shape, 0.5), 0.5, kAny);
    expect("uniform", nn::init::uniform(shape, -0.5, 0.5), 1 / std::sqrt(12.0), 0.5);
    // Without the tails the deviation is smaller.
    expect("truncated", nn::init::truncated_normal(shape, 0.5), 0.5 * 0.87963, 1);
    expect("xavier uniform", nn::init::xavier_uniform(shape), root, root * std::sqrt(3.0));
    expect("xavier normal", nn::init::xavier_normal(shape, 2), 2 * root, kAny);
    const double he = std::sqrt(2.0 / 300);
    expect("kaiming uniform", nn::init::kaiming_uniform(shape), he, he * std::sqrt(3.0));
    expect("kaiming normal", nn::init::kaiming_normal(shape), he, kAny);
    EXPECT_NEAR(moments_of(nn::init::normal(shape, 1, 3)).mean, 3, 0.05);
}

TEST(Init, IsOrthogonal) {
    for (const Shape& shape : {Shape{8, 5}, Shape{5, 8}, Shape{4, 3, 2, 2}}) {
        const Tensor x = nn::init::orthogonal(shape, 3);
        EXPECT_EQ(x.shape(), shape);
        const Tensor matrix = x.reshape({shape[0], x.numel() / shape[0]});
        const bool is_wide = matrix.size(0) < matrix.size(1);
        const Tensor gram =
            is_wide ? matmul(matrix, matrix.transpose()) : matmul(matrix.transpose(), matrix);
        EXPECT_LE(tests::apart(gram, eye(gram.size(0)) * 9), 1e-5) << shape.str();
    }
}

TEST(Init, IsRepeatedByKeys) {
    const Tensor one = nn::init::normal({5}, 1, 0, key(3));
    EXPECT_EQ(tests::bits(one), tests::bits(nn::init::normal({5}, 1, 0, key(3))));
    EXPECT_NE(tests::bits(one), tests::bits(nn::init::normal({5}, 1, 0, key(4))));
    EXPECT_EQ(nn::init::fans({6, 4, 3, 3}).in, 36);
    EXPECT_EQ(nn::init::fans({6, 4, 3, 3}).out, 54);
    EXPECT_THROW(nn::init::fans({6}), ArgumentError);
    EXPECT_THROW(nn::init::orthogonal({6}), ArgumentError);
}

TEST(Curves, AreAPicture) {
    const std::string svg = train::curves_svg(
        "loss < 1 & falling", {{"train", {{0, 3.5}, {10, 2.0}, {20, 1.0}}},
                               {"validation", {{0, 3.6}, {10, std::nan("")}, {20, 1.5}}}});
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, HasSubstr("loss &lt; 1 &amp; falling"));
    EXPECT_THAT(svg, HasSubstr("train"));
    EXPECT_THAT(svg, HasSubstr("validation"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    // Nothing, one point, and a line without height are pictures too.
    const std::vector<std::vector<train::Curve>> poor = {
        {}, {{"none", {}}}, {{"one", {{5, 1.0}}}}, {{"flat", {{0, 2.0}, {9, 2.0}}}}};
    for (const auto& curves : poor) {
        const std::string text = train::curves_svg("", curves);
        EXPECT_THAT(text, HasSubstr("</svg>"));
        EXPECT_THAT(text, Not(HasSubstr("nan")));
        EXPECT_THAT(text, Not(HasSubstr("inf")));
    }
}

}  // namespace
}  // namespace lazuli
