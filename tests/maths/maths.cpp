// Functions of f32 as kernels compute them, against the C library in double: all 2^32 floats in the
// long run, every 9973rd in CI.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

struct Function {
    const char* name;
    Tensor (*record)(const Tensor&);
    double (*exact)(double);
    double ulps;  // what is promised
};

const Function kFunctions[] = {
    {"exp", [](const Tensor& x) { return x.exp(); }, std::exp, 1},
    {"log", [](const Tensor& x) { return x.log(); }, std::log, 1},
    {"tanh", [](const Tensor& x) { return x.tanh(); }, std::tanh, 2},
    {"erf", [](const Tensor& x) { return x.erf(); }, std::erf, 2},
};

/// How far a float lies from a number, in units of the last place of the float next to that.
double distance(float got, double exact) {
    if (std::isnan(exact) || std::isnan(got))
        return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
    const auto nearest = static_cast<float>(exact);
    if (got == nearest) return std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
    if (std::isinf(got) || std::isinf(nearest)) {
        // The largest float and inf are neighbours.
        return std::nextafter(got, nearest) == nearest ? 1 : INFINITY;
    }
    const int exponent = std::max(std::ilogb(nearest == 0 ? 0x1p-149 : exact), -126);
    return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

class Maths : public testing::TestWithParam<Function> {};

TEST_P(Maths, IsAsCloseAsPromised) {
    const Function& function = GetParam();
    const Device before = default_device();
    set_default_device(Device("cpu"));
    // A prime, so that all exponents and endings of the mantissa come.
    const std::uint64_t step = tests::count(0, 1) == 1 ? 1 : 9973;
    constexpr std::size_t kPiece = 1 << 22;
    std::vector<float> x;
    double worst = 0;
    float where = 0;
    std::uint64_t checked = 0;
    std::uint64_t beyond_half = 0;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32);) {
        x.clear();
        if (checked == 0) {
            for (const float edge : {0.0F, 0x1p-149F, 0x1p-126F, 0x1.fffffcp-127F, 1.0F,
                                     0x1.fffffep127F, INFINITY, NAN})
                x.insert(x.end(), {edge, -edge});
        }
        for (; x.size() < kPiece && bits < (std::uint64_t{1} << 32); bits += step)
            x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        const Tensor operand = lift(x.data(), f32, {static_cast<std::int64_t>(x.size())});
        const Tensor result = function.record(operand);
        const float* y = result.data<float>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double d = distance(y[i], function.exact(static_cast<double>(x[i])));
            ++checked;
            if (d > 0.5) ++beyond_half;
            if (d > worst) {
                worst = d;
                where = x[i];
            }
        }
    }
    set_default_device(before);
    fmt::print(
        "maths: {} of {} floats: at most {:.3f} ulp (promised {}), at {:a}; {:.2f} % not the "
        "nearest float\n",
        function.name, checked, worst, function.ulps, where,
        100.0 * static_cast<double>(beyond_half) / static_cast<double>(checked));
    EXPECT_LE(worst, function.ulps);
}

INSTANTIATE_TEST_SUITE_P(All, Maths, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lazuli
