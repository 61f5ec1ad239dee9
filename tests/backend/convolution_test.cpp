// Convolutions as weights by windows, beside what the reference backend makes of them.

#include <gtest/gtest.h>

#include <cmath>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

struct Sizes {
    Shape x, w;
    Ints strides = {}, padding = {}, dilation = {};
    std::int64_t groups = 1;
};

using Behind = std::function<Tensor(const Tensor&)>;

void expect_same(const Sizes& s, DType dtype, const Behind& before = {},
                 const Behind& behind = {}) {
    const auto drawn = [&](std::uint64_t k, const Shape& shape) {
        return (key(k).random_uniform(shape).to(Device()) * 2.0 - 1.0).cast(dtype).eval();
    };
    const Tensor x = drawn(1, s.x);
    const Tensor w = drawn(2, s.w);
    const auto run = [&](Device device) {
        Tensor in = x.to(device);
        if (before) in = before(in);
        Tensor out = in.convolution(w.to(device), s.strides, s.padding, s.dilation, s.groups);
        if (behind) out = behind(out);
        return out.cast(f64).to_vector<double>();
    };
    const std::vector<double> want = run(Device());
    const std::vector<double> got = run(Device("cpu"));
    ASSERT_EQ(got.size(), want.size());
    const double bound = dtype == f64 ? 1e-13 : dtype == f32 ? 2e-5 : dtype == f16 ? 4e-3 : 3e-2;
    for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], bound * (1 + std::fabs(want[i]))) << "element " << i;
}

TEST(Convolution, WindowsStridesPaddingGroups) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
        SCOPED_TRACE(name(dtype));
        expect_same({{2, 5, 9, 11}, {7, 5, 3, 3}, {}, {1, 1}}, dtype);
        expect_same({{1, 16, 20, 37}, {33, 16, 3, 3}, {}, {1, 1}}, dtype);
        expect_same({{1, 16, 20, 37}, {33, 16, 1, 1}}, dtype);
        expect_same({{2, 16, 14, 13}, {8, 16, 1, 1}, {2, 2}}, dtype);
        expect_same({{1, 3, 30, 31}, {16, 3, 7, 7}, {2, 2}, {3, 3}}, dtype);
        expect_same({{2, 6, 12, 9}, {8, 3, 3, 2}, {1, 2}, {2, 0, 1, 3}, {2, 3}, 2}, dtype);
        expect_same({{2, 8, 12, 12}, {8, 1, 3, 3}, {}, {1, 1}, {}, 8}, dtype);
        expect_same({{3, 4, 50}, {6, 4, 5}, {3}, {4}}, dtype);
        expect_same({{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1, 0, 1}}, dtype);
        // Windows that lie in the padding altogether.
        expect_same({{1, 1, 2, 2}, {1, 1, 2, 2}, {}, {5, 5}, {3, 3}}, dtype);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Convolution, WithWhatIsFused) {
    const auto bias = [](const Tensor& y) {
        const Tensor b = iota({y.shape()[1]}, 0, f32).to(y.device()) * 0.25;
        return (y + b.reshape({y.shape()[1], 1, 1})).relu();
    };
    expect_same({{1, 8, 17, 19}, {20, 8, 3, 3}, {}, {1, 1}}, f32, {}, bias);
    expect_same({{3, 8, 17, 19}, {20, 8, 3, 3}, {}, {1, 1}}, f32, {}, bias);
    // Operands that are computed, and images with their channels last.
    expect_same({{2, 8, 9, 10}, {6, 8, 3, 3}, {}, {1, 1}}, f32,
                [](const Tensor& x) { return x.exp(); });
    expect_same(
        {{2, 9, 10, 8}, {6, 8, 3, 3}, {}, {1, 1}}, f32,
        [](const Tensor& x) { return x.permute({0, 3, 1, 2}); },
        [](const Tensor& y) { return y.permute({0, 2, 3, 1}) * 2.0; });
}

TEST(Convolution, ErrorsNameBothShapes) {
    const Tensor x = zeros({1, 3, 4, 4});
    const auto message = [](const auto& call) -> std::string {
        try {
            call();
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message([&] { (void)x.convolution(zeros({2, 4, 3, 3})); }),
              "convolution: channels differ (3 in 1 groups vs 4): [1, 3, 4, 4] by [2, 4, 3, 3]");
    EXPECT_EQ(message([&] { (void)x.convolution(zeros({2, 3, 5, 3})); }),
              "convolution: the window reaches over 5 where there are 4, padding included "
              "(dimension 0): [1, 3, 4, 4] by [2, 3, 5, 3]");
}

}  // namespace
}  // namespace lazuli
