// RWKV-7 beside its recurrence (time_mix_v7.cpp): tokens mixed with the ones before them, and the
// small formulas around the state.

#include <fmt/format.h>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/runs.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

/// Throws where operands 0 and 1 are not tokens [tokens, channels] and a state of f32 beside them.
void check_tokens(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& state = *args.inputs[1];
    if (!is_floating(x.dtype) || state.dtype != f32) {
        throw DTypeError(fmt::format("{}: takes floats and a state of f32: {}", args.op.name,
                                     operands_text(args)));
    }
    if (x.shape.rank() != 2 || state.shape.rank() != 2 ||
        equal(x.shape.dim(1), state.shape.dim(1)) != Truth::yes) {
        throw ShapeError(fmt::format("{}: needs [tokens, channels] and [states, channels]: {}",
                                     args.op.name, operands_text(args)),
                         x.shape.str(), state.shape.str());
    }
    check_runs(args, args.inputs.size() - 1);
}

/// Column `i` of the runs, as i64: states, first tokens, counts.
Value column(const Value& runs, int i) {
    const Dim count = runs.shape().dim(0);
    const Value out = reshape(part_of_axis(runs, 1, i, 1), {count});
    return narrowed(out, i64);
}

Value both(const Value& x, const Value& y) { return logical_and(x, y); }

/// Numbers from 0 to below `size`, as they are; others are execution errors, where gather would
/// count negative ones from the end.
Value within(ProgramBuilder& builder, const Value& numbers, Dim size) {
    const Value low = lt(numbers, constant_like(numbers, 0));
    const Value outside = select(low, number_of(builder, size, i64), numbers);
    return gather(positions(builder, {size}, 0, i64), outside, 0);
}

/// Runs of so many tokens, whose tokens and states are there.
struct Runs {
    Value state, first, count, behind;
};
Runs runs_of(ProgramBuilder& builder, const Value& runs, Dim tokens, Dim states) {
    const Value count = within(builder, column(runs, 2), tokens + 1);
    const Value first = within(builder, column(runs, 1), tokens + 1);
    const Value state = within(builder, column(runs, 0), states);
    return {state, first, count, within(builder, first + count, tokens + 1)};
}

/// Whether any element along axis 1 holds.
Value any_of(const Value& x) {
    const Value count = sum(cast(x, i64), 1);
    return gt(count, constant_like(count, 0));
}

/// Of each token the one before it in its run, or its run's state.
Value previous(ProgramBuilder& builder, const Value& x, const Value& state, const Value& runs,
               const InferArgs& args) {
    const Dim tokens = x.shape().dim(0);
    const Dim count = runs.shape().dim(0);
    if (is_empty(args, count)) return constant_like(x, 0);
    const Runs r = runs_of(builder, runs, tokens, state.shape().dim(0));
    const Value at = positions(builder, {tokens, count}, 0, i64);
    const Value inside = both(ge(at, r.first), lt(at, r.behind));
    const Value zero = constant_like(at, 0);
    const Value number = sum(select(inside, r.state, zero), 1);
    const Value begins = any_of(both(inside, eq(at, r.first)));
    const Value before = padded(x, {1, 0}, {-1, 0}, 0);
    const Value kept = narrowed(gather(state, number, 0), x.dtype());
    const auto rows = [&](const Value& v) { return with_axis(v, 1); };
    const Value old = select(rows(begins), kept, before);
    return select(rows(any_of(inside)), old, constant_like(x, 0));
}

Value shifted(ProgramBuilder& builder, const Value& given, const Value& state, const Value& mix,
              const Value& runs, const InferArgs& args) {
    const Value x = widened(given);
    if (is_empty(args, given.shape().dim(0))) return x + (x - x) * widened(mix);
    return x + (previous(builder, x, state, runs, args) - x) * widened(mix);
}

TensorSpec infer_token_shift(const InferArgs& args) {
    check_tokens(args);
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& mix = *args.inputs[2];
    if (mix.dtype != x.dtype) {
        throw DTypeError(fmt::format("token_shift: the mix is not of the tokens' type: {}",
                                     operands_text(args)));
    }
    return {x.dtype, broadcast_shapes("token_shift", x.shape, mix.shape)};
}

Value build_token_shift(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    return narrowed(shifted(builder, in[0], in[1], in[2], in[3], args), in[0].dtype());
}

TensorSpec infer_shift_state(const InferArgs& args) {
    check_tokens(args);
    return *args.inputs[1];
}

Value build_shift_state(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Dim tokens = in[0].shape().dim(0);
    const Dim states = in[1].shape().dim(0);
    const Dim count = in[2].shape().dim(0);
    if (is_empty(args, tokens) || is_empty(args, count)) return in[1];
    const Runs r = runs_of(builder, in[2], tokens, states);
    const Value zero = constant_like(r.count, 0);
    const Value state = positions(builder, {states, count}, 0, i64);
    const Value its = both(eq(state, r.state), gt(r.count, zero));
    const Value last = r.behind - constant_like(r.count, 1);
    const Value token = gather(in[0], sum(select(its, last, zero), 1), 0);
    return select(with_axis(any_of(its), 1), narrowed(token, f32), in[1]);
}

TensorSpec infer_channel_mix(const InferArgs& args) {
    check_tokens(args);
    const TensorSpec& x = *args.inputs[0];
    const Shape& key = args.inputs[3]->shape;
    const Shape& value = args.inputs[4]->shape;
    for (const std::size_t i : {2, 3, 4}) {
        if (args.inputs[i]->dtype != x.dtype) {
            throw DTypeError(fmt::format("channel_mix_v7: operands have different types: {}",
                                         operands_text(args)));
        }
    }
    if (!broadcasts_to(args.inputs[2]->shape, x.shape) || key.rank() != 2 || value.rank() != 2 ||
        equal(key.dim(1), x.shape.dim(1)) != Truth::yes ||
        equal(value.dim(1), key.dim(0)) != Truth::yes) {
        throw ShapeError(fmt::format("channel_mix_v7: needs a mix that broadcasts to the tokens, a "
                                     "key of [hidden, channels] and a value of [made, hidden]: {}",
                                     operands_text(args)),
                         x.shape.str(), key.str());
    }
    return {x.dtype, {x.shape.dim(0), value.dim(0)}};
}

Value build_channel_mix(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const DType dtype = in[0].dtype();
    const Value mixed = narrowed(shifted(builder, in[0], in[1], in[2], in[5], args), dtype);
    const Value hidden = squared_relu(matmul(mixed, permute(in[3], {1, 0})));
    return matmul(hidden, permute(in[4], {1, 0}));
}

Value build_control_k(ProgramBuilder&, Inputs in, const InferArgs&) {
    return in[0] * ((in[1] - 1.0) * in[2] + 1.0);
}

TensorSpec infer_pack(const InferArgs& args) {
    check_one_type(args, 0, 4);
    const TensorSpec& k = *args.inputs[0];
    for (const TensorSpec* other : args.inputs.subspan(1)) {
        if (!(other->shape == k.shape)) {
            throw ShapeError(
                fmt::format("pack_kvakk: operands have different shapes: {}", operands_text(args)),
                k.shape.str(), other->shape.str());
        }
    }
    TensorSpec out{k.dtype, {4}};
    for (int i = 0; i < k.shape.rank(); ++i) out.shape.push_back(k.shape.dim(i));
    return out;
}

Value build_pack(ProgramBuilder&, Inputs in, const InferArgs&) {
    std::vector<Value> planes;
    for (const Value& plane : in) planes.push_back(with_axis(plane, 0));
    return joined(planes, 0);
}

TensorSpec infer_time_first(const InferArgs& args) {
    check_one_type(args, 0, 5);
    const TensorSpec& y = *args.inputs[0];
    bool fits = y.shape.rank() == 3;
    for (std::size_t i = 1; i < 4; ++i) fits = fits && args.inputs[i]->shape == y.shape;
    if (!fits || !(args.inputs[4]->shape == Shape{y.shape.dim(1), y.shape.dim(2)})) {
        throw ShapeError(fmt::format("time_first_v7: needs y, r, k and v of [tokens, heads, size] "
                                     "and r_k of [heads, size]: {}",
                                     operands_text(args)),
                         y.shape.str(), args.inputs[4]->shape.str());
    }
    return y;
}

Value build_time_first(ProgramBuilder&, Inputs in, const InferArgs&) {
    const auto wide = [&](std::size_t i) { return widened(in[i]); };
    const Value weight = sum(wide(1) * wide(2) * wide(4), 2, true);
    return narrowed(wide(0) + weight * wide(3), in[0].dtype());
}

/// Cases in all float types, with a state of f32 and runs of i64 and i32.
std::vector<Case> run_cases(const std::vector<std::vector<Shape>>& shapes) {
    std::vector<Case> out;
    for (const auto& inputs : shapes) {
        for (const DType index : {i64, i32}) {
            for (const DType dtype : {f32, f16, bf16, f64}) {
                std::vector<DType> types(inputs.size(), dtype);
                types[1] = f32;
                types.back() = index;
                out.push_back({inputs, {}, std::nullopt, types});
            }
        }
    }
    return out;
}

}  // namespace

std::vector<OpDef> rwkv7() {
    return {
        {
            .name = "token_shift",
            .doc = "Each of [tokens, channels] mixed with the token before it in its run, or with "
                   "its run's state, f32 [states, channels]: x + (before - x) * mix; the mix "
                   "broadcasts over tokens.",
            .edge = "A run is a line of [state, first token, tokens]; before a token of no run "
                    "stands 0. Runs do not share tokens: what comes of ones that do is left open. "
                    "A state that is not there is an execution error.",
            .min_inputs = 4,
            .max_inputs = 4,
            .dtypes = {i32, i64},
            .infer = infer_token_shift,
            .implementations = {{.name = "gather", .build = build_token_shift}},
            .tolerance = {.ulps = 16, .absolute = 1e-5},
            .sample = {.low = 0, .high = 2},
            .cases = run_cases({{{4, 6}, {2, 6}, {6}, {1, 3}},
                                {{3, 5}, {2, 5}, {6, 1, 5}, {1, 3}},
                                {{2, 3}, {1, 3}, {3}, {0, 3}},
                                {{0, 3}, {0, 3}, {3}, {0, 3}}}),
        },
        {
            .name = "shift_state",
            .doc = "The state that token_shift leaves behind: of each run its last token, as f32, "
                   "else the state as it was.",
            .edge = "As token_shift; a run that ends behind the tokens is an execution error.",
            .min_inputs = 3,
            .max_inputs = 3,
            .dtypes = {i32, i64},
            .infer = infer_shift_state,
            .implementations = {{.name = "gather", .build = build_shift_state}},
            .sample = {.low = 0, .high = 2},
            .cases = run_cases(
                {{{4, 6}, {2, 6}, {1, 3}}, {{2, 3}, {1, 3}, {0, 3}}, {{0, 3}, {2, 3}, {0, 3}}}),
        },
        {
            .name = "channel_mix_v7",
            .doc = "The channel mix of RWKV-7: tokens shifted as by token_shift, times a key "
                   "[hidden, channels], the larger of it and 0 squared, times a value [made, "
                   "hidden].",
            .edge = "As token_shift and matmul.",
            .min_inputs = 6,
            .max_inputs = 6,
            .dtypes = {i32, i64},
            .infer = infer_channel_mix,
            .implementations = {{.name = "products", .build = build_channel_mix}},
            .tolerance = {.ulps = 64, .absolute = 1e-4},
            .sample = {.low = 0, .high = 2},
            .cases = run_cases({{{4, 6}, {2, 6}, {6}, {8, 6}, {6, 8}, {1, 3}},
                                {{0, 3}, {1, 3}, {3}, {4, 3}, {3, 4}, {0, 3}}}),
        },
        {
            .name = "control_k_v7",
            .doc = "The key of RWKV-7 under its learning rate a, the second operand: k * (1 + (a - "
                   "1) * k_a).",
            .edge = "As the formula says, rounded after every step.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "formula", .build = build_control_k}},
            .tolerance = {.ulps = 16, .absolute = 1e-5},
        },
        {
            .name = "pack_kvakk",
            .doc = "Keys, values, learning rates and directions of RWKV-7, k, v, a and kk, as the "
                   "four planes of one tensor.",
            .edge = "Elements are taken as they are.",
            .min_inputs = 4,
            .max_inputs = 4,
            .traits = Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .infer = infer_pack,
            .implementations = {{.name = "concat", .build = build_pack}},
            .cases = {{{{3, 2, 4}, {3, 2, 4}, {3, 2, 4}, {3, 2, 4}}, {}},
                      {{{}, {}, {}, {}}, {}},
                      {{{0, 2}, {0, 2}, {0, 2}, {0, 2}}, {}}},
        },
        {
            .name = "time_first_v7",
            .doc = "The bonus of RWKV-7 for a token itself, behind the norm of its heads: y + v "
                   "times the sum of r * k * r_k over each head.",
            .edge = "As the formula says; f16 and bf16 are computed in f32.",
            .min_inputs = 5,
            .max_inputs = 5,
            .traits = Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .infer = infer_time_first,
            .implementations = {{.name = "formula", .build = build_time_first}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{3, 2, 4}, {3, 2, 4}, {3, 2, 4}, {3, 2, 4}, {2, 4}}, {}},
                      {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1}}, {}},
                      {{{0, 2, 3}, {0, 2, 3}, {0, 2, 3}, {0, 2, 3}, {2, 3}}, {}}},
        },
    };
}

}  // namespace lazuli::ops
