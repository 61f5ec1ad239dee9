// Derivatives of functions as people write them.

#include <gmock/gmock.h>

#include "lazuli/lazuli.h"
#include "optimize/pipeline.h"

namespace lazuli::gradients {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Tensors = std::vector<Tensor>;

std::vector<float> values(const Tensor& t) { return t.to_vector<float>(); }

TEST(Functions, GradientsOfGradients) {
    const auto cube = [](const Tensor& x) { return x * x * x; };
    const auto third = grad(grad(grad(cube)));
    EXPECT_EQ(third(Tensor(2.0)).item<float>(), 6);
    // Each derivative has variables of its own: d/dx (x * d/dy (x + y)) is 1.
    const auto outer = [](const Tensor& x) {
        return x * grad([&](const Tensor& y) { return x + y; })(Tensor(1.0));
    };
    EXPECT_EQ(grad(outer)(Tensor(1.0)).item<float>(), 1);
}

TEST(Functions, ArgumentsAreChosenAndOtherResultsHandedOn) {
    const auto f = [](const Tensor& x, const Tensor& y) { return Tensors{sum(x * y), x + y}; };
    const Tensor x = {1.0, 2.0};
    const Tensor y = {3.0, 4.0};
    const auto [value, gradients, aux] = value_and_grad(f, {1})(x, y);
    EXPECT_EQ(value.item<float>(), 11);
    ASSERT_EQ(gradients.size(), 1U);
    EXPECT_THAT(values(gradients[0]), ElementsAre(1, 2));
    ASSERT_EQ(aux.size(), 1U);
    EXPECT_THAT(values(aux[0]), ElementsAre(4, 6));
    EXPECT_FALSE(value.requires_grad());
    EXPECT_FALSE(aux[0].requires_grad());
}

TEST(Functions, LookingAtAValueLosesNothing) {
    float seen = 0;
    const auto f = [&](const Tensor& x) {
        const Tensor y = exp(x);
        y.eval();  // it has its value, and still knows where it came from
        const Tensor loss = sum(y * y);
        seen = loss.item<float>();
        return seen > 0 ? loss : -loss;
    };
    const Tensor x = {0.0, 0.5};
    const Tensor g = grad(f)(x);
    EXPECT_FLOAT_EQ(seen, 1 + std::exp(1.0F));
    EXPECT_THAT(values(g), ElementsAre(FloatNear(2, 1e-5F), FloatNear(2 * std::exp(1.0F), 1e-5F)));
    const eager::Scope scope;
    EXPECT_EQ(values(grad(f)(x)), values(g));
}

TEST(Functions, WhatIsHandedOutLetsGoOfWhatWasRecorded) {
    Tensor w = {1.0, 2.0, 3.0};
    Tensor total = zeros({});
    const std::uint64_t before = graph_stats().live_nodes;
    for (int step = 0; step < 50; ++step) {
        const auto [loss, gradients, aux] =
            value_and_grad([](const Tensor& x) { return sum(x * x); })(w);
        w = w - gradients[0] * 0.1;
        total = total + loss;
        eval(w, total);
        EXPECT_LE(graph_stats().live_nodes, before + 12) << step;
    }
}

TEST(Functions, TensorsKeepGradientsThatAddUp) {
    Tensor x = {1.0, 2.0};
    x.set_requires_grad();
    EXPECT_TRUE((x * 2.0).requires_grad());
    EXPECT_FALSE((x > 1.0).requires_grad());
    EXPECT_FALSE(stop_gradient(x).requires_grad());
    EXPECT_FALSE(x.grad().defined());
    sum(x * x).backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(2, 4));
    sum(x * 3.0).backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(5, 7));
    x.zero_grad();
    EXPECT_FALSE(x.grad().defined());
    (x * x).backward(Tensor{1.0, 10.0});
    EXPECT_THAT(values(x.grad()), ElementsAre(2, 40));
    {
        const NoGradScope scope;
        EXPECT_FALSE((x * 2.0).requires_grad());
    }
    x.set_requires_grad(false);
    EXPECT_FALSE(x.requires_grad());
}

TEST(Functions, DerivativesAreTakenWhereNoGradientsFlow) {
    const auto cube = [](const Tensor& x) { return x * x * x; };
    Tensor w(2.0);
    w.set_requires_grad();
    const NoGradScope scope;
    EXPECT_EQ(grad(cube)(Tensor(2.0)).item<float>(), 12);
    EXPECT_EQ(grad(grad(cube))(w).item<float>(), 12);
    EXPECT_FALSE(grad(cube)(w).requires_grad());
    const auto list = [&](const Tensors& x) { return Tensors{cube(x[0])}; };
    EXPECT_EQ(jvp(list, {w}, {Tensor(1.0)}).tangents[0].item<float>(), 12);
    EXPECT_EQ(vjp(list, {w}).pull({Tensor(1.0)})[0].item<float>(), 12);
    EXPECT_FALSE((w * 2.0).requires_grad());
}

TEST(Functions, DerivativesWithinBodiesHaveDerivatives) {
    const auto cube = [](const Tensor& x) { return sum(x * x * x); };
    const TensorFunction slope = [&](const Tensors& t) { return Tensors{grad(cube)(t[0])}; };
    const Tensor x = {0.5, 2.0};
    const auto step = [&](const Tensor&, const Tensors& now) { return Looped{slope(now)}; };
    const std::vector<TensorFunction> bodies = {
        [&](const Tensors& t) { return checkpoint(slope, t); },
        [&](const Tensors& t) { return loop(1, t, step).carried; },
        [&](const Tensors& t) { return compile(slope, {x.spec()}).call(t); },
        [&](const Tensors& t) { return vmap_of(slope, t); },
    };
    for (const TensorFunction& body : bodies) {
        const auto total = [&](const Tensor& t) { return sum(body({t})[0]); };
        EXPECT_THAT(values(grad(total)(x)), ElementsAre(3, 12));
    }
}

TEST(Functions, NumbersWithinBodiesStayNumbers) {
    const Tensor x = {0.5, 2.0};
    const auto stopped = [](const Tensors& t) { return Tensors{t[0] * stop_gradient(t[0])}; };
    const auto scoped = [](const Tensors& t) {
        Tensor number;
        {
            const NoGradScope scope;
            number = t[0] * 1.0;
        }
        return Tensors{t[0] * number};
    };
    for (const TensorFunction& body : {TensorFunction(stopped), TensorFunction(scoped)}) {
        const auto slope = [&](const auto& called) {
            return grad([&](const Tensor& t) { return sum(called(t)); })(x);
        };
        const Tensor plain = slope([&](const Tensor& t) { return body({t})[0]; });
        const Tensor again = slope([&](const Tensor& t) { return checkpoint(body, {t})[0]; });
        const Tensor many = slope([&](const Tensor& t) { return vmap_of(body, {t})[0]; });
        for (const Tensor& found : {plain, again, many})
            EXPECT_EQ(max(abs(found - x)).item<float>(), 0);
    }
}

TEST(Functions, LinearMapsHaveDerivativesInWhatTheyAreLinearIn) {
    const Tensor x = {0.5, 2.0};
    const Tensor v = {3.0, 5.0};
    const auto cube = [](const Tensors& t) { return Tensors{t[0] * t[0] * t[0]}; };
    const Vjp made = vjp(cube, {x});
    const auto pulled = [&](const Tensor& c) { return sum(made.pull({c})[0] * c); };
    const auto pushed = [&](const Tensor& c) { return sum(jvp(cube, {x}, {c}).tangents[0] * c); };
    const Tensor wanted = 6.0 * x * x * v;
    EXPECT_LT(max(abs(grad(pulled)(v) - wanted)).item<float>(), 1e-4F);
    EXPECT_LT(max(abs(grad(pushed)(v) - wanted)).item<float>(), 1e-4F);
}

TEST(Functions, WantingGradientsIsNoPartOfAPlan) {
    const Tensor plain = {1.0, 2.0};
    Tensor x = Tensor{1.0, 2.0}.eval();
    (void)exp(plain * 3.0).to_vector<float>();
    const auto misses = cache_stats().misses;
    x.set_requires_grad();
    x.eval();
    const auto behind = cache_stats().misses;  // of the value of its own
    EXPECT_LE(behind, misses + 1);
    (void)exp(x * 3.0).to_vector<float>();
    EXPECT_EQ(cache_stats().misses, behind);
}

TEST(Functions, WhatHasNoGradientSaysSo) {
    const auto total = [](const Tensor& x) { return sum(x.cast(f32)); };
    EXPECT_THAT([&] { (void)grad(total)(Tensor{1, 2}); },
                ThrowsMessage<DTypeError>(HasSubstr("argument 0 is i32[2]")));
    const auto squares = [](const Tensor& x) { return x * x; };
    EXPECT_THAT([&] { (void)grad(squares)(Tensor({1.0, 2.0})); },
                ThrowsMessage<ShapeError>(HasSubstr("the function's value is f32[2]")));
    const auto bits = [](const Tensor& x) { return sum(bitcast(x, f32)); };
    EXPECT_THAT([&] { (void)grad(bits)(Tensor({1.0, 2.0})); },
                ThrowsMessage<ArgumentError>(HasSubstr("bitcast: the op has no gradient")));
    const auto doubled = [](const Tensor& x) {
        return while_loop(
            {x}, [](const Tensors& c) { return c[0] < 10.0; },
            [](const Tensors& c) { return Tensors{c[0] * 2.0}; })[0];
    };
    EXPECT_THAT([&] { (void)grad(doubled)(Tensor(1.0)); },
                ThrowsMessage<ArgumentError>(HasSubstr("while_loop: nothing flows back")));
    EXPECT_THAT([&] { Tensor({1.0, 2.0}).backward(); },
                ThrowsMessage<ArgumentError>(HasSubstr("nothing that wants a gradient")));
}

// ---- loops and conditions

TEST(Functions, ThroughLoops) {
    // y = w^4 x, by a loop that takes w from outside.
    const auto f = [](const Tensor& w, const Tensor& x) {
        return loop(4, {x}, [&](const Tensor&, const Tensors& c) { return Looped{{c[0] * w}}; })
            .carried[0];
    };
    const auto both = value_and_grad(f)(Tensor(2.0), Tensor(3.0));
    EXPECT_EQ(both.value.item<float>(), 48);
    EXPECT_EQ(both.gradients[0].item<float>(), 96);
    EXPECT_EQ(both.gradients[1].item<float>(), 16);
    EXPECT_EQ(grad(grad(f))(Tensor(2.0), Tensor(3.0)).item<float>(), 144);
    EXPECT_EQ(jvp([&](const Tensors& x) { return Tensors{f(x[0], x[1])}; },
                  {Tensor(2.0), Tensor(3.0)}, {Tensor(1.0), Tensor()})
                  .tangents[0]
                  .item<float>(),
              96);
    const auto trips = [](const Tensor& x) {
        return loop(scalar(3), {x},
                    [](const Tensor&, const Tensors& c) { return Tensors{c[0] * 2.0}; })[0];
    };
    EXPECT_THAT([&] { (void)grad(trips)(Tensor(1.0)); },
                ThrowsMessage<ArgumentError>(HasSubstr("number of trips that is a tensor")));
}

/// Steps of a recurrence over entries, forwards or backwards, whose states are carried and stacked.
Tensor recurrence(const Tensor& w, const Tensor& entries, std::int64_t size, bool reverse) {
    const Looped made = scan_loop(
        {zeros({size}, f64)}, {entries},
        [&](const Tensors& c, const Tensors& e) {
            const Tensor next = tanh(c[0] * w + e[0]);
            return Looped{{next}, {sum(next)}};
        },
        reverse);
    return sum(made.carried[0]) + sum(square(made.stacked[0]));
}

/// How many loops a plan of a function of these has, whose bodies are not looked into.
std::size_t loops_in(const TensorFunction& function, const Tensors& arguments, bool merging) {
    std::vector<TensorSpec> specs;
    for (const Tensor& argument : arguments) specs.push_back(argument.spec());
    optimize::OptimizeOptions options{.verify = true};
    if (!merging) options.disabled = {"merge_loops"};
    const Program program = optimize::optimize(compile(function, specs).program(), options);
    std::size_t out = 0;
    for (std::size_t i = 0; i < program.size(); ++i)
        out += program.operation(i).def().name == "loop" ? 1 : 0;
    return out;
}

TEST(Functions, TheLoopAndItsGradientRunItForwardOnce) {
    const Tensor w = sin(arange(9).cast(f64)).reshape({3, 3});
    const Tensor xs = cos(arange(12).cast(f64)).reshape({4, 3});
    const auto states = [&](const Tensor& weights, const Tensor& first, bool reverse) {
        const auto body = [&](const Tensors& now, const Tensors& x) {
            const Tensor next = tanh(matmul(weights, now[0]) + x[0]);
            return Looped{{next}, {sum(next * now[0])}};
        };
        return scan_loop({first}, {xs}, body, reverse);
    };
    for (const bool reverse : {false, true}) {
        const auto loss = [&](const Tensors& t) {
            const auto [last, stacked] = states(t[0], t[1], reverse);
            return Tensors{sum(square(last[0])) + sum(exp(stacked[0]))};
        };
        const TensorFunction step = [&](const Tensors& t) {
            const ValueAndGrad made = value_and_grad_of(loss, t);
            return Tensors{made.value, made.gradients[0], made.gradients[1]};
        };
        const TensorFunction second = [&](const Tensors& t) {
            const auto slope = [&](const Tensors& u) {
                return Tensors{sum(square(value_and_grad_of(loss, u).gradients[0]))};
            };
            const ValueAndGrad made = value_and_grad_of(slope, t);
            return Tensors{made.value, made.gradients[0]};
        };
        const TensorFunction many = [&](const Tensors& t) { return vmap_of(step, t, {{}, 0}); };
        const Tensors one = {w, Tensor{0.5, -1.0, 0.25}.cast(f64)};
        const Tensors several = {w, sin(arange(6).cast(f64)).reshape({2, 3})};
        EXPECT_EQ(loops_in(step, one, false), 3U);
        EXPECT_EQ(loops_in(step, one, true), 2U);
        EXPECT_EQ(loops_in(many, several, false), 3U);
        EXPECT_EQ(loops_in(many, several, true), 2U);
        EXPECT_LT(loops_in(second, one, true), loops_in(second, one, false));
        for (const auto& [function, given] :
             {std::pair(step, one), std::pair(second, one), std::pair(many, several)}) {
            const Tensors merged = function(given);
            eval(merged);
            set_pass_enabled("merge_loops", false);
            const Tensors apart = function(given);
            eval(apart);
            set_pass_enabled("merge_loops", true);
            for (std::size_t i = 0; i < merged.size(); ++i)
                EXPECT_EQ(merged[i].to_vector<double>(), apart[i].to_vector<double>());
        }
    }
}

TEST(Functions, LongLoopsKeepCheckpoints) {
    // So many steps of states so large that not all are kept: the gradient is that of the steps
    // written out.
    const std::int64_t size = 1 << 17;  // 1 MiB a state
    for (const bool reverse : {false, true}) {
        const Tensor w(0.5);
        const Tensor entries = (arange(38, f64) * 0.05 - 1.0).eval();
        const auto f = [&](const Tensor& weight, const Tensor& e) {
            return recurrence(weight, e, size, reverse);
        };
        const auto g = value_and_grad(f)(w.cast(f64), entries);
        // All elements of a state are alike: a state of one element, weighed, says the same.
        const auto small = [&](const Tensor& weight, const Tensor& e) {
            const Looped made = scan_loop(
                {zeros({}, f64)}, {e},
                [&](const Tensors& c, const Tensors& at) {
                    const Tensor next = tanh(c[0] * weight + at[0]);
                    return Looped{{next}, {next * static_cast<double>(size)}};
                },
                reverse);
            return made.carried[0] * static_cast<double>(size) + sum(square(made.stacked[0]));
        };
        const auto expected = value_and_grad(small)(w.cast(f64), entries);
        const auto close = [](const Tensor& a, const Tensor& b) {
            return max(abs(a - b) / (abs(b) + 1.0)).item<double>();
        };
        EXPECT_LT(close(g.value, expected.value), 1e-9);
        EXPECT_LT(close(g.gradients[0], expected.gradients[0]), 1e-9);
        EXPECT_LT(close(g.gradients[1], expected.gradients[1]), 1e-9);
    }
}

TEST(Functions, ThroughConditions) {
    const auto f = [](const Tensor& x) {
        return cond(x > 0.0, [&] { return Tensors{x * x}; }, [&] { return Tensors{x * -3.0}; })[0];
    };
    EXPECT_EQ(grad(f)(Tensor(2.0)).item<float>(), 4);
    EXPECT_EQ(grad(f)(Tensor(-2.0)).item<float>(), -3);
    EXPECT_EQ(grad(grad(f))(Tensor(2.0)).item<float>(), 2);
}

// ---- functions with gradients of their own

TEST(Functions, CheckpointsGiveTheSameGradients) {
    const Tensor w = {{0.5, -1.0}, {2.0, 0.25}};
    const auto layer = [&](const Tensor& x) { return tanh(matmul(x, w)); };
    const auto plain = [&](const Tensor& x) { return sum(square(layer(layer(x)))); };
    const auto kept = [&](const Tensor& x) {
        return sum(square(checkpoint(layer)(checkpoint(layer)(x))));
    };
    const Tensor x = {{1.0, 2.0}, {3.0, -4.0}};
    EXPECT_EQ(values(grad(kept)(x)), values(grad(plain)(x)));
    const auto slope = [](const auto& f) {
        return [f](const Tensor& at) { return sum(square(grad(f)(at))); };
    };
    const std::vector<float> twice = values(grad(slope(kept))(x));
    const std::vector<float> expected = values(grad(slope(plain))(x));
    for (std::size_t i = 0; i < twice.size(); ++i) EXPECT_NEAR(twice[i], expected[i], 1e-5F);
}

TEST(Functions, GradientsOfOnesOwn) {
    const auto clipped = [](const Tensor& x) {
        return custom_gradient(
            [](const Tensors& in) { return Tensors{exp(in[0])}; },
            [](const Tensors&, const Tensors& results, const Tensors& cotangents) {
                return Tensors{minimum(results[0] * cotangents[0], 2.0)};
            },
            {x})[0];
    };
    const Tensor g = grad([&](const Tensor& x) { return sum(clipped(x)); })(Tensor{0.0, 3.0});
    EXPECT_THAT(values(g), ElementsAre(1, 2));
    Tensor w(2.0);
    w.set_requires_grad();
    const auto takes = [&](const Tensor& x) {
        return custom_gradient([&](const Tensors& in) { return Tensors{in[0] * w}; },
                               [](const Tensors&, const Tensors&, const Tensors& c) { return c; },
                               {x})[0];
    };
    EXPECT_THAT([&] { takes(Tensor(1.0)).backward(); },
                ThrowsMessage<ArgumentError>(HasSubstr("takes from outside")));
}

TEST(Functions, CompiledStepsHaveTheirGradientsInside) {
    const auto step = [](const Tensor& w, const Tensor& x) {
        const Tensor g = grad([&](const Tensor& v) { return mean(square(matmul(x, v))); })(w);
        return w - g * 0.1;
    };
    const Tensor w = {{1.0}, {2.0}};
    const Tensor x = {{1.0, 0.0}, {0.0, 1.0}};
    const Function f =
        compile(step, TensorSpec{f32, {2, 1}}, TensorSpec{f32, {dim("b", 1, 64), 2}});
    EXPECT_EQ(values(f(w, x)), values(step(w, x)));
}

}  // namespace
}  // namespace lazuli::gradients
