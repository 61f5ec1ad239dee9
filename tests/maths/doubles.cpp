// Functions of f64 as kernels compute them, against MPFR: numbers of every size, and where it is
// hard, next to zeros, poles and the ends of the range.

#ifdef LAZULI_HAS_MPFR

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <random>

#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

constexpr mpfr_prec_t kBits = 140;

struct Number {
    Number() { mpfr_init2(value, kBits); }
    ~Number() { mpfr_clear(value); }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    mpfr_t value;
};

/// How far a double lies from a number, in units of the last place of the double next to that.
double distance(double got, const Number& exact) {
    const double nearest = mpfr_get_d(exact.value, MPFR_RNDN);
    if (std::isnan(nearest) || std::isnan(got))
        return std::isnan(nearest) && std::isnan(got) ? 0 : INFINITY;
    if (got == nearest) return std::signbit(got) == std::signbit(nearest) ? 0 : INFINITY;
    if (std::isinf(got) || std::isinf(nearest))
        return std::nextafter(got, nearest) == nearest ? 1 : INFINITY;
    Number difference;
    mpfr_sub_d(difference.value, exact.value, got, MPFR_RNDN);
    const int exponent = std::max(nearest == 0 ? -1022 : std::ilogb(nearest), -1022);
    mpfr_mul_2si(difference.value, difference.value, 52 - exponent, MPFR_RNDN);
    return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
}

using Exact = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

int sigmoid_of(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round) {
    Number e;
    mpfr_neg(e.value, x, round);
    mpfr_exp(e.value, e.value, round);
    mpfr_add_ui(e.value, e.value, 1, round);
    return mpfr_ui_div(out, 1, e.value, round);
}
int rsqrt_of(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round) {
    Number root;  // of -0 -0, which mpfr_rec_sqrt does not have
    mpfr_sqrt(root.value, x, round);
    return mpfr_ui_div(out, 1, root.value, round);
}

/// By Newton's steps, of which each doubles the number of right bits.
int erfinv_of(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round) {
    const double given = mpfr_get_d(x, round);
    const double size = std::fabs(given);
    if (!(size < 1)) {
        mpfr_set_d(out, size == 1 ? std::copysign(INFINITY, given) : NAN, round);
        return 0;
    }
    if (given == 0) return mpfr_set(out, x, round);
    double low = 0;
    double high = 6;
    for (int step = 0; step < 45; ++step) {
        const double t = (low + high) / 2;
        const bool below = size < 0.5 ? std::erf(t) < size : std::erfc(t) > 1 - size;
        (below ? low : high) = t;
    }
    Number t;
    Number by;
    Number slope;
    mpfr_set_d(t.value, size < 1e-5 ? size * 0.88622692545275801 : low, round);
    for (int step = 0; step < 4; ++step) {
        if (size < 0.5) {
            mpfr_erf(by.value, t.value, round);
            mpfr_sub_d(by.value, by.value, size, round);
        } else {
            mpfr_erfc(by.value, t.value, round);
            mpfr_d_sub(by.value, 1 - size, by.value, round);
        }
        mpfr_sqr(slope.value, t.value, round);
        mpfr_exp(slope.value, slope.value, round);
        mpfr_mul(by.value, by.value, slope.value, round);
        mpfr_const_pi(slope.value, round);
        mpfr_sqrt(slope.value, slope.value, round);
        mpfr_mul(by.value, by.value, slope.value, round);
        mpfr_div_2ui(by.value, by.value, 1, round);
        mpfr_sub(t.value, t.value, by.value, round);
    }
    return mpfr_setsign(out, t.value, std::signbit(given) ? 1 : 0, round);
}
int lgamma_of(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round) {
    int sign = 0;
    return mpfr_lgamma(out, &sign, x, round);
}

struct Function {
    const char* name;
    Tensor (*record)(const Tensor&);
    Exact exact;
    double ulps;               // what is promised
    double low, high;          // where the function is neither 0 nor infinite, nor plain
    std::vector<double> hard;  // numbers whose surroundings are tried as well
    double absolute = 0;       // an error that is never too large
};

std::vector<double> multiples(double of) {
    std::vector<double> out;
    for (int k = 1; k < 60; ++k) out.push_back(k * of);
    for (int k = 6; k < 40; ++k) out.push_back(std::ldexp(of, k));
    // The double nearest to a multiple of pi / 2.
    out.push_back(6381956970095103.0 * std::ldexp(1.0, 797));
    return out;
}

#define LAZULI_FUNCTION(name, exact, ulps, ...) \
    {#name, [](const Tensor& x) { return x.name(); }, exact, ulps, __VA_ARGS__}
const Function kFunctions[] = {
    LAZULI_FUNCTION(exp, mpfr_exp, 1, -746, 710, {0, 709.782712893384, -708.4, -745.13}),
    LAZULI_FUNCTION(exp2, mpfr_exp2, 1, -1076, 1025, {0, 1024, -1022, -1074, 0.5}),
    LAZULI_FUNCTION(expm1, mpfr_expm1, 2, -40, 710, {0, 709.782712893384, 0.3466, -0.3466, -37}),
    LAZULI_FUNCTION(log, mpfr_log, 1, 0, 8, {1, 0x1p-1022, 0x1p-1074, 0.7071067811865476}),
    LAZULI_FUNCTION(log2, mpfr_log2, 2, 0, 8, {1, 2, 0x1p-1022, 0.7071067811865476}),
    LAZULI_FUNCTION(log10, mpfr_log10, 2, 0, 8, {1, 10, 1000, 0x1p-1022}),
    LAZULI_FUNCTION(log1p, mpfr_log1p, 2, -1, 8, {0, -1, -0.2928932188134524, 0x1p53}),
    LAZULI_FUNCTION(rsqrt, rsqrt_of, 2, 0, 8, {0, 1}),
    LAZULI_FUNCTION(sin, mpfr_sin, 2, -1e6, 1e6, multiples(M_PI_2)),
    LAZULI_FUNCTION(cos, mpfr_cos, 2, -1e6, 1e6, multiples(M_PI_2)),
    LAZULI_FUNCTION(tan, mpfr_tan, 2, -1e6, 1e6, multiples(M_PI_4)),
    LAZULI_FUNCTION(asin, mpfr_asin, 2, -1, 1, {0, 0.5, 1}),
    LAZULI_FUNCTION(acos, mpfr_acos, 2, -1, 1, {0, 0.5, 1}),
    LAZULI_FUNCTION(atan, mpfr_atan, 2, -8, 8, {0, 0.41421356237309503, 1, 2.414213562373095}),
    LAZULI_FUNCTION(sinh, mpfr_sinh, 2, -711, 711, {0, 0.3466, 710.4758600739439}),
    LAZULI_FUNCTION(cosh, mpfr_cosh, 2, -711, 711, {0, 0.3466, 710.4758600739439}),
    LAZULI_FUNCTION(asinh, mpfr_asinh, 2, -8, 8, {0, 1, 0x1p500}),
    LAZULI_FUNCTION(acosh, mpfr_acosh, 2, 1, 8, {1, 2, 0x1p500}),
    LAZULI_FUNCTION(atanh, mpfr_atanh, 2, -1, 1, {0, 0.5, 1}),
    LAZULI_FUNCTION(erfc, mpfr_erfc, 2, -6, 28, {0, 0.4, 1, 26.54, 27.22}),
    LAZULI_FUNCTION(cbrt, mpfr_cbrt, 2, -8, 8, {0, 1, 8, 27, 0x1p-1022}),
    LAZULI_FUNCTION(tanh, mpfr_tanh, 2, -22, 22, {0, 0.1733, 0.55, 19.06}),
    LAZULI_FUNCTION(sigmoid, sigmoid_of, 2, -746, 40, {0, -708.4, -745.13, 36.7}),
    LAZULI_FUNCTION(erf, mpfr_erf, 2, -6, 6, {0, 1, 5.92}),
    LAZULI_FUNCTION(erfinv, erfinv_of, 4, -1, 1, {0, 0.5, 0.99662, 1}),
    // Below -2 it has zeros, near which its relative error is large.
    LAZULI_FUNCTION(lgamma, lgamma_of, 6, -6, 300,
                    {0, 0.75, 1, 2, 2.25, 8.25, 2.556e305, -2.4570247382208005}, 2e-15),
};
#undef LAZULI_FUNCTION

class Doubles : public testing::TestWithParam<Function> {};

TEST_P(Doubles, AreAsCloseAsPromised) {
    const Function& function = GetParam();
    const Device before = default_device();
    set_default_device(Device("cpu"));
    const int count = tests::count(20'000, 4'000'000);
    std::mt19937_64 random(tests::seed);
    std::vector<double> x = {0.0,
                             -0.0,
                             1,
                             -1,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             0x1p-1074,
                             -0x1p-1074,
                             0x1.fffffffffffffp1023,
                             -0x1.fffffffffffffp1023};
    std::uniform_real_distribution<double> within(function.low, function.high);
    for (int i = 0; i < count; ++i) {
        x.push_back(within(random));
        x.push_back(std::ldexp(within(random), -static_cast<int>(random() % 60)));
        x.push_back(std::bit_cast<double>(random()));
    }
    for (const double hard : function.hard) {
        double above = hard;
        double below = hard;
        for (int i = 0; i < 40; ++i) {
            x.insert(x.end(), {above, below, -above, -below, hard * (1 + std::ldexp(1.0, -i - 4)),
                               hard + std::ldexp(1.0, -i * 20), hard - std::ldexp(1.0, -i * 20)});
            above = std::nextafter(above, INFINITY);
            below = std::nextafter(below, -INFINITY);
        }
    }
    const Tensor operand = lift(x.data(), f64, {static_cast<std::int64_t>(x.size())});
    const Tensor result = function.record(operand);
    const double* y = result.data<double>();
    double worst = 0;
    double where = 0;
    Number argument;
    Number exact;
    for (std::size_t i = 0; i < x.size(); ++i) {
        mpfr_set_d(argument.value, x[i], MPFR_RNDN);
        function.exact(exact.value, argument.value, MPFR_RNDN);
        const double d = distance(y[i], exact);
        mpfr_sub_d(argument.value, exact.value, y[i], MPFR_RNDN);
        const bool is_near = std::fabs(mpfr_get_d(argument.value, MPFR_RNDN)) <= function.absolute;
        if (d > worst && !is_near) {
            worst = d;
            where = x[i];
        }
    }
    set_default_device(before);
    fmt::print("maths: {} of {} doubles: at most {:.3f} ulp (promised {}), at {:a}\n",
               function.name, x.size(), worst, function.ulps, where);
    EXPECT_LE(worst, function.ulps);
}

INSTANTIATE_TEST_SUITE_P(All, Doubles, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return test.param.name; });

// ---- two operands

struct Function2 {
    const char* name;
    Tensor (*record)(const Tensor&, const Tensor&);
    int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    double ulps;
};
const Function2 kFunctions2[] = {
    {"pow", [](const Tensor& x, const Tensor& y) { return x.pow(y); }, mpfr_pow, 2},
    {"atan2", [](const Tensor& y, const Tensor& x) { return y.atan2(x); }, mpfr_atan2, 2},
    {"hypot", [](const Tensor& x, const Tensor& y) { return x.hypot(y); }, mpfr_hypot, 2},
};

class Doubles2 : public testing::TestWithParam<Function2> {};

TEST_P(Doubles2, AreAsCloseAsPromised) {
    const Function2& function = GetParam();
    const Device before = default_device();
    set_default_device(Device("cpu"));
    const int count = tests::count(20'000, 4'000'000);
    std::mt19937_64 random(tests::seed);
    std::vector<double> x;
    std::vector<double> y;
    const auto add = [&](double a, double b) {
        x.push_back(a);
        y.push_back(b);
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
                            1e9,
                            -1e9,
                            NAN,
                            0x1p-1074,
                            0x1p53 + 1,
                            INFINITY,
                            -INFINITY,
                            0x1.fffffffffffffp1023,
                            -0x1.fffffffffffffp1023};
    for (const double a : edges) {
        for (const double b : edges) add(a, b);
    }
    std::uniform_real_distribution<double> unit(-1, 1);
    for (int i = 0; i < count; ++i) {
        add(std::exp(20 * unit(random)), 30 * unit(random));
        // Results of every size, most of them next to the ends of the range.
        const double base = std::bit_cast<double>(random() >> 1);
        const double power = 1070 * unit(random) / std::log2(base);
        if (std::isfinite(power)) add(base, power);
        const double near = 1 + std::ldexp(unit(random), -static_cast<int>(random() % 40));
        add(near, 700 * unit(random) / std::log(near));
        add(-std::floor(40 * (1 + unit(random))), std::floor(30 * unit(random)));
        add(std::bit_cast<double>(random()), std::bit_cast<double>(random()));
    }
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const Tensor result = function.record(lift(x.data(), f64, shape), lift(y.data(), f64, shape));
    const double* z = result.data<double>();
    double worst = 0;
    std::size_t where = 0;
    Number a;
    Number b;
    Number exact;
    for (std::size_t i = 0; i < x.size(); ++i) {
        mpfr_set_d(a.value, x[i], MPFR_RNDN);
        mpfr_set_d(b.value, y[i], MPFR_RNDN);
        function.exact(exact.value, a.value, b.value, MPFR_RNDN);
        const double d = distance(z[i], exact);
        if (d > worst) {
            worst = d;
            where = i;
        }
    }
    set_default_device(before);
    fmt::print(
        "maths: {} of {} pairs of doubles: at most {:.3f} ulp (promised {}), at {:a}, {:a}\n",
        function.name, x.size(), worst, function.ulps, x[where], y[where]);
    EXPECT_LE(worst, function.ulps);
}

INSTANTIATE_TEST_SUITE_P(All, Doubles2, testing::ValuesIn(kFunctions2),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lazuli

#endif
