// Compiled functions: one plan for all sizes, the bits of the numbers, and errors that speak.

#include "lazuli/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>

#include "backend/cpu/compiler.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

std::string message(const auto& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

class Functions : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        set_default_device(Device(GetParam()));
        set_quick_start(false);   // machine code is what is compared
        set_generalising(false);  // with that of the numbers
        set_specialising(false);
    }
    void TearDown() override {
        set_default_device(before_);
        set_quick_start(quick_);
        set_generalising(true);
        set_specialising(true);
    }
    Device before_ = default_device();
    bool quick_ = quick_start();
};

INSTANTIATE_TEST_SUITE_P(Devices, Functions, testing::Values("reference", "interpreter", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

/// Numbers between -1 and 1 that no other seed has.
Tensor noise(const Shape& shape, std::uint64_t seed) {
    std::mt19937 draw(static_cast<std::uint32_t>(seed));
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    for (float& value : values) value = uniform(draw);
    return Tensor::from(values, shape);
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.shape(), b.shape());
    const auto x = a.to_vector<float>();
    const auto y = b.to_vector<float>();
    for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(x[i]), std::bit_cast<std::uint32_t>(y[i])) << i;
}

TEST_P(Functions, OnePlanServesAllSizes) {
    const Dim b = dim("fn_b", 1, 64);
    const Tensor w = noise({24, 10}, 1);
    const auto softmax_of = [&](const Tensor& x) { return softmax(matmul(x, w), -1); };
    const Function f = compile(softmax_of, placeholder(f32, {b, 24}));
    const CacheStats before = cache_stats();
    for (const std::int64_t size : {1, 2, 3, 17, 64, 5, 17}) {
        const Tensor x = noise({size, 24}, static_cast<std::uint64_t>(size));
        expect_same_bits(f(x), softmax_of(x));
    }
    const CacheStats after = cache_stats();
    if (std::string_view(GetParam()) == "reference") return;  // it has no kernels
    EXPECT_EQ(after.open_plans - before.open_plans, 1U) << f.explain().cache;
    EXPECT_EQ(after.bindings - before.bindings, 6U);
    EXPECT_EQ(after.own_plans - before.own_plans, 0U);
}

/// A way to compute something of x alone, at sizes that vary along some axes.
struct Way {
    const char* name;
    Shape shape;  // with variables
    std::function<Tensors(const Tensor&)> of;
    std::uint64_t own_plans = 0;  // sizes at which its kernels are others
};

std::vector<Way> ways() {
    const Dim b = dim("fn_b", 1, 64);
    const Dim t = dim("fn_t", 1, 500);
    return {
        {"a chain", {b, t}, [](const Tensor& x) { return Tensors{exp(x * 2 + 1) - x}; }},
        {"rows", {b, t}, [](const Tensor& x) { return Tensors{x.sum({1}), x.max({1}, true) - x}; }},
        {"columns", {t, b}, [](const Tensor& x) { return Tensors{x.sum({0}), x.mean({0}) * x}; }},
        {"all", {b, 7, t}, [](const Tensor& x) { return Tensors{x.mean() + x.max({0, 2})}; }, 1},
        {"order",
         {b, t, 5},
         [](const Tensor& x) { return Tensors{exp(x.permute({2, 0, 1})) + 1}; }},
        {"joined axes",
         {b, t, 6},
         [](const Tensor& x) {
             const Shape flat{x.shape().dim(0) * x.shape().dim(1), 6};
             return Tensors{x.reshape(flat) * 3, x.reshape(flat).sum({1})};
         }},
        {"a split axis",
         {b, 12 * t},
         [](const Tensor& x) {
             const Shape parts{x.shape().dim(0), x.shape().dim(1) / 12, 12};
             return Tensors{x.reshape(parts).sum({2}), x.reshape(parts).sum({1})};
         }},
        {"a product",
         {b, t, 8},
         [](const Tensor& x) { return Tensors{relu(matmul(x, x.permute({0, 2, 1})) - 0.5F)}; }},
        {"several kernels",
         {b, t},
         [](const Tensor& x) {
             const Tensor sums = x.sum({1}, true);
             const Tensor mixed = exp(x / sums) + sums.max({0}, true);
             return Tensors{mixed, mixed.sum({0}), sums};
         }},
        {"joined", {b, t}, [](const Tensor& x) { return Tensors{concat({x, x * 2, x}, 1) + 1}; }},
        {"made of nothing",
         {b, t},
         [](const Tensor& x) {
             const Dim rows = x.shape().dim(0);
             const Dim columns = x.shape().dim(1);
             return Tensors{x + zeros(x.shape()) + full({rows, Dim(1)}, 2.5F),
                            matmul(x, eye(columns)) + tri(rows, columns, 1)};
         }},
        {"ranges",
         {b, t},
         [](const Tensor& x) {
             const std::int64_t half = ((x.shape().dim(1) + 1) / 2).raw();
             return Tensors{x(0),
                            x(whole, -1),
                            x(slice({}, {}, -1), slice({}, {}, 2)),
                            x(whole, slice(0, half)),
                            x(whole, slice({}, 3)),
                            x(whole, slice(-3, {})) + 1,
                            x(whole, newaxis).squeeze(Axes(1)).flatten()};
         }},
    };
}

constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {
    {1, 1},    {1, 5},    {2, 1},   {3, 4},  {4, 16}, {5, 33},  {7, 100},
    {64, 500}, {17, 257}, {1, 500}, {64, 1}, {64, 3}, {3, 400}, {40, 12}};

TEST_P(Functions, GiveTheBitsOfTheNumbers) {
    const bool compiles = std::string_view(GetParam()) == "cpu";
    for (const Way& way : ways()) {
        SCOPED_TRACE(way.name);
        const Function f =
            compile([&](const Tensors& given) { return way.of(given[0]); }, {{f32, way.shape}});
        f.program().verify();
        EXPECT_EQ(Program::parse(f.program().str()), f.program());
        const CacheStats before = cache_stats();
        for (const auto& [b, t] : kSizes) {
            if (b * t > 1000 && !compiles) continue;
            const SizeBinding values[] = {{"fn_b", b}, {"fn_t", t}};
            const Shape shape = f.program().instantiate(values).params()[0].spec.shape;
            const Tensor x = noise(shape, static_cast<std::uint64_t>(b * 1000 + t));
            const Tensors given = f.call({x});
            const Tensors wanted = way.of(x);
            ASSERT_EQ(given.size(), wanted.size());
            for (std::size_t i = 0; i < given.size(); ++i) expect_same_bits(given[i], wanted[i]);
        }
        const CacheStats after = cache_stats();
        if (std::string_view(GetParam()) == "reference") continue;  // it has no kernels
        EXPECT_EQ(after.open_plans - before.open_plans, 1U) << f.explain().cache;
        EXPECT_EQ(after.own_plans - before.own_plans, compiles ? way.own_plans : 0);
    }
}

TEST_P(Functions, SizesThatMayBeHugeHaveKernels) {
    // As many elements as these may have do not fit 64 bits.
    const auto largest = [](const Tensor& x) {
        const Shape& shape = x.shape();
        return x.slice({0, 0, 0}, {shape.dim(0), shape.dim(1), 3}, {1, 1, 2}).max({1});
    };
    const Function f = compile(largest, placeholder(f32, {any_dim(), any_dim(), 3}));
    const Tensor x = noise({9, 8, 3}, 1);
    expect_same_bits(f(x), largest(x));
#ifdef LAZULI_HAS_JIT
    if (std::string_view(GetParam()) != "cpu") return;
    for (const KernelExplanation& kernel : f.explain().kernels)
        EXPECT_EQ(kernel.how, "machine code") << kernel.operations;
#endif
}

TEST_P(Functions, ArgumentsMayLieInAnyWay) {
    const Dim b = dim("fn_b", 1, 64);
    const Dim t = dim("fn_t", 1, 500);
    const auto of = [](const Tensor& x) { return exp(x) + x.sum({1}, true); };
    const Function f = compile(of, placeholder(f32, {b, t}));
    const Tensor x = noise({9, 8}, 1);
    const Tensor views[] = {
        x.permute({1, 0}),
        x.slice({1, 2}, {8, 7}, {2, 1}),
        x.flip(1),
        x.pad({1, 0}, {0, 2}, 7),
        x.pad({1, 0}, {0, 2}, 7).pad({0, 1}, {0, 0}, 5),
        noise({1, 8}, 2).broadcast_to({5, 8}),
        full({3, 4}, 1.7F),  // of a number, which has no buffer
        full({3, 4}, 1.7F).pad({1, 0}, {0, 2}, 7),
        x * 2,
    };
    for (const Tensor& view : views) expect_same_bits(f(view), of(view));
    // From outside too.
    const Tensor outside = full({8}, 1.7F);
    const auto scaled = [&](const Tensor& y) { return y * outside; };
    expect_same_bits(compile(scaled, placeholder(f32, {b, 8}))(x), scaled(x));
    // Twice the same, and one that nobody else holds.
    const auto sum = [](const Tensor& y, const Tensor& w) { return y * 2 + w; };
    const Function g = compile(sum, placeholder(f32, {b, t}), placeholder(f32, {b, t}));
    expect_same_bits(g(x, x), sum(x, x));
    expect_same_bits(g(noise({9, 8}, 3), x), sum(noise({9, 8}, 3), x));
    // No rows at all.
    const Function h = compile(of, placeholder(f32, {dim("fn_none", 0, 9), 3}));
    for (const std::int64_t rows : {0, 1, 5})
        expect_same_bits(h(noise({rows, 3}, 4)), of(noise({rows, 3}, 4)));
}

TEST_P(Functions, ASizeMustSayWhatItsVariableIs) {
    const Dim t = dim("fn_t", 1, 500);
    const auto more = [](const Tensor& x) { return x + 1; };
    const Function even = compile(more, placeholder(f32, {t * 2 + 1}));
    EXPECT_EQ(even(zeros({7})).shape(), (Shape{7}));
    EXPECT_THAT(message([&] { (void)even(zeros({6})); }),
                HasSubstr("2*fn_t + 1 = 6 is not within 1 <= fn_t <= 500"));
    // Several values give the same size: none may be guessed.
    EXPECT_THAT(message([&] { (void)compile(more, placeholder(f32, {min(t, Dim(5))})); }),
                HasSubstr("no argument's size says what fn_t is"));
    EXPECT_THAT(message([&] { (void)compile(more, placeholder(f32, {t / 2})); }),
                HasSubstr("no argument's size says what fn_t is"));
}

TEST_P(Functions, ErrorsNameVariablesBoundsAndValues) {
    const Dim b = dim("fn_b", 1, 64);
    const Function f = compile([](const Tensor& x, const Tensor& y) { return x + y; },
                               placeholder(f32, {b, 3}), placeholder(f32, {b, 3}));
    EXPECT_THAT(message([&] { (void)f(zeros({65, 3}), zeros({65, 3})); }),
                HasSubstr("fn_b = 65 is not within 1 <= fn_b <= 64"));
    EXPECT_THAT(message([&] { (void)f(zeros({4, 3}), zeros({5, 3})); }),
                HasSubstr("fn_b (1 <= fn_b <= 64) is 4 by argument 0 and 5 by argument 1"));
    EXPECT_THAT(message([&] { (void)f(zeros({4, 2}), zeros({4, 3})); }),
                HasSubstr("argument 0: f32[4, 2] given for f32[fn_b, 3]: dimension 1 is 2, not 3"));
    EXPECT_THAT(message([&] { (void)f(zeros({4, 3}, i32), zeros({4, 3})); }),
                HasSubstr("argument 0: i32[4, 3] given for f32[fn_b, 3]"));
    EXPECT_THAT(message([&] { (void)f(zeros({4, 3})); }), HasSubstr("takes 2 arguments, 1 given"));
}

}  // namespace
}  // namespace lazuli
