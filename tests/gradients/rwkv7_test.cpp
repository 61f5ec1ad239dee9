// The gradient of time_mix_v7 against that of its formula, written as a loop over tokens in f64.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "blocks.h"
#include "checked_call.h"
#include "lazuli/conformance.h"

namespace lazuli::gradients {
namespace {

using Tensors = std::vector<Tensor>;

struct Run {
    std::int64_t state;
    std::int64_t first;
    std::int64_t count;
};
struct Batch {
    std::int64_t tokens, heads, size, states;
    std::vector<Run> runs;

    std::string text() const {
        return fmt::format("{} tokens, {} heads of {}, {} states, {} runs", tokens, heads, size,
                           states, runs.size());
    }
    Tensor runs_on(Device device) const {
        std::vector<std::int64_t> lines;
        for (const Run& run : runs) lines.insert(lines.end(), {run.state, run.first, run.count});
        return Tensor::from(lines, {static_cast<std::int64_t>(runs.size()), 3}).to(device);
    }
    /// r, w, what is packed and the states, as a model makes them.
    Tensors operands(DType dtype, Device device) const {
        std::uint64_t seed = 11;
        const auto draw = [&](Shape shape, double low, double high) {
            return conformance::draw({f64, std::move(shape)}, low, high, false, ++seed).to(device);
        };
        const Shape shape{tokens, heads, size};
        const Tensor r = draw(shape, -1, 1);
        const Tensor w = draw(shape, 0.55, 1);
        const Tensor packed = pack_kvakk(draw(shape, -1, 1), draw(shape, -1, 1), draw(shape, 0, 1),
                                         l2_norm(draw(shape, -1, 1)));
        const Tensor state = draw({states, heads, size, size}, -1, 1);
        return {r.cast(dtype).eval(), w.cast(dtype).eval(), packed.cast(dtype).eval(),
                state.cast(f32).eval()};
    }
};

/// Ragged runs, in any order; tokens and states that no run has; runs of no tokens.
std::vector<Batch> batches() {
    return {
        {0, 1, 2, 1, {{0, 0, 0}}},
        {0, 2, 2, 2, {}},
        {1, 1, 1, 1, {{0, 0, 1}}},
        {4, 2, 1, 2, {{1, 0, 4}}},
        {7, 1, 2, 3, {{2, 0, 3}, {0, 3, 1}, {1, 4, 3}}},
        {9, 3, 5, 4, {{3, 6, 2}, {1, 1, 4}, {0, 2, 0}}},
        {17, 2, 16, 2, {{0, 0, 8}, {1, 8, 9}}},
        {33, 1, 64, 2, {{1, 0, 33}}},
        {70, 2, 64, 3, {{0, 5, 64}, {2, 0, 5}, {1, 69, 1}}},
        {70, 1, 16, 1, {{0, 0, 70}}},
        {3, 1, 2, 2, {}},
    };
}

/// Output and states of the formula.
Tensors formula(const Batch& s, const Tensors& x) {
    const auto tokens = [&](const Tensor& all, std::int64_t from, std::int64_t to) {
        return all.slice({from, 0, 0}, {to, s.heads, s.size});
    };
    const auto plane = [&](std::int64_t i) {
        return x[2]
            .slice({i, 0, 0, 0}, {i + 1, s.tokens, s.heads, s.size})
            .reshape({s.tokens, s.heads, s.size});
    };
    const Tensor planes[] = {x[0], x[1], plane(0), plane(1), plane(2), plane(3)};
    Tensor output = zeros({s.tokens, s.heads, s.size}, Make(f64, x[0].device()));
    Tensor states = x[3];
    for (const Run& run : s.runs) {
        if (run.count == 0) continue;
        Tensors scanned;
        for (const Tensor& each : planes)
            scanned.push_back(tokens(each, run.first, run.first + run.count));
        const auto step = [](const Tensors& now, const Tensors& token) {
            const auto row = [](const Tensor& t) { return t.unsqueeze(-2); };
            const auto column = [](const Tensor& t) { return t.unsqueeze(-1); };
            const Tensor& kk = token[5];
            const Tensor removed = sum(now[0] * -row(kk), -1);
            const Tensor next = now[0] * row(token[1]) + column(removed) * row(kk * token[4]) +
                                column(token[3]) * row(token[2]);
            return Looped{{next}, {sum(next * row(token[0]), -1)}};
        };
        const Shape one{s.heads, s.size, s.size};
        const Tensor state =
            x[3].slice({run.state, 0, 0, 0}, {run.state + 1, s.heads, s.size, s.size}).reshape(one);
        const Looped made = scan_loop({state}, scanned, step);
        const std::int64_t behind = s.tokens - run.first - run.count;
        output = output + pad(made.stacked[0], {run.first, 0, 0}, {behind, 0, 0});
        const Tensor change = (made.carried[0] - state).unsqueeze(0);
        states = states + pad(change, {run.state, 0, 0, 0}, {s.states - run.state - 1, 0, 0, 0});
    }
    return {output, states};
}

TensorFunction formula_of(const Batch& s) {
    return [s](const Tensors& x) { return formula(s, x); };
}
TensorFunction op_of(const Batch& s) {
    return [s](const Tensors& x) {
        const TimeMix made = time_mix_v7(x[0], x[1], x[2], x[3], s.runs_on(x[0].device()));
        return Tensors{made.output, made.state};
    };
}

Tensors as(DType dtype, const Tensors& tensors) {
    Tensors out;
    for (const Tensor& t : tensors) out.push_back(t.cast(dtype));
    return out;
}
Tensors drawn_like(const Tensors& like, std::uint64_t seed) {
    Tensors out;
    for (const Tensor& each : like) out.push_back(gradients::drawn_like(each, ++seed));
    return out;
}

/// How far tensors lie from those expected, of the largest of each.
void expect_close(const Tensors& actual, const Tensors& expected, double share,
                  const std::string& what) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        ASSERT_EQ(actual[i].shape(), expected[i].shape()) << what;
        if (actual[i].numel() == 0) continue;
        const Tensor wanted = expected[i].cast(f64);
        const double far = max(abs(actual[i].cast(f64) - wanted)).item<double>();
        const double allowed = share * (1e-3 + max(abs(wanted)).item<double>());
        EXPECT_LE(far, allowed) << what << ", operand " << i;
    }
}

struct Precision {
    DType dtype;
    double share;
};
/// States are f32 whatever tokens are.
constexpr Precision kPrecisions[] = {{f32, 1e-5}, {f64, 1e-6}, {f16, 3e-3}, {bf16, 2e-2}};

TEST(TimeMixGradient, IsThatOfTheFormula) {
    for (const char* name : {"reference", "cpu"}) {
        const Device device(name);
        for (const Batch& s : batches()) {
            for (const auto& [dtype, share] : kPrecisions) {
                const Tensors x = s.operands(dtype, device);
                const Vjp made = vjp(op_of(s), x);
                const Tensors w = drawn_like(made.results, 5);
                const Tensors expected = vjp(formula_of(s), as(f64, x)).pull(as(f64, w));
                const std::string what =
                    fmt::format("{} {} {}", name, lazuli::name(dtype), s.text());
                const Tensors flows = made.pull(w);
                for (std::size_t i = 0; i < x.size(); ++i)
                    EXPECT_EQ(flows[i].dtype(), x[i].dtype());
                expect_close(flows, expected, share, what);
            }
        }
    }
}

/// Where nothing flows back to the output, or to the states.
TEST(TimeMixGradient, OfOneResultAlone) {
    const Batch s = batches()[5];
    const Tensors x = s.operands(f32, Device("cpu"));
    const Vjp made = vjp(op_of(s), x);
    const Vjp plain = vjp(formula_of(s), as(f64, x));
    const Tensors w = drawn_like(made.results, 5);
    const Tensors wide = as(f64, w);
    expect_close(made.pull({w[0], Tensor()}), plain.pull({wide[0], Tensor()}), 1e-5, "output");
    expect_close(made.pull({Tensor(), w[1]}), plain.pull({Tensor(), wide[1]}), 1e-5, "states");
}

TEST(TimeMixGradient, OfWhatNoRunHas) {
    for (const char* name : {"reference", "cpu"}) {
        const Batch s = batches()[5];  // tokens 0, 5 and 8, states 0 and 2
        const Tensors x = s.operands(f32, Device(name));
        const Vjp made = vjp(op_of(s), x);
        const Tensors w = drawn_like(made.results, 5);
        const Tensors flows = made.pull(w);
        for (const std::int64_t t : {0, 5, 8}) {
            EXPECT_EQ(sum(abs(flows[0][t])).item<float>(), 0) << name;
            EXPECT_EQ(sum(abs(flows[1][t])).item<float>(), 0) << name;
            EXPECT_EQ(sum(abs(flows[2].slice({0, t, 0, 0}, {4, t + 1, 3, 5}))).item<float>(), 0)
                << name;
        }
        for (const std::int64_t i : {0, 2})
            EXPECT_EQ(flows[3][i].to_vector<float>(), w[1][i].to_vector<float>()) << name;
    }
}

/// Forward mode, and the gradient's own gradient.
TEST(TimeMixGradient, HasGradients) {
    const Batch some[] = {
        batches()[1], batches()[2], batches()[5], {8, 2, 16, 2, {{1, 1, 7}}}, batches()[10]};
    for (const Batch& s : some) {
        for (const Precision& p : {Precision{f32, 2e-5}, Precision{f64, 1e-6}}) {
            const Tensors x = s.operands(p.dtype, Device());
            const Tensors wide = as(f64, x);
            const Tensors v = drawn_like(x, 3);
            expect_close(jvp(op_of(s), x, v).tangents,
                         jvp(formula_of(s), wide, as(f64, v)).tangents, p.share,
                         "forwards " + s.text());
            const Tensors w = drawn_like(op_of(s)(x), 5);
            const auto along = [&](const TensorFunction& f, const Tensors& to) {
                return [=](const Tensors& at) { return vjp(f, at).pull(to); };
            };
            const TensorFunction once = along(op_of(s), w);
            const TensorFunction plain = along(formula_of(s), as(f64, w));
            expect_close(vjp(once, x).pull(v), vjp(plain, wide).pull(as(f64, v)), p.share,
                         "twice " + s.text());
        }
    }
}

TEST(TimeMixGradient, OfEachEntry) {
    const Batch s = batches()[4];
    const Tensors x = s.operands(f32, Device("cpu"));
    const TensorFunction flows = [&](const Tensors& at) {
        const Vjp made = vjp(op_of(s), at);
        return made.pull(made.results);
    };
    Tensors many;
    for (const Tensor& t : x) many.push_back(stack({t, t * 0.5}, 0));
    const Tensors got = vmap_of(flows, many, {0, 0, 0, 0});
    for (int k = 0; k < 2; ++k) {
        Tensors entry;
        Tensors its;
        for (const Tensor& t : many) entry.push_back(t[k]);
        for (const Tensor& t : got) its.push_back(t[k]);
        expect_close(its, flows(entry), 1e-6, fmt::format("entry {}", k));
    }
}

TEST(TimeMixGradient, RunsThatAreNotThereAreErrors) {
    for (const char* name : {"reference", "cpu"}) {
        Batch s{3, 1, 4, 2, {{0, 0, 2}, {1, 1, 1}}};
        const Tensors x = s.operands(f32, Device(name));
        const auto flow = [&] {
            const Vjp made = vjp(op_of(s), x);
            const Tensors w{zeros({3, 1, 4}, Make(f32, x[0].device())), Tensor()};
            made.pull(w)[0].eval();
        };
        EXPECT_THAT(flow, testing::ThrowsMessage<ExecutionError>(
                              testing::HasSubstr("time_mix_v7_grad: two runs share token 1")));
        s.runs = {{0, 0, 1}, {0, 1, 1}};
        EXPECT_THAT(flow, testing::ThrowsMessage<ExecutionError>(
                              testing::HasSubstr("two runs share state 0")));
    }
}

/// A whole block: how its results change with its arguments, by differences.
TEST(TimeMixGradient, OfABlock) {
    const blocks::Rwkv7 block(32, 2);
    Tensors given = block.arguments(12, 4);
    const Tensor runs = given.back();
    given.pop_back();
    const TensorFunction f = [&](const Tensors& at) {
        Tensors all = at;
        all.push_back(runs);
        return block(all);
    };
    const Vjp made = vjp(f, given);
    const Tensors w = drawn_like(made.results, 5);
    const Tensors v = drawn_like(given, 6);
    const auto moved = [&](double by) {
        Tensors out;
        for (std::size_t i = 0; i < v.size(); ++i) out.push_back(given[i] + v[i] * by);
        return inner(as(f64, f(out)), as(f64, w)).item<double>();
    };
    const double wanted = (moved(1e-3) - moved(-1e-3)) / 2e-3;
    const double got = inner(made.pull(w), v).item<double>();
    EXPECT_NEAR(got, wanted, 1e-2 * (1 + std::fabs(wanted)));
}

}  // namespace
}  // namespace lazuli::gradients
