// What flows back through time_mix_v7, from the last token of a run to its first. For each head,
// with S before a token, S' after it, G what flows back to S', and p[i] = -(sum_m S[i, m] * kk[m]):
//
//   G[i, j] += dy[i] * r[j]          dr[j]  = sum_i S'[i, j] * dy[i]
//   dp[i]    = sum_j G[i, j] * b[j]  dw[j]  = sum_i G[i, j] * S[i, j]    where b = kk * a
//   db[j]    = sum_i G[i, j] * p[i]  dv[i]  = sum_j G[i, j] * k[j]
//   da[j]    = db[j] * kk[j]         dk[j]  = sum_i G[i, j] * v[i]
//                                    dkk[j] = db[j] * a[j] - sum_i dp[i] * S[i, j]
//
// and G[i, j] * w[j] - dp[i] * kk[j] flows back to S.

#include <algorithm>
#include <cstring>

#include "lazuli/error.h"
#include "ops/bundle.h"
#include "ops/control.h"
#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/reverse.h"
#include "ops/runs.h"
#include "ops/table.h"
#include "ops/time_mix_v7.h"

namespace lazuli::ops {

std::vector<Value> time_mix_gradient(const GradientArgs& g) {
    const std::vector<TensorSpec> results = g.call.op.results(g.call);
    const Value operands[] = {g[kReceptance],
                              g[kDecay],
                              g[kPacked],
                              g[kState],
                              or_zeros(g.builder, g.cotangents[0], results[0]),
                              or_zeros(g.builder, g.cotangents[1], results[1]),
                              g[kRuns]};
    Gradients out = parts_of(g.builder, "time_mix_v7_grad", operands);
    out.emplace_back();  // nothing flows back to the runs
    return out;
}

namespace {

std::vector<TensorSpec> results(const InferArgs& args) {
    std::vector<TensorSpec> out;
    for (const int i : {kReceptance, kDecay, kPacked, kState})
        out.push_back(*args.inputs[static_cast<std::size_t>(i)]);
    return out;
}

TensorSpec infer_time_mix_grad(const InferArgs& args) {
    check_time_mix(args, kGradRuns);
    expect_spec(args.op.name, "what flows back to the output", *args.inputs[kReceptance],
                *args.inputs[kOutputFlow]);
    expect_spec(args.op.name, "what flows back to the new states", *args.inputs[kState],
                *args.inputs[kStateFlow]);
    return bundle_spec(results(args));
}

// ---- the meaning

/// What flows back to the numbers of a token, beside them.
template <class T>
struct TokenFlows {
    T* r;
    T* w;
    T* k;
    T* v;
    T* a;
    T* kk;
};

/// One token back: what flows to its numbers, and `flow`, which was that to the state behind it,
/// becomes that to the state before it.
template <class T>
void plain_step_back(const HeadToken<T>& token, const T* to_y, std::int64_t size,
                     const float* before, const float* after, std::vector<double>& flow,
                     const TokenFlows<T>& to) {
    const auto wide = [](auto x) { return static_cast<double>(x); };
    const auto at = [&](std::int64_t i, std::int64_t j) { return i * size + j; };
    const auto flow_at = [&](std::int64_t i, std::int64_t j) -> double& {
        return flow[static_cast<std::size_t>(at(i, j))];
    };
    std::vector<double> removed;
    std::vector<double> to_removed;
    for (std::int64_t i = 0; i < size; ++i) {
        double to_p = 0;
        double to_v = 0;
        for (std::int64_t j = 0; j < size; ++j) {
            flow_at(i, j) += wide(to_y[i]) * wide(token.r[j]);
            to_p += flow_at(i, j) * wide(token.kk[j]) * wide(token.a[j]);
            to_v += flow_at(i, j) * wide(token.k[j]);
        }
        removed.push_back(removed_by(token, size, before + at(i, 0)));
        to_removed.push_back(to_p);
        to.v[i] = convert<T>(to_v);
    }
    for (std::int64_t j = 0; j < size; ++j) {
        double to_r = 0;
        double to_w = 0;
        double to_k = 0;
        double to_b = 0;
        double to_kk = 0;
        for (std::int64_t i = 0; i < size; ++i) {
            const auto row = static_cast<std::size_t>(i);
            const double old = wide(before[at(i, j)]);
            to_r += wide(after[at(i, j)]) * wide(to_y[i]);
            to_w += flow_at(i, j) * old;
            to_k += flow_at(i, j) * wide(token.v[i]);
            to_b += flow_at(i, j) * removed[row];
            to_kk -= to_removed[row] * old;
            flow_at(i, j) = flow_at(i, j) * wide(token.w[j]) - to_removed[row] * wide(token.kk[j]);
        }
        to.r[j] = convert<T>(to_r);
        to.w[j] = convert<T>(to_w);
        to.k[j] = convert<T>(to_k);
        to.a[j] = convert<T>(to_b * wide(token.kk[j]));
        to.kk[j] = convert<T>(to_b * wide(token.a[j]) + to_kk);
    }
}

/// One head of one run: all its states are kept.
template <class T>
void plain_head(const EvalArgs& args, const BundleLayout& layout, const Run& run,
                std::int64_t head) {
    const Shape& shape = args.inputs[kReceptance].spec->shape;
    const std::int64_t heads = shape[1];
    const std::int64_t size = shape[2];
    const std::int64_t square = size * size;
    const std::int64_t plane = shape.numel();
    const std::int64_t offset = (run.state * heads + head) * square;
    const auto first_of = [&](std::int64_t n) { return ((run.first + n) * heads + head) * size; };
    std::vector<float> states(static_cast<std::size_t>((run.count + 1) * square));
    std::copy_n(args.inputs[kState].as<float>() + offset, square, states.data());
    for (std::int64_t n = 0; n < run.count; ++n) {
        float* before = states.data() + n * square;
        plain_step(HeadToken<T>(args.inputs, first_of(n)), size, before, before + square);
    }
    float* to_state = bundle_part<float>(args, layout, kState) + offset;
    std::vector<double> flow(to_state, to_state + square);
    for (std::int64_t n = run.count - 1; n >= 0; --n) {
        const std::int64_t at = first_of(n);
        T* packed = bundle_part<T>(args, layout, kPacked) + at;
        const TokenFlows<T> to{.r = bundle_part<T>(args, layout, kReceptance) + at,
                               .w = bundle_part<T>(args, layout, kDecay) + at,
                               .k = packed + kKeys * plane,
                               .v = packed + kValues * plane,
                               .a = packed + kRates * plane,
                               .kk = packed + kDirections * plane};
        const float* before = states.data() + n * square;
        plain_step_back(HeadToken<T>(args.inputs, at), args.inputs[kOutputFlow].as<T>() + at, size,
                        before, before + square, flow, to);
    }
    std::ranges::transform(flow, to_state, [](double x) { return static_cast<float>(x); });
}

void evaluate_time_mix_grad(const EvalArgs& args) {
    const TensorSpec& spec = *args.inputs[kReceptance].spec;
    const TensorSpec& states = *args.inputs[kState].spec;
    const BundleLayout layout = bundle_layout(args);
    std::fill_n(args.result<char>(), layout.bytes, char{0});
    if (states.nbytes() > 0)
        std::memcpy(bundle_part<char>(args, layout, kState), args.inputs[kStateFlow].data,
                    static_cast<std::size_t>(states.nbytes()));
    const std::vector<Run> runs =
        read_runs("time_mix_v7_grad", args.inputs[kGradRuns], spec.shape[0], states.shape[0]);
    dispatch(spec.dtype, [&]<class T>() {
        if constexpr (is_real_float_v<T>) {
            for (const Run& run : runs) {
                for (std::int64_t h = 0; h < spec.shape[1]; ++h)
                    plain_head<T>(args, layout, run, h);
            }
        }
    });
}

// ---- gradients of the gradient: those of a loop over the tokens, which is slower and has all

/// Of each token the number of its state, or -1.
Value states_of_tokens(const Value& runs, Dim tokens) {
    ProgramBuilder& builder = runs.builder();
    const Dim count = runs.shape().dim(0);
    const auto column = [&](int i) {
        return narrowed(reshape(part_of_axis(runs, 1, i, 1), {count}), i64);
    };
    const Value token = positions(builder, {tokens, count}, 0, i64);
    const Value first = column(1);
    const Value inside = logical_and(ge(token, first), lt(token, first + column(2)));
    const Value number = column(0);
    const Value from_1 = number + constant_like(number, 1);
    const Value all = sum(select(inside, from_1, constant_like(from_1, 0)), 1);
    return all - constant_like(all, 1);
}

/// One step: of the states, what one token gives for them to the next one; and its output.
Program token_body(const TensorSpec& states, const TensorSpec& token, const TensorSpec& packed) {
    ProgramBuilder builder;
    (void)builder.param("", {i64, {}});
    const Value before = builder.param("states", states);
    const DType wide = token.dtype == f64 ? f64 : f32;
    const auto rows = [&](const TensorSpec& spec) {
        return narrowed(builder.param("", spec), wide);
    };
    const Value r = rows(token);
    const Value w = rows(token);
    const Value planes = rows(packed);
    const Value its_number = builder.param("", {i64, {}});
    const auto plane = [&](int i) { return reshape(part_of_axis(planes, 0, i, 1), token.shape); };
    const auto along_columns = [](const Value& x) { return with_axis(x, 1); };
    const Value kk = along_columns(plane(kDirections));

    const Value is_its = reshape(eq(positions(builder, {states.shape.dim(0)}, 0, i64), its_number),
                                 {states.shape.dim(0), 1, 1, 1});
    const Value state = narrowed(sum(select(is_its, before, constant_like(before, 0)), 0), wide);
    const Value removed = -sum(state * kk, Axes{2}, true);
    const Value next =
        narrowed(state * along_columns(w) + removed * kk * along_columns(plane(kRates)) +
                     with_axis(plane(kValues), 2) * along_columns(plane(kKeys)),
                 f32);
    builder.result(select(is_its, next, before));
    const Value y = sum(narrowed(next, wide) * along_columns(r), 2);
    const Value nobodys = lt(its_number, constant_like(its_number, 0));
    builder.result(narrowed(select(nobodys, constant_like(y, 0), y), token.dtype));
    return builder.build();
}

TensorSpec without_axis(const TensorSpec& spec, int axis) {
    TensorSpec out{spec.dtype, {}};
    for (int i = 0; i < spec.shape.rank(); ++i) {
        if (i != axis) out.shape.push_back(spec.shape.dim(i));
    }
    return out;
}

/// time_mix_v7 as a loop: its operands, its results.
Program time_mix_loop(std::span<const TensorSpec* const> inputs, const TensorSpec& run_spec) {
    ProgramBuilder builder;
    const auto param = [&](int i) {
        return builder.param("", *inputs[static_cast<std::size_t>(i)]);
    };
    const Value r = param(kReceptance);
    const Value w = param(kDecay);
    const Value packed = param(kPacked);
    const Value state = param(kState);
    const Value runs = builder.param("", run_spec);
    const Dim tokens = r.shape().dim(0);
    AttrWords words;
    words.program(
        token_body(state.spec(), without_axis(r.spec(), 0), without_axis(packed.spec(), 1)));
    words.integer(1);  // what is carried
    words.integer(4);  // what is scanned
    words.integer(tokens.raw());
    words.boolean(false);
    const Value operands[] = {state, r, w, permute(packed, {1, 0, 2, 3}),
                              states_of_tokens(runs, tokens)};
    const std::vector<Value> made = parts_of(builder, "loop", operands, words);
    builder.result(made[1]);
    builder.result(made[0]);
    return builder.build();
}

/// time_mix_v7_grad by way of that loop: its operands, its results.
Program grad_by_loop(const InferArgs& args) {
    ProgramBuilder builder;
    std::vector<Value> operands;
    for (const TensorSpec* spec : args.inputs) operands.push_back(builder.param("", *spec));
    std::vector<Value> mixed(operands.begin(), operands.begin() + kOutputFlow);
    mixed.push_back(operands[kGradRuns]);
    const Value flows[] = {operands[kOutputFlow], operands[kStateFlow]};
    const std::vector<Value> made =
        through_program(builder, time_mix_loop(args.inputs, *args.inputs[kGradRuns]), mixed, flows,
                        {true, true, true, true, false});
    for (std::size_t i = 0; i < kOutputFlow; ++i)
        builder.result(or_zeros(builder, made[i], *args.inputs[i]));
    return builder.build();
}

Gradients gradient_of_gradient(const GradientArgs& g) {
    return through_program(g.builder, grad_by_loop(g.call), g.inputs, g.cotangents, g.wanted);
}

std::vector<Case> time_mix_grad_cases() {
    std::vector<Case> out;
    const auto add = [&](std::int64_t tokens, std::int64_t heads, std::int64_t size,
                         std::int64_t states, std::int64_t runs, DType dtype, DType index) {
        const Shape token{tokens, heads, size};
        const Shape state{states, heads, size, size};
        out.push_back({{token, token, {4, tokens, heads, size}, state, token, state, {runs, 3}},
                       {},
                       std::nullopt,
                       {dtype, dtype, dtype, f32, dtype, f32, index}});
    };
    for (const DType index : {i64, i32}) {
        for (const DType dtype : {f32, f16, bf16, f64}) {
            add(3, 2, 4, 2, 1, dtype, index);
            add(3, 1, 19, 2, 1, dtype, index);
        }
        add(2, 1, 2, 1, 0, f32, index);
        add(0, 1, 2, 0, 0, f32, index);
    }
    return out;
}

}  // namespace

std::vector<OpDef> time_mix_v7_grad() {
    return {
        {
            .name = "time_mix_v7_grad",
            .doc = "What flows back through time_mix_v7: its r, w, packed k, v, a and kk and "
                   "states, what flows back to its output and to its new states, and its runs; "
                   "gives what flows back to the first four.",
            .edge = "Nothing flows back to tokens of no run; to states of no run all that flows "
                    "back to the new ones. Runs are refused as time_mix_v7 refuses them: execution "
                    "errors. Rounding of the state to f32 counts as no change. Its own gradient is "
                    "that of a loop over the tokens.",
            .min_inputs = 7,
            .max_inputs = 7,
            .traits = Trait::keep_if_held,
            .dtypes = {i32, i64},
            .infer = infer_time_mix_grad,
            .results = results,
            .evaluate = evaluate_time_mix_grad,
            .gradient = gradient_of_gradient,
            .tolerance = {.ulps = 16, .absolute = 1e-5},
            .sample = {.low = 0, .high = 2},
            .cases = time_mix_grad_cases(),
        },
    };
}

}  // namespace lazuli::ops
