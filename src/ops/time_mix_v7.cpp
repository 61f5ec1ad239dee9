// The recurrence of RWKV-7's time mix. For each head, with the state S of N x N numbers:
//
//   S[i, j] = S[i, j] * w[j] - (sum_m S[i, m] * kk[m]) * kk[j] * a[j] + v[i] * k[j]
//   y[i]    = sum_j S[i, j] * r[j]

#include "ops/time_mix_v7.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/bundle.h"
#include "ops/eval.h"
#include "ops/runs.h"
#include "ops/table.h"

namespace lazuli::ops {

std::vector<TensorSpec> time_mix_results(std::span<const TensorSpec* const> inputs) {
    return {*inputs[kReceptance], *inputs[kState]};
}

void check_time_mix(const InferArgs& args, std::size_t runs) {
    check_one_type(args, kReceptance, kState);
    const TensorSpec& r = *args.inputs[kReceptance];
    const TensorSpec& state = *args.inputs[kState];
    if (!is_floating(r.dtype) || state.dtype != f32) {
        throw DTypeError(fmt::format("{}: takes floats and a state of f32: {}", args.op.name,
                                     operands_text(args)));
    }
    const auto wrong = [&](const char* what) {
        return ShapeError(fmt::format("{}: {}: {}", args.op.name, what, operands_text(args)),
                          r.shape.str(), state.shape.str());
    };
    if (r.shape.rank() != 3 || !(args.inputs[kDecay]->shape == r.shape))
        throw wrong("needs r and w of [tokens, heads, size]");
    Shape packed{4};
    for (int i = 0; i < r.shape.rank(); ++i) packed.push_back(r.shape.dim(i));
    if (!(args.inputs[kPacked]->shape == packed))
        throw wrong("needs k, v, a and kk packed as [4, tokens, heads, size]");
    if (state.shape.rank() != 4 ||
        !(state.shape == Shape{state.shape.dim(0), r.shape.dim(1), r.shape.dim(2), r.shape.dim(2)}))
        throw wrong("needs a state of [states, heads, size, size]");
    check_runs(args, runs);
}

namespace {

std::vector<TensorSpec> results(const InferArgs& args) { return time_mix_results(args.inputs); }

TensorSpec infer_time_mix(const InferArgs& args) {
    check_time_mix(args, kRuns);
    return bundle_spec(results(args));
}

template <class T>
void plain_token(const EvalArgs& args, std::int64_t at, std::int64_t size, float* state, T* out) {
    const HeadToken<T> token(args.inputs, at);
    plain_step(token, size, state, state);
    for (std::int64_t i = 0; i < size; ++i) {
        double y = 0;
        for (std::int64_t j = 0; j < size; ++j)
            y += static_cast<double>(state[i * size + j]) * static_cast<double>(token.r[j]);
        out[at + i] = convert<T>(y);
    }
}

void evaluate_time_mix(const EvalArgs& args) {
    const TensorSpec& spec = *args.inputs[kReceptance].spec;
    const TensorSpec& states = *args.inputs[kState].spec;
    const BundleLayout layout = bundle_layout(args);
    const std::int64_t heads = spec.shape[1];
    const std::int64_t size = spec.shape[2];
    std::fill_n(args.result<char>(), layout.bytes, char{0});
    auto* state = bundle_part<float>(args, layout, 1);
    if (states.nbytes() > 0)
        std::memcpy(state, args.inputs[kState].data, static_cast<std::size_t>(states.nbytes()));
    const std::vector<Run> runs =
        read_runs("time_mix_v7", args.inputs[kRuns], spec.shape[0], states.shape[0]);
    dispatch(spec.dtype, [&]<class T>() {
        if constexpr (is_real_float_v<T>) {
            auto* out = bundle_part<T>(args, layout, 0);
            for (const Run& run : runs) {
                for (std::int64_t t = run.first; t < run.first + run.count; ++t) {
                    for (std::int64_t h = 0; h < heads; ++h) {
                        float* its = state + (run.state * heads + h) * size * size;
                        plain_token(args, (t * heads + h) * size, size, its, out);
                    }
                }
            }
        }
    });
}

std::vector<Case> time_mix_cases() {
    std::vector<Case> out;
    for (const DType index : {i64, i32}) {
        for (const DType dtype : {f32, f16, bf16, f64}) {
            const std::vector<DType> types{dtype, dtype, dtype, f32, index};
            out.push_back({{{3, 2, 4}, {3, 2, 4}, {4, 3, 2, 4}, {2, 2, 4, 4}, {1, 3}},
                           {},
                           std::nullopt,
                           types});
            out.push_back({{{3, 1, 19}, {3, 1, 19}, {4, 3, 1, 19}, {2, 1, 19, 19}, {1, 3}},
                           {},
                           std::nullopt,
                           types});
        }
        const std::vector<DType> types{f32, f32, f32, f32, index};
        out.push_back(
            {{{2, 1, 2}, {2, 1, 2}, {4, 2, 1, 2}, {1, 1, 2, 2}, {0, 3}}, {}, std::nullopt, types});
        out.push_back(
            {{{0, 1, 2}, {0, 1, 2}, {4, 0, 1, 2}, {0, 1, 2, 2}, {0, 3}}, {}, std::nullopt, types});
    }
    return out;
}

}  // namespace

std::vector<OpDef> time_mix_v7() {
    return {
        {
            .name = "time_mix_v7",
            .doc = "The recurrence of RWKV-7 over tokens: r and w of [tokens, heads, size], what "
                   "pack_kvakk makes, states of [states, heads, size, size] and runs of tokens; "
                   "gives the output and the new states.",
            .edge = "A run is a line of [state, first token, tokens]. Tokens of no run give 0, "
                    "states of no run stay. Runs that share tokens or a state, or have ones that "
                    "are not there, are execution errors. The state is f32 after every token: "
                    "calls with any number of tokens each give the same.",
            .min_inputs = 5,
            .max_inputs = 5,
            .traits = Trait::keep_if_held,
            .dtypes = {i32, i64},
            .infer = infer_time_mix,
            .results = results,
            .evaluate = evaluate_time_mix,
            .gradient = time_mix_gradient,
            .tolerance = {.ulps = 16, .absolute = 1e-5},
            .sample = {.low = 0, .high = 2},
            .cases = time_mix_cases(),
        },
    };
}

}  // namespace lazuli::ops
