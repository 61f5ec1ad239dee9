// Blocks of networks whose batch and number of tokens are variables: one program for all of them,
// expanded and optimised, gives the bits of the programs of the numbers.

#include <gtest/gtest.h>

#include <cstring>

#include "lazuli/program.h"
#include "ops/build.h"
#include "ops/bundle.h"
#include "ops/reverse.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "symbolic_run.h"

namespace lazuli {
namespace {

using ops::operator+;
using ops::operator*;

/// Builds the same program for any sizes.
using Build = Program (*)(Dim batch, Dim tokens);

Value call(std::string_view op, std::vector<Value> inputs, std::vector<Attribute> attrs) {
    return inputs[0].builder().op(op, inputs, attrs);
}

/// One block of a transformer, its embedding and its loss.
Program transformer(Dim b, Dim t) {
    ProgramBuilder builder;
    const auto param = [&](const char* name, Shape shape, DType dtype = f32) {
        return builder.param(name, {dtype, std::move(shape)});
    };
    const Value ids = param("ids", {b, t}, i64);
    const Value targets = param("targets", {b, t}, i64);
    const Value table = param("table", {11, 8});
    const Value scale = param("scale", {8});
    const Value shift = param("shift", {8});
    const Value w_qkv = param("w_qkv", {8, 24});
    const Value b_qkv = param("b_qkv", {24});
    const Value w_out = param("w_out", {8, 8});
    const Value w_up = param("w_up", {8, 16});
    const Value w_down = param("w_down", {16, 8});

    const Value x = ops::embedding(table, ids);
    const Value normal = ops::layer_norm(x, scale, shift);
    const Value qkv = call("matmul_bias", {normal, w_qkv, b_qkv}, {std::string("none")});
    const Value heads = ops::permute(ops::reshape(qkv, {b, t, 3, 2, 4}), {2, 0, 3, 1, 4});
    const Value at = ops::positions(builder, {t}, 0, i64);
    const auto part = [&](std::int64_t i) {
        return ops::reshape(ops::part_of_axis(heads, 0, i, 1), {b, 2, t, 4});
    };
    const Value q = ops::rope(part(0), at);
    const Value k = ops::rope(part(1), at);
    const Value seen = call("attention", {q, k, part(2)}, {0.0, true});
    const Value merged = ops::reshape(ops::permute(seen, {0, 2, 1, 3}), {b, t, 8});
    const Value y = x + ops::matmul(merged, w_out);
    const Value up =
        call("matmul", {ops::layer_norm(y, scale, shift), w_up}, {std::string("gelu")});
    const Value out = y + ops::matmul(up, w_down);
    const Value logits = ops::matmul(out, ops::permute(table, {1, 0}));
    builder.result(ops::cross_entropy(logits, targets, 0.1), "loss");
    // What comes next: the last token alone.
    const Value last = ops::part_of_axis(logits, 1, t - 1, 1);
    builder.result(ops::argmax(ops::reshape(last, {b, 11}), -1), "next");
    return builder.build();
}

/// Tokens that are put into a cache of keys and values, and look at all that is in it.
Program cached(Dim b, Dim t) {
    ProgramBuilder builder;
    const auto param = [&](const char* name, Shape shape, DType dtype = f32) {
        return builder.param(name, {dtype, std::move(shape)});
    };
    const Value q = param("q", {b, 4, t, 4});
    const Value k = param("k", {b, 2, t, 4});
    const Value v = param("v", {b, 2, t, 4});
    const Value keys = param("keys", {b, 2, 64, 4});
    const Value values = param("values", {b, 2, 64, 4});
    const Value starts = param("starts", {4}, i64);
    const Value all_k = ops::dynamic_update_slice(keys, k, starts);
    const Value all_v = ops::dynamic_update_slice(values, v, starts);
    // Keys behind the last token are hidden.
    const Value place = ops::positions(builder, {t, 64}, 1, i64);
    const Value mask = ops::select(ops::ge(place, ops::constant_like(place, 40)),
                                   ops::constant_like(q, -1e9), ops::constant_like(q, 0));
    const Value out = call("attention_general", {q, all_k, all_v, mask},
                           {0.0, false, std::int64_t{0}, 0.0, true});
    builder.result(out);
    builder.result(call("attention_general", {q, k, v}, {0.0, true, std::int64_t{3}, 5.0, false}));
    builder.result(all_k);
    return builder.build();
}

/// A block of RWKV-7 over runs of tokens: `b` states, `t` tokens.
Program rwkv7(Dim b, Dim t) {
    ProgramBuilder builder;
    const auto param = [&](const char* name, Shape shape, DType dtype = f32) {
        return builder.param(name, {dtype, std::move(shape)});
    };
    const Value x = param("x", {t, 8});
    const Value before = param("before", {b, 8});
    const Value state = param("state", {b, 2, 4, 4});
    const Value runs = param("runs", {1, 3}, i64);
    const Value mix = param("mix", {6, 1, 8});
    const Value w = param("w", {8, 8});
    const Value weight = param("weight", {8});
    const Value bias = param("bias", {8});
    const Value r_k = param("r_k", {2, 4});

    const Value shifted = ops::token_shift(x, before, mix, runs);
    const auto mixed = [&](std::int64_t i) {
        const Value one = ops::reshape(ops::part_of_axis(shifted, 0, i, 1), {t, 8});
        return ops::matmul(one, w);
    };
    const auto heads = [&](const Value& v) { return ops::reshape(v, {t, 2, 4}); };
    const Value r = heads(mixed(0));
    const Value k = heads(mixed(1));
    const Value v = heads(mixed(2));
    const Value decay = ops::exp(ops::sigmoid(heads(mixed(3))) * -0.6);
    const Value rate = ops::sigmoid(heads(mixed(4)));
    const Value direction = ops::l2_norm(k, -1);
    const Value packed = ops::pack_kvakk(k, v, rate, direction);
    const Value bundle = call("time_mix_v7", {r, decay, packed, state, runs}, {});
    const TensorSpec made[] = {r.spec(), state.spec()};
    const std::vector<Dim> offsets = ops::bundle_offsets(made);
    const auto part = [&](std::size_t i) {
        const Attribute attrs[] = {offsets[i].raw()};
        return builder.op("part", {&bundle, 1}, attrs, &made[i]);
    };
    const Value y = ops::reshape(part(0), {t, 8});
    const Value normal = heads(ops::group_norm(y, weight, bias, 2));
    const Value out =
        x + ops::matmul(ops::reshape(ops::time_first_v7(normal, r, k, v, r_k), {t, 8}), w);
    const Value one = ops::reshape(ops::part_of_axis(mix, 0, 5, 1), {8});
    builder.result(out + ops::channel_mix_v7(out, before, one, w, w, runs));
    builder.result(ops::shift_state(x, before, runs));
    builder.result(part(1));
    return builder.build();
}

/// What flows back through that block to all it is given, from its results.
Program rwkv7_backwards(Dim b, Dim t) {
    const Program block = rwkv7(b, t);
    ProgramBuilder builder;
    std::vector<Value> params;
    std::vector<bool> wanted;
    for (const Param& param : block.params()) {
        params.push_back(builder.param(param.name, param.spec));
        wanted.push_back(param.name != "runs");
    }
    std::vector<Value> flows;
    for (const ProgramResult& result : block.results())
        flows.push_back(builder.param("", block.spec(result.value)));
    const std::vector<Value> made = ops::through_program(builder, block, params, flows, wanted);
    for (const Value& flow : made) {
        if (flow.defined()) builder.result(flow);
    }
    return builder.build();
}

/// A loop over tokens, one after the other, that carries a sum a batch.
Program scanned(Dim b, Dim t) {
    ProgramBuilder body;
    (void)body.param("i", {i64, {}});
    const Value sum = body.param("sum", {f32, {b}});
    const Value token = body.param("token", {f32, {b}});
    const Value next = ops::tanh(sum + token);
    body.result(next);
    body.result(next);
    ProgramBuilder builder;
    const Value first = builder.param("first", {f32, {b}});
    const Value tokens = builder.param("tokens", {f32, {t, b}});
    const Value operands[] = {first, tokens};
    const Attribute attrs[] = {body.build().str(), std::int64_t{1}, std::int64_t{1}, t.raw(),
                               false};
    builder.result(builder.op("loop", operands, attrs));
    return builder.build();
}

struct Checks {
    bool runs = true;
    bool is_instance = true;  // a program built with numbers is that of variables, at these
};
void expect_same_bits(Build build, const Sample& sample, const Checks& checks = {}) {
    const Dim b = dim("block_b", 1, 64);
    const Dim t = dim("block_t", 1, 32);
    const Program program = build(b, t);
    program.verify();
    EXPECT_EQ(Program::parse(program.str()), program);
    EXPECT_EQ(Program::from_json(program.json()), program);
    EXPECT_EQ(Program::from_bytes(program.bytes()), program);
    const Program expanded = plan::expand(program, {});
    const Program optimized = optimize::optimize(expanded, {.verify = true});
    for (std::size_t i = 0; i < optimized.size(); ++i) {
        const OpDef& def = optimized.operation(i).def();
        EXPECT_TRUE(def.move == nullptr || has(def.traits, Trait::view)) << def.name;
    }
    const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1}, {2, 7}, {5, 1}, {3, 32}, {1, 9}};
    for (const auto& [batch, tokens] : sizes) {
        const tests::Bindings bindings{{"block_b", batch}, {"block_t", tokens}};
        const Program numbers = build(batch, tokens);
        if (checks.is_instance) {
            EXPECT_EQ(program.instantiate(bindings), numbers);
        }
        const Program plain = expanded.instantiate(bindings);
        const Program better = optimized.instantiate(bindings);
        plain.verify();
        better.verify();
        if (!checks.runs) continue;
        const Program wanted = plan::expand(numbers, {});
        auto operands = tests::draw(numbers, sample, 11);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            // One run of all tokens, with the last state.
            if (numbers.params()[i].name != "runs") continue;
            const std::int64_t run[] = {batch - 1, 0, tokens};
            std::memcpy(operands[i].data(), run, sizeof(run));
        }
        std::string thrown[3];
        const auto results = tests::run(wanted, operands, thrown[0]);
        EXPECT_EQ(thrown[0], "");
        EXPECT_EQ(tests::run(plain, operands, thrown[1]), results) << batch << ", " << tokens;
        EXPECT_EQ(tests::run(better, operands, thrown[2]), results) << batch << ", " << tokens;
    }
}

TEST(SymbolicBlocks, Transformer) { expect_same_bits(transformer, {.low = 0, .high = 1.99}); }

TEST(SymbolicBlocks, AttentionToACache) { expect_same_bits(cached, {.low = -1, .high = 1}); }

TEST(SymbolicBlocks, Rwkv7) { expect_same_bits(rwkv7, {.low = -1, .high = 1}); }

// What flows back takes shorter ways where sizes are numbers; the bits are the same.
TEST(SymbolicBlocks, Rwkv7Backwards) {
    expect_same_bits(rwkv7_backwards, {.low = -1, .high = 1}, {.is_instance = false});
}

TEST(SymbolicBlocks, LoopOverTokens) { expect_same_bits(scanned, {}, {.runs = false}); }

}  // namespace
}  // namespace lazuli
