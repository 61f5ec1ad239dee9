// Random functions called again with other sizes: plans that generalise give what the reference
// backend gives, and there are few of them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "drawn_calls.h"
#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

using tests::DrawnCalls;
using Sizes = DrawnCalls::Sizes;

class Generalising : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override { set_default_device(Device(GetParam())); }
    void TearDown() override { set_default_device(before_); }
    bool compiles() const { return std::string_view(GetParam()) == "cpu"; }

   private:
    Device before_ = default_device();
};

INSTANTIATE_TEST_SUITE_P(Devices, Generalising, testing::Values("interpreter", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

struct Result {
    Shape shape;
    std::vector<float> values;
};

Result on_device(const DrawnCalls& calls, const Sizes& sizes, const char* device) {
    const Device before = default_device();
    set_default_device(Device(device));
    const Tensor result = calls(sizes);
    Result out{result.shape(), result.to_vector<float>()};
    set_default_device(before);
    return out;
}

/// The greatest difference, where 1 is what may be.
double distance(const Result& a, const Result& b) {
    if (!(a.shape == b.shape)) return INFINITY;
    double most = 0;
    double scale = 1;
    for (const float value : b.values)
        if (std::isfinite(value)) scale = std::max(scale, std::abs(static_cast<double>(value)));
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double x = a.values[i];
        const double y = b.values[i];
        if (std::isnan(x) && std::isnan(y)) continue;
        if (x == y) continue;
        const double off = std::abs(x - y) / (1e-5 * scale);
        most = std::isnan(off) ? INFINITY : std::max(most, off);
    }
    return most;
}

std::string text_of(const Sizes& sizes) {
    return fmt::format("{}, {}, {}", sizes[0], sizes[1], sizes[2]);
}

/// Ten sizes a program, none of which a dimension has twice.
TEST_P(Generalising, TenSizesNeedThreePlans) {
    const int programs = compiles() ? tests::count(60, 1000) : tests::count(200, 1000);
    std::map<std::uint64_t, int> plans;
    std::uint64_t general = 0;
    for (int seed = 0; seed < programs; ++seed) {
        const DrawnCalls calls(static_cast<std::uint64_t>(seed));
        tests::Random random(static_cast<std::uint64_t>(seed) + 7);
        std::array<std::vector<std::int64_t>, DrawnCalls::kSizes> all;
        for (auto& sizes : all) {
            for (std::int64_t size = 9; size < 24; ++size) sizes.push_back(size);
            for (std::size_t i = sizes.size() - 1; i > 0; --i)
                std::swap(sizes[i], sizes[random.below(i + 1)]);
        }
        clear_caches();
        std::uint64_t made = 0;
        for (std::size_t i = 0; i < 10; ++i) {
            const Sizes sizes{all[0][i], all[1][i], all[2][i]};
            const CacheStats before = cache_stats();
            const Result result = on_device(calls, sizes, GetParam());
            const CacheStats after = cache_stats();
            made += after.misses - before.misses + after.general_plans - before.general_plans;
            general += after.general_plans - before.general_plans;
            ASSERT_LE(distance(result, on_device(calls, sizes, "reference")), 1)
                << "program " << seed << " at " << text_of(sizes);
        }
        ++plans[made];
        EXPECT_LE(made, 3U) << "program " << seed;
    }
    fmt::print("{} programs at 10 sizes each on {}: {} general plans;", programs, GetParam(),
               general);
    for (const auto& [count, times] : plans) fmt::print(" {} x {} plans", times, count);
    fmt::print("\n");
}

/// Sizes 0, 1 and equal ones come often, and the same ones come back.
TEST_P(Generalising, NoGuardIsWrong) {
    const int changes = compiles() ? tests::count(2'000, 100'000) : tests::count(4'000, 100'000);
    constexpr int kEach = 100;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    int refused = 0;
    for (int seed = 0; seed < changes / kEach; ++seed) {
        const DrawnCalls calls(static_cast<std::uint64_t>(seed));
        tests::Random random(static_cast<std::uint64_t>(seed) + 99);
        for (int i = 0; i < kEach; ++i) {
            Sizes sizes{};
            for (std::int64_t& size : sizes)
                size = random.one_in(3) ? random.between(0, 2) : random.between(2, 9);
            if (random.one_in(3)) sizes[1] = sizes[0];
            if (random.one_in(6)) sizes[2] = sizes[1];
            const auto attempt = [&](const char* device) -> std::optional<Result> {
                try {
                    return on_device(calls, sizes, device);
                } catch (const Error&) {
                    set_default_device(Device(GetParam()));
                    return std::nullopt;
                }
            };
            const CacheStats before = cache_stats();
            const std::optional<Result> result = attempt(GetParam());
            const CacheStats after = cache_stats();
            hits += after.general_hits - before.general_hits;
            misses += after.misses - before.misses;
            const std::optional<Result> expected = attempt("reference");
            ASSERT_EQ(result.has_value(), expected.has_value())
                << "program " << seed << " at " << text_of(sizes);
            if (!result) {
                ++refused;
                continue;
            }
            ASSERT_LE(distance(*result, *expected), 1)
                << "program " << seed << " at " << text_of(sizes);
        }
    }
    fmt::print(
        "{} size changes on {}: {} served by general plans, {} planned by themselves, {} refused\n",
        changes, GetParam(), hits, misses, refused);
}

/// Small whole numbers, which every type holds.
Tensor operand(DType dtype, const Shape& shape) {
    tests::Random random(static_cast<std::uint64_t>(shape.numel()));
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    for (float& value : values) value = static_cast<float>(random.between(-3, 9));
    return cast(Tensor::from(values, shape), dtype).eval();
}

TEST_P(Generalising, EveryType) {
    using Call = Tensor (*)(const Tensor&);
    constexpr Call kCalls[] = {
        [](const Tensor& x) { return x * x + x; },
        [](const Tensor& x) { return x.sum({0}); },
        [](const Tensor& x) { return x.sum({1}); },
        [](const Tensor& x) { return x.cumsum(1); },
        [](const Tensor& x) { return x.permute({1, 0}) + x.permute({1, 0}); },
        [](const Tensor& x) { return where(x == x.flip({0}), x, x + x); },
        [](const Tensor& x) { return concat({x, x + x}, 1); },
        [](const Tensor& x) { return x.pad({1, 0}, {0, 2}) + x.pad({0, 1}, {1, 1}); },
        [](const Tensor& x) { return matmul(x, x.permute({1, 0})); },
        [](const Tensor& x) { return softmax(cast(x, f32), 1); },
        [](const Tensor& x) { return (x == x.flip({0})).all({1}); },
    };
    constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {
        {5, 9}, {7, 4}, {17, 33}, {3, 70}, {64, 16}, {2, 2}, {1, 8}, {8, 1}, {100, 3}};
    const bool quick = quick_start();
    set_quick_start(!tests::long_run);
    const CacheStats before = cache_stats();
    int runs = 0;
    for (const DType dtype :
         {f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, DType::boolean, c64, c128}) {
        for (std::size_t call = 0; call < std::size(kCalls); ++call) {
            for (const auto& [m, n] : kSizes) {
                // Not every type can do all of it.
                const auto result = [&](const char* device) -> std::optional<Result> {
                    set_default_device(Device(device));
                    try {
                        Tensor y = kCalls[call](operand(dtype, {m, n}));
                        if (info(y.dtype()).kind == Kind::complex) y = real(y) + imag(y) * 3;
                        return Result{y.shape(), cast(y, f32).to_vector<float>()};
                    } catch (const Error&) {
                        return std::nullopt;
                    }
                };
                const auto given = result(GetParam());
                const auto expected = result("reference");
                ASSERT_EQ(given.has_value(), expected.has_value());
                const double limit = dtype == f16 ? 200 : dtype == bf16 ? 2000 : 1;
                ASSERT_LE(given ? distance(*given, *expected) : 0, limit)
                    << name(dtype) << ", call " << call << " at " << m << " x " << n;
                ++runs;
            }
        }
    }
    set_quick_start(quick);
    set_default_device(Device(GetParam()));
    const CacheStats after = cache_stats();
    EXPECT_GT(after.general_plans - before.general_plans, 100U);
    fmt::print("{} calls of 15 types on {}: {} general plans, {} calls served by them\n", runs,
               GetParam(), after.general_plans - before.general_plans,
               after.general_hits - before.general_hits);
}

}  // namespace
}  // namespace lazuli
