// The RWKV-7 ops: one call over many tokens against many calls over few, on each device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/host/kernels.h"
#include "backend/host/share.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr std::int64_t kTokens = 300;

/// Numbers of `tokens` tokens such as a model makes them.
struct Sequence {
    Tensor r, w, packed;

    Sequence(std::int64_t tokens, std::int64_t heads, std::int64_t size, std::uint64_t seed,
             Device device) {
        const auto draw = [&](double low, double high) {
            const Tensor u = key(++seed).random_uniform({tokens, heads, size}).to(device);
            return (u * (high - low) + low).eval();
        };
        r = draw(-1, 1);
        w = draw(0.55, 1);
        const Tensor a = draw(0, 1);
        const Tensor kk = l2_norm(draw(-1, 1));
        packed = pack_kvakk(draw(-1, 1), draw(-1, 1), a, kk).eval();
    }
    Tensor r_of(std::int64_t from, std::int64_t to) const { return cut(r, from, to); }
    Tensor w_of(std::int64_t from, std::int64_t to) const { return cut(w, from, to); }
    Tensor packed_of(std::int64_t from, std::int64_t to) const {
        const Shape s = packed.shape();
        return packed.slice({0, from, 0, 0}, {4, to, s[2], s[3]});
    }
    static Tensor cut(const Tensor& x, std::int64_t from, std::int64_t to) {
        return x.slice({from, 0, 0}, {to, x.shape()[1], x.shape()[2]});
    }
};

Tensor runs_of(std::vector<std::int64_t> lines, Device device) {
    const auto count = static_cast<std::int64_t>(lines.size()) / 3;
    return Tensor::from(lines, {count, 3}).to(device);
}

TEST(Rwkv7, ChunksOfAnySizeGiveTheSameBits) {
    for (const char* name : {"reference", "cpu"}) {
        const Device device(name);
        for (const auto& [heads, size] : {std::pair<std::int64_t, std::int64_t>{2, 64}, {3, 20}}) {
            const Sequence s(kTokens, heads, size, 40, device);
            const Tensor start = zeros({1, heads, size, size}, Make(f32, device));
            const auto in_chunks = [&](std::int64_t chunk) {
                Tensor state = start;
                std::vector<float> out;
                for (std::int64_t at = 0; at < kTokens; at += chunk) {
                    const std::int64_t end = std::min(at + chunk, kTokens);
                    const TimeMix made =
                        time_mix_v7(s.r_of(at, end), s.w_of(at, end), s.packed_of(at, end), state,
                                    runs_of({0, 0, end - at}, device));
                    const std::vector<float> part = made.output.to_vector<float>();
                    out.insert(out.end(), part.begin(), part.end());
                    state = made.state.eval();
                }
                const std::vector<float> last = state.to_vector<float>();
                out.insert(out.end(), last.begin(), last.end());
                return out;
            };
            const std::vector<float> whole = in_chunks(kTokens);
            for (const std::int64_t chunk : {1, 7, 64, 299})
                EXPECT_EQ(in_chunks(chunk), whole) << name << " " << chunk;
            for (const float v : whole) ASSERT_TRUE(std::isfinite(v));
        }
    }
}

TEST(Rwkv7, TheKernelFollowsTheFormulaOverManyTokens) {
    const Sequence s(kTokens, 2, 64, 7, Device());
    const Tensor start = (key(5).random_uniform({1, 2, 64, 64}) * 2.0 - 1.0).to(Device()).eval();
    const auto on = [&](Device device) {
        return time_mix_v7(s.r.to(device), s.w.to(device), s.packed.to(device), start.to(device),
                           runs_of({0, 0, kTokens}, device));
    };
    const TimeMix slow = on(Device());
    const TimeMix fast = on(Device("cpu"));
    EXPECT_THAT(fast.output.to_vector<float>(),
                Pointwise(FloatNear(1e-5F), slow.output.to_vector<float>()));
    EXPECT_THAT(fast.state.to_vector<float>(),
                Pointwise(FloatNear(1e-5F), slow.state.to_vector<float>()));
}

TEST(Rwkv7, RaggedBatchesAreTheirSequencesAlone) {
    for (const char* name : {"reference", "cpu"}) {
        const Device device(name);
        const Sequence s(12, 2, 16, 9, device);
        const Tensor state = (key(6).random_uniform({4, 2, 16, 16}).to(device) * 2.0 - 1.0).eval();
        // Tokens 7 and 8 belong to nobody, state 1 to no run.
        const std::vector<std::int64_t> lines{3, 0, 4, 0, 4, 3, 2, 9, 3};
        const TimeMix all = time_mix_v7(s.r, s.w, s.packed, state, runs_of(lines, device));
        const std::vector<float> out = all.output.to_vector<float>();
        const std::vector<float> states = all.state.to_vector<float>();
        for (std::size_t i = 0; i < lines.size(); i += 3) {
            const std::int64_t from = lines[i + 1];
            const std::int64_t to = from + lines[i + 2];
            const Tensor its = state.slice({lines[i], 0, 0, 0}, {lines[i] + 1, 2, 16, 16});
            const TimeMix alone =
                time_mix_v7(s.r_of(from, to), s.w_of(from, to), s.packed_of(from, to), its,
                            runs_of({0, 0, to - from}, device));
            EXPECT_EQ(alone.output.to_vector<float>(),
                      std::vector<float>(out.begin() + from * 32, out.begin() + to * 32));
            EXPECT_EQ(alone.state.to_vector<float>(),
                      std::vector<float>(states.begin() + lines[i] * 512,
                                         states.begin() + (lines[i] + 1) * 512));
        }
        for (std::size_t i = 7 * 32; i < std::size_t{9} * 32; ++i) EXPECT_EQ(out[i], 0);
        const std::vector<float> before = state.to_vector<float>();
        EXPECT_TRUE(std::equal(before.begin() + 512, before.begin() + 1024, states.begin() + 512));
    }
}

Tensor signed_like(const Tensor& like, std::uint64_t seed) {
    return (key(seed).random_uniform(like.shape()) * 2.0 - 1.0).to(Device()).eval();
}

/// What flows back to all four operands, one behind the other.
std::vector<float> flows_of(const Sequence& s, const Tensor& state, const Tensor& to_output,
                            const std::vector<std::int64_t>& lines, Device device) {
    const auto mixed = [&](const std::vector<Tensor>& x) {
        const TimeMix made = time_mix_v7(x[0], x[1], x[2], x[3], runs_of(lines, device));
        return std::vector<Tensor>{made.output, made.state};
    };
    const Vjp made =
        vjp(mixed, {s.r.to(device), s.w.to(device), s.packed.to(device), state.to(device)});
    std::vector<float> out;
    for (const Tensor& flow :
         made.pull({to_output.to(device), signed_like(state, 32).to(device)})) {
        const std::vector<float> part = flow.to_vector<float>();
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

TEST(Rwkv7, TheGradientsKernelFollowsTheFormula) {
    for (const auto& [heads, size] :
         {std::pair<std::int64_t, std::int64_t>{2, 64}, {3, 20}, {1, 1}}) {
        const Sequence s(kTokens, heads, size, 7, Device());
        const Tensor state =
            (key(5).random_uniform({3, heads, size, size}) * 2.0 - 1.0).to(Device()).eval();
        const Tensor to_output = signed_like(s.r, 31);
        const std::vector<std::int64_t> lines{2, 0, 170, 0, 180, 120};
        const std::vector<float> slow = flows_of(s, state, to_output, lines, Device());
        const std::vector<float> fast = flows_of(s, state, to_output, lines, Device("cpu"));
        EXPECT_THAT(fast, Pointwise(FloatNear(2e-5F), slow)) << size;
    }
}

/// Rows are filled up to whole vectors: what is infinite makes no NaN there.
TEST(Rwkv7, TheGradientOfWhatIsInfinite) {
    Sequence s(2, 1, 3, 9, Device());
    const Tensor one = ones({2, 1, 3});
    s.r = one;
    s.packed = pack_kvakk(one, one, one, one);
    const Tensor state = zeros({1, 1, 3, 3});
    const Tensor infinite = full({2, 1, 3}, std::numeric_limits<float>::infinity());
    const std::vector<float> slow = flows_of(s, state, infinite, {0, 0, 2}, Device());
    const std::vector<float> fast = flows_of(s, state, infinite, {0, 0, 2}, Device("cpu"));
    ASSERT_EQ(slow.size(), fast.size());
    int infinities = 0;
    for (std::size_t i = 0; i < slow.size(); ++i) {
        EXPECT_EQ(std::isnan(slow[i]), std::isnan(fast[i])) << i;
        EXPECT_EQ(std::isinf(slow[i]), std::isinf(fast[i])) << i;
        infinities += std::isinf(slow[i]) ? 1 : 0;
    }
    EXPECT_GT(infinities, 5);
}

TEST(Rwkv7, TheGradientsBitsDoNotDependOnThreads) {
    const Sequence s(40, 3, 20, 7, Device());
    const Tensor state = (key(5).random_uniform({3, 3, 20, 20}) * 2.0 - 1.0).to(Device()).eval();
    const Tensor runs = runs_of({2, 0, 17, 0, 20, 20}, Device());
    const Tensor to_output = s.r.eval();
    const OpDef& def = op_def(require_op("time_mix_v7_grad"));
    const Tensor operands[] = {s.r, s.w, s.packed, state, to_output, state, runs};
    std::vector<TensorSpec> specs;
    for (const Tensor& each : operands) specs.push_back(each.spec());
    std::vector<HostArray> arrays;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const void* data = i < 6 ? static_cast<const void*>(operands[i].data<float>())
                                 : operands[i].data<std::int64_t>();
        arrays.push_back({data, &specs[i]});
    }
    const TensorSpec result = infer(def.name, specs);
    const auto run = [&] {
        std::vector<char> out(static_cast<std::size_t>(result.nbytes()), 1);
        backend::host_kernel(def)({def, {}, arrays, &result, out.data()});
        return out;
    };
    std::vector<char> alone;
    // From within a piece, all pieces run on the calling thread.
    backend::host::share(1, 1, [&](std::int64_t, std::int64_t) { alone = run(); });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(run(), alone);
}

TEST(Rwkv7, TokenShiftInChunks) {
    for (const char* name : {"reference", "cpu"}) {
        const Device device(name);
        const Tensor x = key(1).random_uniform({kTokens, 24}).to(device).eval();
        const Tensor mix = key(2).random_uniform({6, 1, 24}).to(device).eval();
        const auto in_chunks = [&](std::int64_t chunk) {
            Tensor state = zeros({1, 24}, Make(f32, device));
            std::vector<Tensor> parts;
            for (std::int64_t at = 0; at < kTokens; at += chunk) {
                const std::int64_t end = std::min(at + chunk, kTokens);
                const Tensor tokens = x.slice({at, 0}, {end, 24});
                const Tensor runs = runs_of({0, 0, end - at}, device);
                parts.push_back(token_shift(tokens, state, mix, runs).eval());
                state = shift_state(tokens, state, runs).eval();
            }
            return concat(parts, 1).to_vector<float>();
        };
        const std::vector<float> whole = in_chunks(kTokens);
        for (const std::int64_t chunk : {1, 7, 128}) EXPECT_EQ(in_chunks(chunk), whole) << name;
    }
}

TEST(Rwkv7, ChannelMixAndTheSmallFormulas) {
    const Tensor x{{1.F, 2.F}, {3.F, 4.F}};
    const Tensor state{{10.F, 20.F}};
    const Tensor runs{{0, 0, 2}};
    const Tensor half{0.5F, 0.5F};
    EXPECT_THAT(token_shift(x, state, half, runs).to_vector<float>(), ElementsAre(5.5, 11, 2, 3));
    EXPECT_THAT(shift_state(x, state, runs).to_vector<float>(), ElementsAre(3, 4));
    for (const Tensor& wrong : {Tensor{{-1, 0, 2}}, Tensor{{1, 0, 2}}, Tensor{{0, -1, 2}},
                                Tensor{{0, 1, 2}}, Tensor{{0, 0, -1}}}) {
        EXPECT_THROW(token_shift(x, state, half, wrong).eval(), ExecutionError);
        EXPECT_THROW(shift_state(x, state, wrong).eval(), ExecutionError);
    }
    const Tensor first{{1.F, 0.F}, {-1.F, 0.F}};
    const Tensor value{{1.F, 1.F}};
    EXPECT_THAT(channel_mix_v7(x, state, half, first, value, runs).to_vector<float>(),
                ElementsAre(5.5 * 5.5, 4));
    EXPECT_THAT(control_k_v7(Tensor{2.F}, Tensor{0.5F}, Tensor{4.F}).to_vector<float>(),
                ElementsAre(-2));
    const Tensor one = ones({1, 1, 2});
    EXPECT_THAT(time_first_v7(one, one * 2, one * 3, one, ones({1, 2})).to_vector<float>(),
                ElementsAre(13, 13));
}

TEST(Rwkv7, RunsThatAreNotThereAreErrors) {
    for (const char* name : {"reference", "cpu"}) {
        const Device device(name);
        const Sequence s(3, 1, 4, 9, device);
        const Tensor state = zeros({2, 1, 4, 4}, Make(f32, device));
        const auto error = [&](std::vector<std::int64_t> lines) -> std::string {
            try {
                (void)time_mix_v7(s.r, s.w, s.packed, state, runs_of(std::move(lines), device))
                    .state.eval();
            } catch (const ExecutionError& e) {
                return e.what();
            }
            return "none";
        };
        EXPECT_THAT(error({0, 1, 3}), testing::HasSubstr("run 0 is 3 tokens from 1 on"));
        EXPECT_THAT(error({2, 0, 1}), testing::HasSubstr("with state 2"));
        EXPECT_THAT(error({0, 0, 1, 0, 1, 1}), testing::HasSubstr("two runs share state 0"));
        EXPECT_THAT(error({0, 0, 2, 1, 1, 1}), testing::HasSubstr("two runs share token 1"));
        EXPECT_EQ(error({0, 0, 2, 9, 9, 0}), "none");
        EXPECT_THROW(time_mix_v7(s.r, s.w, s.r, state, runs_of({}, device)), ShapeError);
        EXPECT_THROW(time_mix_v7(s.r, s.w, s.packed, state.cast(f64), runs_of({}, device)),
                     DTypeError);
    }
}

}  // namespace
}  // namespace lazuli
