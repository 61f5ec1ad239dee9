// Values on the reference backend, through the public interface.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <thread>

#include "lazuli/lazuli.h"
#include "runtime/benchmark.h"

namespace lazuli {
namespace {

using testing::ElementsAre;

TEST(Values, ListsScalarsAndSpans) {
    EXPECT_THAT((Tensor{{1, 2}, {3, 4}}).to_vector<int>(), ElementsAre(1, 2, 3, 4));
    EXPECT_EQ((Tensor{1.5, 2.5}).dtype(), f32);
    EXPECT_EQ((Tensor{1.5F}).shape(), (Shape{1}));
    EXPECT_EQ(Tensor(2.5).shape(), Shape{});
    EXPECT_EQ(Tensor(2.5).item<double>(), 2.5);
    EXPECT_EQ(Tensor(7).dtype(), i32);
    EXPECT_EQ(Tensor(std::int64_t{7}).item<int>(), 7);
    EXPECT_EQ((Tensor{{{1.F}, {2.F}}}).shape(), (Shape{1, 2, 1}));
    EXPECT_EQ(Tensor::from(std::vector<double>{1, 2}).dtype(), f64);
    EXPECT_EQ(tensor({0.1}, f64).item<double>(), 0.1);
    EXPECT_THROW((Tensor{{1, 2}, {3}}), ShapeError);
    EXPECT_THROW(Tensor::from(std::vector<int>{1, 2, 3}, {2, 2}), ShapeError);
    EXPECT_THROW((Tensor{1, 2}).item<int>(), ShapeError);
    EXPECT_THROW((Tensor{1, 2}).to_vector<float>(), DTypeError);
    EXPECT_TRUE(static_cast<bool>(Tensor(3) > 2));
    EXPECT_THROW((void)static_cast<bool>(Tensor{1, 2}), ShapeError);
}

TEST(Values, LiftedMemoryIsNeitherCopiedNorWritten) {
    std::vector<float> memory{0, 1, 2, 3, 4, 5};
    int released = 0;
    {
        const Tensor columns = lift(memory.data() + 5, f32, {3, 2}, {-4, -12},
                                    [&] { ++released; });  // backwards, transposed
        EXPECT_THAT(columns.to_vector<float>(), ElementsAre(5, 2, 4, 1, 3, 0));
        memory[5] = 50;
        EXPECT_THAT((columns + 1).to_vector<float>(), ElementsAre(51, 3, 5, 2, 4, 1));
        EXPECT_THAT(columns.sum(0).to_vector<float>(), ElementsAre(57, 3));
        EXPECT_THROW((void)columns.data<float>(), ArgumentError);
        EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 1);
    EXPECT_EQ(lift(memory.data(), f32, {6}).data<float>(), memory.data());
    const Tensor row = lift(memory.data(), f32, {4, 2}, {0, 4});  // stride 0: one row four times
    EXPECT_THAT(row.sum(0).to_vector<float>(), ElementsAre(0, 4));
    EXPECT_THROW(lift(nullptr, f32, {2}), ArgumentError);
    EXPECT_THROW(lift(memory.data(), f32, {2}, {4, 4}), ShapeError);
}

TEST(Values, Factories) {
    EXPECT_THAT(arange(5).to_vector<std::int64_t>(), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(arange(5, 0, -2).to_vector<std::int64_t>(), ElementsAre(5, 3, 1));
    EXPECT_THAT(arange(0.0, 1.0, 0.25).to_vector<float>(), ElementsAre(0, 0.25, 0.5, 0.75));
    EXPECT_EQ(arange(3, 3).numel(), 0);
    EXPECT_EQ(arange(3, 0).numel(), 0);
    EXPECT_THROW(arange(0, 1, 0), ArgumentError);
    EXPECT_THAT(linspace(0, 1, 3).to_vector<float>(), ElementsAre(0, 0.5, 1));
    EXPECT_EQ(linspace(0.1, 0.7, 7, f64).to_vector<double>().back(), 0.7);
    EXPECT_THAT(linspace(2, 3, 1).to_vector<float>(), ElementsAre(2));
    EXPECT_THAT(logspace(0, 2, 3).to_vector<float>(), ElementsAre(1, 10, 100));
    EXPECT_THAT(eye(2, 3, 1).to_vector<float>(), ElementsAre(0, 1, 0, 0, 0, 1));
    EXPECT_THAT(full({2}, 2.5).to_vector<float>(), ElementsAre(2.5, 2.5));
    EXPECT_THAT(full_like(zeros({2}, i8), 3).to_vector<std::int8_t>(), ElementsAre(3, 3));
    EXPECT_EQ(full({}, true).dtype(), DType::boolean);
    EXPECT_THROW(full({2}, 300, u8), ArgumentError);
    EXPECT_THROW(full({2}, std::complex<double>(0, 2), f32), DTypeError);
    EXPECT_EQ(empty({0, 3}).to_vector<float>().size(), 0U);
    EXPECT_THROW(zeros({1LL << 50}).eval(), OutOfMemory);
}

TEST(Values, RandomDependsOnKeyAndPositionAlone) {
    const Tensor k = key(17);
    const auto long_row = rand(k, {1000}).to_vector<float>();
    const auto matrix = rand(k, {10, 100}).to_vector<float>();
    EXPECT_EQ(long_row, matrix);
    EXPECT_NE(long_row, rand(key(18), {1000}).to_vector<float>());
    manual_seed(5);
    const auto first = randn({100}).to_vector<float>();
    const auto second = randn({100}).to_vector<float>();
    EXPECT_NE(first, second);
    manual_seed(5);
    EXPECT_EQ(randn({100}).to_vector<float>(), first);
    for (const std::int64_t v : randint(-3, 4, {1000}).to_vector<std::int64_t>()) {
        EXPECT_GE(v, -3);
        EXPECT_LT(v, 4);
    }
    EXPECT_NEAR(randn(k, {100'000}, f64).mean().item<double>(), 0, 0.02);
    EXPECT_NEAR(rand(k, {100'000}, f64).mean().item<double>(), 0.5, 0.005);
    EXPECT_THROW(randint(3, 3, {2}), ArgumentError);
}

TEST(Values, GatherCountsFromTheEndAndNamesABadPosition) {
    const Tensor x = Tensor{10, 20, 30};
    EXPECT_THAT(x.gather(Tensor{2, -1, 0}).to_vector<int>(), ElementsAre(30, 30, 10));
    const Tensor bad = x.gather(Tensor{0, 3});
    try {
        bad.eval();
        FAIL();
    } catch (const ExecutionError& e) {
        EXPECT_STREQ(e.what(), "gather: index 3 at position 1 is out of range for axis 0 of [3]");
        EXPECT_EQ(e.op, "gather");
    }
    EXPECT_THROW((bad + 1).eval(), ExecutionError);
}

TEST(Values, CustomFunctions) {
    register_custom("halve", [](std::span<const HostArray> in, const TensorSpec& spec, void* out) {
        for (std::int64_t i = 0; i < spec.shape.numel(); ++i)
            static_cast<float*>(out)[i] = in[0].as<float>()[i] / 2;
    });
    const Tensor x = Tensor{2.0, 4.0};
    const Tensor inputs[] = {x + 1};
    EXPECT_THAT((custom_call("halve", inputs, x.spec()) * 2).to_vector<float>(), ElementsAre(3, 5));
    register_custom("throws",
                    [](auto, const auto&, void*) { throw std::runtime_error("no luck"); });
    EXPECT_THROW(custom_call("throws", inputs, x.spec()).eval(), ExecutionError);
    EXPECT_THROW(custom_call("unknown", inputs, x.spec()), ArgumentError);
}

TEST(Values, AFailureBesideAHeldReductionIsKept) {
    register_custom("fails", [](auto, const auto&, void*) { throw std::runtime_error("no luck"); });
    const Tensor held = Tensor{1.0, 2.0}.sum();
    const Tensor inputs[] = {held};
    const Tensor bad = custom_call("fails", inputs, {f32, {}});
    EXPECT_THROW(bad.eval(), ExecutionError);
    EXPECT_EQ(held.item<float>(), 3.0F);
    EXPECT_THROW(bad.eval(), ExecutionError);
}

TEST(Values, AFunctionMayThrowAnyErrorAndRunOutOfMemory) {
    static int calls = 0;
    register_custom("argument", [](auto, const auto&, void*) { throw ArgumentError("bad luck"); });
    register_custom("memory", [](auto, const auto&, void*) {
        if (++calls == 1) throw std::bad_alloc();
    });
    const Tensor bad = custom_call("argument", {}, {f32, {1}});
    const Tensor good = Tensor{1.0}.exp();
    EXPECT_THROW(eval(bad, good), ArgumentError);
    EXPECT_TRUE(good.is_materialized());
    EXPECT_THROW(bad.eval(), ArgumentError);
    const Tensor later = custom_call("memory", {}, {f32, {1}});
    EXPECT_THROW(later.eval(), OutOfMemory);
    later.eval();
    EXPECT_TRUE(later.is_materialized());
}

TEST(Values, ThreadsThatEvaluateWithinFunctionsDoNotBlockEachOther) {
    static Tensor inner;
    inner = Tensor{1.0, 2.0}.sum();
    register_custom("evaluates", [](auto, const TensorSpec& spec, void* out) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *static_cast<float*>(out) = inner.item<float>() + static_cast<float>(spec.shape.rank());
    });
    const Tensor outer = custom_call("evaluates", {}, {f32, {1}});
    std::thread first([copy = outer] { copy.eval(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Tensor above = outer + 1;
    eval(above, inner);
    first.join();
    EXPECT_EQ(above.item<float>(), 5.0F);
    inner = Tensor();
}

TEST(Values, OperandsAreHandedOverOnlyWhenAllIsWell) {
    Tensor x = Tensor{1, 2, 3};
    EXPECT_THROW(x += (Tensor{1.0, 2.0}), ShapeError);
    ASSERT_TRUE(x.defined());
    x += Tensor{0.5, 0.5, 0.5};
    EXPECT_THAT(x.to_vector<float>(), ElementsAre(1.5, 2.5, 3.5));
    const eager::Scope scope;
    Tensor y = Tensor{1, 2, 4};
    y /= y;
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(1, 1, 1));
}

TEST(Values, NarrowCompositesDoNotOverflow) {
    const Tensor large = full({1, 2}, 300, f16);
    EXPECT_THAT(large.rms_norm(ones({2}, f16)).cast(f32).to_vector<float>(), ElementsAre(1, 1));
    EXPECT_GT(zeros({70000}, f16).softmax().max().item<float>(), 0.0F);
}

TEST(Values, NamesAreChecked) {
    Tensor x = Tensor{1.0, 2.0};
    EXPECT_THROW(x.name("my input"), ArgumentError);
    x.name("input.0");
    EXPECT_EQ(x.softmax().eval().numel(), 2);
}

TEST(Values, LargeRangesAndWeakPositions) {
    EXPECT_EQ(arange(std::uint64_t{0}, std::uint64_t{1} << 63, std::int64_t{1} << 62).numel(), 2);
    EXPECT_THROW(arange(INT64_MIN, INT64_MAX), ArgumentError);
    EXPECT_EQ((Tensor{7, 8, 9}).cast(u8).gather(-1).item<int>(), 9);
    EXPECT_EQ(zeros({0, 1LL << 62, 1LL << 62}).eval().numel(), 0);
    EXPECT_THAT((Tensor{{true, false}, {false, true}}).to_vector<bool>(),
                ElementsAre(true, false, false, true));
    EXPECT_THROW((void)zeros({1LL << 50}).to_vector<float>(), OutOfMemory);
    EXPECT_THROW(register_backend(nullptr), ArgumentError);
}

TEST(Values, ACustomFunctionThatWaitsForItselfIsAnError) {
    static Tensor target;
    register_custom("waits", [](auto, const auto&, void*) { target.eval(); });
    target = custom_call("waits", {}, {f32, {1}});
    EXPECT_THROW(target.eval(), CycleError);
    target = Tensor();
}

TEST(Values, EagerIsLazyAtOnce) {
    const Tensor x = Tensor{1.0, 2.0};
    const Tensor lazy = (x * 2).tanh();
    Tensor now;
    {
        const eager::Scope scope;
        now = (x * 2).tanh();
        EXPECT_TRUE(now.is_materialized());
    }
    EXPECT_FALSE((now + 1).is_materialized());
    EXPECT_EQ(now.to_vector<float>(), lazy.to_vector<float>());
}

TEST(Values, ImplementationsAgree) {
    const Tensor x = randn(key(1), {7, 9});
    const Tensor w = randn(key(2), {9, 5});
    const auto with = [&](const char* op, functional::Policy policy) {
        const functional::PolicyScope scope(op, policy);
        return (x.matmul(w).softmax(0)).to_vector<float>();
    };
    const auto plain = with("softmax", functional::Policy::standard());
    for (const auto& other : {with("softmax", functional::Policy::force("logsumexp")),
                              with("matmul", functional::Policy::force("multiply_sum")),
                              with("matmul", functional::Policy::benchmark(4))}) {
        ASSERT_EQ(plain.size(), other.size());
        for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], other[i], 1e-6);
    }
    // Small integers: summing in 64 bits and narrowing wraps as dot_general does.
    const Tensor a = full({2, 300}, 100, i8);
    const Tensor b = full({300, 2}, 3, i8);
    const auto dot = a.matmul(b).to_vector<std::int8_t>();
    const functional::PolicyScope scope("matmul", functional::Policy::force("multiply_sum"));
    EXPECT_EQ(a.matmul(b).to_vector<std::int8_t>(), dot);
}

TEST(Values, BenchmarkRemembersAtMostItsCache) {
    clear_caches();
    const functional::PolicyScope scope("softmax", functional::Policy::benchmark(3));
    const auto made = runtime::measurement_stats().made;
    for (int n = 1; n <= 5; ++n) ones({n, 2}).softmax().eval();
    EXPECT_EQ(runtime::measurement_stats().made - made, 5U);
    EXPECT_EQ(runtime::measurement_stats().remembered, 3U);
    clear_caches();  // plans and measurements
    EXPECT_EQ(runtime::measurement_stats().remembered, 0U);
}

TEST(Values, SameBitsInAnyGrouping) {
    const Tensor x = randn(key(4), {33});
    const Tensor a = x.exp();
    const Tensor whole = (a * a).sum();
    const Tensor step = x.exp().eval() * 1.0;
    EXPECT_EQ((step * step).sum().item<float>(), whole.item<float>());
}

TEST(Values, DevicesMove) {
    const Tensor x = Tensor{1.0, 2.0};
    EXPECT_EQ(x.to(Device("reference")).id(), x.id());
    EXPECT_EQ(x.device().name(), "reference");
    EXPECT_THROW(Device("gpu"), DeviceError);
}

TEST(Print, SaysWhatItIsAndEvaluatesOnlyWhenAsked) {
    const Tensor x = Tensor{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    const Tensor y = x + x;
    EXPECT_EQ(y.str(), "Tensor(op=add, shape=[2, 3], dtype=f32, lazy)");
    std::ostringstream out;
    out << y;
    EXPECT_EQ(out.str(), y.str());
    EXPECT_FALSE(y.is_materialized());
    EXPECT_EQ(y.str({.eval = true}), "[[ 2.  4.  6.]\n [ 8. 10. 12.]]");
    EXPECT_EQ(y.str(), "Tensor(op=add, shape=[2, 3], dtype=f32, available)");
    setenv("LAZULI_PRINT_EVAL", "1", 1);
    std::ostringstream values;
    values << (x * 0.5);
    unsetenv("LAZULI_PRINT_EVAL");
    EXPECT_EQ(values.str(), "[[0.5 1.  1.5]\n [2.  2.5 3. ]]");
    EXPECT_EQ(Tensor().str(), "Tensor()");
}

TEST(Print, LaysValuesOutAsNumpy) {
    const auto text = [](const Tensor& t) { return t.str({.eval = true}); };
    EXPECT_EQ(text(arange(12).reshape({2, 2, 3})),
              "[[[ 0  1  2]\n  [ 3  4  5]]\n\n [[ 6  7  8]\n  [ 9 10 11]]]");
    EXPECT_EQ(text(Tensor{true, false}), "[ True False]");
    EXPECT_EQ(text(Tensor{1e-5, 1.0}), "[1.e-05 1.e+00]");
    EXPECT_EQ(text(Tensor{0.1, 0.25, -3.0}), "[ 0.1   0.25 -3.  ]");
    EXPECT_EQ(text(tensor({1.0, std::nan(""), HUGE_VAL}, f64)), "[ 1. nan inf]");
    EXPECT_EQ(text(zeros({0, 3})), "[]");
    EXPECT_EQ(text(Tensor(1.5)), "1.5");
    EXPECT_EQ(text(tensor({1e-310}, f64)), "[1.e-310]");
    EXPECT_EQ(text(tensor({1e10}, f64)), "[1.e+10]");
    EXPECT_EQ(text(Tensor{true}), "[ True]");
    EXPECT_EQ(text(arange(2000)), "[   0    1    2 ... 1997 1998 1999]");
    EXPECT_EQ(text(Tensor{std::complex<float>(1, -2), std::complex<float>(0.5, 3)}),
              "[1. -2.j 0.5+3.j]");
}

TEST(Npy, RoundTripsEveryType) {
    const std::string path =
        (std::filesystem::temp_directory_path() / "lazuli_npy_test.npy").string();
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        const Tensor x = arange(6).reshape({2, 3}).cast(dtype);
        save_npy(path, x);
        const Tensor back = load_npy(path);
        EXPECT_EQ(back.spec(), x.spec());
        EXPECT_FALSE(static_cast<bool>((back != x).cast(i32).sum() != 0)) << name(dtype);
    }
    std::filesystem::remove(path);
    EXPECT_THROW(load_npy(path), FileError);
    EXPECT_THROW(save_npy("/nonexistent/x.npy", zeros({1})), FileError);
}

TEST(Stats, ClearCachesGivesSlabsBack) {
    const std::uint64_t before = graph_stats().bytes_held;
    {
        const GraphScope keep;
        std::vector<Tensor> many(200'000, Tensor());
        for (Tensor& t : many) t = zeros({2});
        EXPECT_GT(graph_stats().bytes_held, before + 30'000'000);
    }
    clear_caches();
    EXPECT_LT(graph_stats().bytes_held, before + 1'000'000);
    EXPECT_EQ(cache_stats().plans, 0U);
}

}  // namespace
}  // namespace lazuli
