// Functions of two floats as kernels compute them, against the C library in double: all pairs of
// edges, which is C's table of special cases, and pairs whose results are of every size.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "distance.h"
#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

struct Function {
    const char* name;
    Tensor (*record)(const Tensor&, const Tensor&);
    double (*exact)(double, double);
    double ulps;  // what is promised
};

double rem_of(double a, double b) {
    const double left = std::fmod(a, b);
    if (left == 0) return std::copysign(left, b);
    return (left < 0) != (b < 0) ? left + b : left;
}

const Function kFunctions[] = {
    {"pow", [](const Tensor& x, const Tensor& y) { return x.pow(y); }, std::pow, 1},
    {"atan2", [](const Tensor& y, const Tensor& x) { return y.atan2(x); }, std::atan2, 1},
    {"fmod", [](const Tensor& x, const Tensor& y) { return x.fmod(y); }, std::fmod, 0},
    {"rem", [](const Tensor& x, const Tensor& y) { return x.rem(y); }, rem_of, 1},
};

class Power : public testing::TestWithParam<Function> {};

TEST_P(Power, IsAsCloseAsPromised) {
    const Function& function = GetParam();
    const Device before = default_device();
    set_default_device(Device("cpu"));
    const int count = tests::count(100'000, 100'000'000);
    std::mt19937_64 random(tests::seed);
    std::vector<float> x;
    std::vector<float> y;
    const auto add = [&](double a, double b) {
        x.push_back(static_cast<float>(a));
        y.push_back(static_cast<float>(b));
    };
    const double edges[] = {0.0,
                            -0.0,
                            1,
                            -1,
                            0.5,
                            -0.5,
                            2,
                            -2,
                            3,
                            -3,
                            0.75,
                            -2.5,
                            1e3,
                            -7,
                            NAN,
                            0x1p-149,
                            1e-40,
                            -1e-40,
                            0x1p24 + 2,
                            0x1.fffffep23,
                            0x1.fffffep127,
                            INFINITY,
                            -INFINITY,
                            -0x1.fffffep127};
    for (const double a : edges) {
        for (const double b : edges) add(a, b);
    }
    const std::size_t special = x.size();
    std::uniform_real_distribution<double> unit(-1, 1);
    double worst = 0;
    std::size_t checked = 0;
    float at[2] = {};
    constexpr int kPiece = 1 << 20;
    for (int done = 0; done < count; done += kPiece) {
        if (done > 0) x.clear(), y.clear();
        for (int i = 0; i < std::min(kPiece, count - done); i += 4) {
            add(std::exp(5 * unit(random)), 20 * unit(random));
            const float base = std::bit_cast<float>(static_cast<std::uint32_t>(random() >> 33));
            add(base, 150 * unit(random) / std::log2(static_cast<double>(base)));
            add(1 + std::ldexp(unit(random), -static_cast<int>(random() % 24)), 1e4 * unit(random));
            add(std::bit_cast<float>(static_cast<std::uint32_t>(random())),
                std::bit_cast<float>(static_cast<std::uint32_t>(random())));
        }
        const Shape shape{static_cast<std::int64_t>(x.size())};
        const Tensor result =
            function.record(lift(x.data(), f32, shape), lift(y.data(), f32, shape));
        const float* z = result.data<float>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double d = tests::distance(
                z[i], function.exact(static_cast<double>(x[i]), static_cast<double>(y[i])));
            if (d <= worst) continue;
            worst = d;
            at[0] = x[i];
            at[1] = y[i];
        }
        checked += x.size();
    }
    set_default_device(before);
    fmt::print(
        "maths: {} of {} pairs of floats, {} of them edges: at most {:.3f} ulp (promised {}), "
        "at {:a}, {:a}\n",
        function.name, checked, special, worst, function.ulps, at[0], at[1]);
    EXPECT_LE(worst, function.ulps);
}

INSTANTIATE_TEST_SUITE_P(All, Power, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lazuli
