// Loops and conditions, on the reference backend and on the CPU.

#include <gtest/gtest.h>

#include "lazuli/functional.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }

class Control : public testing::TestWithParam<const char*> {
   protected:
    void SetUp() override { set_default_device(Device(GetParam())); }
    void TearDown() override { set_default_device(before_); }
    Device before_ = default_device();
};

TEST_P(Control, ALoopCarriesAndStacks) {
    const Tensor factor = full({3}, 2.5f).eval();
    const auto [carried, stacked] =
        loop(4, {ones({3}), zeros({}, i64)}, [&](const Tensor& step, const auto& now) {
            return Looped{{now[0] * factor, now[1] + step}, {now[0], step.cast(f32) * 0.5}};
        });
    EXPECT_EQ(floats(carried[0]), std::vector<float>(3, 39.0625F));
    EXPECT_EQ(carried[1].item<std::int64_t>(), 6);
    EXPECT_EQ(stacked[0].shape(), (Shape{4, 3}));
    EXPECT_EQ(floats(stacked[0].slice({0, 1}, {4, 2})), (std::vector<float>{1, 2.5, 6.25, 15.625}));
    EXPECT_EQ(floats(stacked[1]), (std::vector<float>{0, 0.5, 1, 1.5}));
}

TEST_P(Control, NoTrips) {
    const auto [carried, stacked] = loop(
        0, {full({2}, 7.0f)}, [](const Tensor&, const auto& now) { return Looped{now, {now[0]}}; });
    EXPECT_EQ(floats(carried[0]), (std::vector<float>{7, 7}));
    EXPECT_EQ(stacked[0].shape(), (Shape{0, 2}));
    EXPECT_TRUE(floats(stacked[0]).empty());
}

TEST_P(Control, OnePlanForEveryNumberOfTrips) {
    std::uint64_t misses = 0;
    for (std::int64_t n = 1; n <= 100; ++n) {
        const Tensor trips(n);
        const Tensors sums = loop(trips, {zeros({2})}, [](const Tensor& step, const Tensors& now) {
            return Tensors{now[0] + (step + 1).cast(f32)};
        });
        const auto sum = static_cast<float>(n * (n + 1) / 2);
        EXPECT_EQ(floats(sums[0]), (std::vector<float>{sum, sum})) << n;
        if (n == 1) misses = cache_stats().misses;
    }
    EXPECT_EQ(cache_stats().misses, misses);
}

TEST_P(Control, AScanRunsBothWays) {
    const Tensor x = iota({5}, 0, f32).reshape({5, 1}) * ones({2});
    for (const bool reverse : {false, true}) {
        const auto [carried, stacked] = scan_loop(
            {zeros({2})}, {x},
            [](const Tensors& now, const Tensors& entry) {
                const Tensor next = now[0] + entry[0];
                return Looped{{next}, {next}};
            },
            reverse);
        EXPECT_EQ(floats(carried[0]), (std::vector<float>{10, 10}));
        EXPECT_EQ(
            floats(stacked[0].slice({0, 0}, {5, 1})),
            reverse ? (std::vector<float>{10, 10, 9, 7, 4}) : (std::vector<float>{0, 1, 3, 6, 10}));
    }
}

TEST_P(Control, OnlyOneBranchRuns) {
    int calls = 0;
    register_custom("counts_calls", [&](auto, const TensorSpec&, void* out) {
        *static_cast<float*>(out) = 1;
        ++calls;
    });
    const Tensor x = full({}, 3.0f).eval();
    for (const bool holds : {true, false}) {
        const Tensors made = cond(
            Tensor(holds), [&] { return Tensors{x * 2.0, x}; },
            [&] { return Tensors{x + custom_call("counts_calls", {}, {f32, {}}), x * x}; });
        EXPECT_EQ(made[0].item<float>(), holds ? 6 : 4);
        EXPECT_EQ(made[1].item<float>(), holds ? 3 : 9);
        EXPECT_EQ(calls, holds ? 0 : 1);
    }
}

TEST_P(Control, AWhileLoopEnds) {
    const Tensor bound = full({}, 1000.0f).eval();
    const Tensors made = while_loop(
        {ones({}), zeros({}, i64)}, [&](const Tensors& now) { return now[0] < bound; },
        [](const Tensors& now) { return Tensors{now[0] * 3.0, now[1] + 1}; });
    EXPECT_EQ(made[0].item<float>(), 2187);
    EXPECT_EQ(made[1].item<std::int64_t>(), 7);
}

TEST_P(Control, BodiesMayHoldBodies) {
    const Looped outer = loop(3, {ones({2})}, [](const Tensor&, const Tensors& now) {
        const Looped inner = loop(2, {now[0]}, [&](const Tensor& step, const Tensors& x) {
            return Looped{{x[0] + now[0] * step.cast(f32)}};
        });
        return Looped{inner.carried};
    });
    EXPECT_EQ(floats(outer.carried[0]), (std::vector<float>{8, 8}));
}

TEST_P(Control, ProgramsWithBodiesPrintAndParse) {
    const Looped made = loop(3, {ones({2})}, [](const Tensor&, const Tensors& now) {
        return Looped{{(now[0] * 0.3).softmax(0)}, {now[0].sum()}};
    });
    const Program program = capture(made.carried[0]);
    const std::string text = program.str();
    EXPECT_NE(text.find("body=program(a0: i64[], a1: f32[2]"), std::string::npos) << text;
    EXPECT_EQ(Program::parse(text), program);
    EXPECT_EQ(Program::parse(text).str(), text);
    EXPECT_EQ(Program::from_json(program.json()), program);
    EXPECT_EQ(Program::from_bytes(program.bytes()), program);
}

TEST_P(Control, EagerToo) {
    const eager::Scope scope;
    const Looped made = loop(
        3, {ones({2})}, [](const Tensor&, const Tensors& now) { return Looped{{now[0] + 1.0}}; });
    EXPECT_EQ(floats(made.carried[0]), (std::vector<float>{4, 4}));
}

TEST_P(Control, BodiesBelongToNoScopeOfTheUsers) {
    const Tensor x = ones({2}).eval();
    GraphScope scope;
    const Looped made = loop(3, {x}, [](const Tensor& step, const Tensors& now) {
        return Looped{{now[0] + step.cast(f32)}};
    });
    const Program program = scope.program();
    EXPECT_EQ(program.results().size(), 1U);
    EXPECT_EQ(program.str().find("argument"), std::string::npos) << program.str();
}

TEST_P(Control, EqualLoopsThatCallTheUserAreTwo) {
    int calls = 0;
    register_custom("counts_steps", [&](auto, const TensorSpec&, void* out) {
        *static_cast<float*>(out) = 1;
        ++calls;
    });
    const auto make = [] {
        return loop(3, {zeros({})}, [](const Tensor&, const Tensors& now) {
            return Looped{{now[0] + custom_call("counts_steps", {}, {f32, {}})}};
        });
    };
    const Looped a = make();
    const Looped b = make();
    eval(a.carried[0], b.carried[0]);
    EXPECT_EQ(a.carried[0].item<float>() + b.carried[0].item<float>(), 6);
    EXPECT_EQ(calls, 6);
}

TEST(Bodies, AreNotNestedWithoutEnd) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "program() { %0 = loop() body=";
    EXPECT_THROW((void)Program::parse(text), ParseError);
}

std::string message(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_P(Control, ErrorsSpeak) {
    const Tensor x = ones({2});
    const auto other = [](const Tensor&, const Tensors& now) {
        return Looped{{now[0].reshape({2, 1})}};
    };
    EXPECT_EQ(message([&] { loop(3, {x}, other); }),
              "loop: value 0 that is carried: f32[2] wanted, f32[2, 1] given");
    EXPECT_EQ(
        message([&] { loop(3, {x}, [](const Tensor&, const Tensors&) { return Looped{}; }); }),
        "loop: 1 values are carried, and the body returns 0");
    EXPECT_EQ(
        message([&] { cond(x > 0.0, [&] { return Tensors{x}; }, [&] { return Tensors{x}; }); }),
        "cond: the condition: bool[] wanted, bool[2] given");
    EXPECT_EQ(message([&] {
                  cond(Tensor(true), [&] { return Tensors{x}; }, [&] { return Tensors{x.sum()}; });
              }),
              "cond: result 0 of the branches: f32[2] wanted, f32[] given");
    EXPECT_EQ(message([&] {
                  scan_loop({}, {ones({2, 3}), ones({3, 3})},
                            [](const Tensors&, const Tensors&) { return Looped{}; });
              }),
              "scan_loop: first axes of one length are needed, given f32[2, 3], f32[3, 3]");
    const auto wider = [](const Tensor&, const Tensors& now) { return Looped{{now[0].cast(f64)}}; };
    EXPECT_THROW(loop(3, {x}, wider), DTypeError);
    const auto one = [&] { return Tensors{x}; };
    EXPECT_THROW(cond(Tensor(1.0F), one, one), DTypeError);
    EXPECT_THROW(cond(Tensor(true), one, [&] { return Tensors{x, x}; }), ArgumentError);
    const std::string inside = message([&] {
        loop(3, {x}, [](const Tensor&, const Tensors& now) {
            (void)now[0].to_vector<float>();
            return Looped{now};
        });
    });
    EXPECT_NE(inside.find("has no value while that is recorded"), std::string::npos) << inside;
}

TEST(ControlPlans, WhatCannotBePlannedCanBeTriedAgain) {
    const Device cpu("cpu");
    const Tensor x = full({4, 4}, 0.5, {f64, cpu});
    const auto [carried, stacked] = loop(
        2, {x}, [](const Tensor&, const auto& now) { return Looped{{now[0].matmul(now[0])}}; });
    {
        using functional::Policy;
        const functional::PolicyScope scope("dot_general", Policy::force("onednn"));
        EXPECT_THROW(carried[0].eval(), ArgumentError);
    }
    EXPECT_EQ(carried[0].to_vector<double>(), std::vector<double>(16, 4.0));
}

INSTANTIATE_TEST_SUITE_P(Devices, Control, testing::Values("reference", "interpreter", "cpu"));

}  // namespace
}  // namespace lazuli
