// Functions of f32 as kernels compute them, against the C library in double: all 2^32 floats in the
// long run, every 9973rd in CI.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <thread>

#include "distance.h"
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

double rsqrt_of(double x) { return 1 / std::sqrt(x); }
double sigmoid_of(double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

/// By halving: erf, and erfc where 1 - |x| is exact, rise and fall.
double erfinv_of(double x) {
    const double size = std::fabs(x);
    if (!(size < 1)) return size == 1 ? std::copysign(INFINITY, x) : NAN;
    if (size < 1e-5) return x * 0.88622692545275801;  // the next term is x^3 / 4
    double low = 0;
    double high = 6;
    for (int step = 0; step < 60; ++step) {
        const double t = (low + high) / 2;
        const bool below = size < 0.5 ? std::erf(t) < size : std::erfc(t) > 1 - size;
        (below ? low : high) = t;
    }
    return std::copysign(low, x);
}
double lgamma_of(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

#define LAZULI_FUNCTION(name, exact, ulps) \
    {#name, [](const Tensor& x) { return x.name(); }, exact, ulps}
const Function kFunctions[] = {
    LAZULI_FUNCTION(exp, std::exp, 1),       LAZULI_FUNCTION(exp2, std::exp2, 1),
    LAZULI_FUNCTION(expm1, std::expm1, 2),   LAZULI_FUNCTION(log, std::log, 1),
    LAZULI_FUNCTION(log2, std::log2, 2),     LAZULI_FUNCTION(log10, std::log10, 1),
    LAZULI_FUNCTION(log1p, std::log1p, 2),   LAZULI_FUNCTION(rsqrt, rsqrt_of, 2),
    LAZULI_FUNCTION(sin, std::sin, 2),       LAZULI_FUNCTION(cos, std::cos, 2),
    LAZULI_FUNCTION(tan, std::tan, 1),       LAZULI_FUNCTION(asin, std::asin, 1),
    LAZULI_FUNCTION(acos, std::acos, 1),     LAZULI_FUNCTION(atan, std::atan, 1),
    LAZULI_FUNCTION(sinh, std::sinh, 1),     LAZULI_FUNCTION(cosh, std::cosh, 1),
    LAZULI_FUNCTION(asinh, std::asinh, 1),   LAZULI_FUNCTION(acosh, std::acosh, 1),
    LAZULI_FUNCTION(atanh, std::atanh, 1),   LAZULI_FUNCTION(erfc, std::erfc, 1),
    LAZULI_FUNCTION(cbrt, std::cbrt, 1),     LAZULI_FUNCTION(tanh, std::tanh, 2),
    LAZULI_FUNCTION(sigmoid, sigmoid_of, 2), LAZULI_FUNCTION(erf, std::erf, 2),
    LAZULI_FUNCTION(floor, std::floor, 0),   LAZULI_FUNCTION(ceil, std::ceil, 0),
    LAZULI_FUNCTION(trunc, std::trunc, 0),   LAZULI_FUNCTION(round, std::nearbyint, 0),
    LAZULI_FUNCTION(erfinv, erfinv_of, 1),   LAZULI_FUNCTION(lgamma, lgamma_of, 1),
};
#undef LAZULI_FUNCTION

struct Worst {
    double ulps = 0;
    float where = 0;
    std::uint64_t beyond_half = 0;
};

/// The worst of some results. The C library takes longer than what is tested, so threads share it.
Worst worst_of(const Function& function, const std::vector<float>& x, const float* y) {
    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<Worst> found(threads);
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            Worst& worst = found[t];
            for (std::size_t i = t; i < x.size(); i += threads) {
                const double d = tests::distance(y[i], function.exact(static_cast<double>(x[i])));
                if (d > 0.5) ++worst.beyond_half;
                if (d > worst.ulps) {
                    worst.ulps = d;
                    worst.where = x[i];
                }
            }
        });
    }
    for (std::thread& thread : running) thread.join();
    Worst out;
    for (const Worst& worst : found) {
        const std::uint64_t beyond_half = out.beyond_half + worst.beyond_half;
        if (worst.ulps > out.ulps) out = worst;
        out.beyond_half = beyond_half;
    }
    return out;
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
    Worst worst;
    std::uint64_t checked = 0;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32);) {
        x.clear();
        if (checked == 0) {
            for (const float edge : {0.0F, 0x1p-149F, 0x1p-126F, 0x1.fffffcp-127F, 1.0F, 0.5F, 1.5F,
                                     2.5F, 0x1.fffffep127F, INFINITY, NAN})
                x.insert(x.end(), {edge, -edge});
        }
        for (; x.size() < kPiece && bits < (std::uint64_t{1} << 32); bits += step)
            x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        const Tensor operand = lift(x.data(), f32, {static_cast<std::int64_t>(x.size())});
        const Tensor result = function.record(operand);
        const Worst here = worst_of(function, x, result.data<float>());
        checked += x.size();
        const std::uint64_t beyond_half = worst.beyond_half + here.beyond_half;
        if (here.ulps > worst.ulps) worst = here;
        worst.beyond_half = beyond_half;
    }
    set_default_device(before);
    fmt::print(
        "maths: {} of {} floats: at most {:.3f} ulp (promised {}), at {:a}; {:.2f} % not the "
        "nearest float\n",
        function.name, checked, worst.ulps, function.ulps, worst.where,
        100.0 * static_cast<double>(worst.beyond_half) / static_cast<double>(checked));
    EXPECT_LE(worst.ulps, function.ulps);
}

INSTANTIATE_TEST_SUITE_P(All, Maths, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lazuli
