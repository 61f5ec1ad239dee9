// Ops that change nothing but how gradients flow.

#include "ops/differentiation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lazuli/error.h"
#include "ops/bundle.h"
#include "ops/gradient.h"
#include "ops/reverse.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_same(const InferArgs& args) { return *args.inputs[0]; }
Value build_same(ProgramBuilder&, Inputs in, const InferArgs&) { return in[0]; }
Gradients same_gradient(const GradientArgs& g) { return {g.cotangent()}; }

// ---- computing anew

/// The first operand; the second may be of any type and shape.
void evaluate_anew(const EvalArgs& args) {
    const auto bytes = static_cast<std::size_t>(args.spec->nbytes());
    if (bytes > 0) std::memcpy(args.out, args.inputs[0].data, bytes);
}
Gradients anew_gradient(const GradientArgs& g) { return {g.cotangent(), {}}; }

// ---- functions whose gradient is not that of what they compute

std::vector<TensorSpec> results_of(const Program& program) {
    std::vector<TensorSpec> out;
    for (const ProgramResult& result : program.results()) out.push_back(program.spec(result.value));
    return out;
}

void check_params(const InferArgs& args, const Program& program) {
    bool fits = program.params().size() == args.inputs.size();
    for (std::size_t i = 0; fits && i < args.inputs.size(); ++i)
        fits = program.params()[i].spec == *args.inputs[i];
    if (!fits)
        throw ArgumentError(
            fmt::format("{}: the function does not take ({})", args.op.name, operands_text(args)));
}

std::vector<TensorSpec> function_results(const InferArgs& args) {
    const Program& function = args.attrs.program(0);
    check_params(args, function);
    return results_of(function);
}
TensorSpec infer_function(const InferArgs& args) { return bundle_spec(function_results(args)); }

/// Appends a program; its results.
std::vector<Value> called(ProgramBuilder& builder, const Program& program,
                          std::span<const Value> params) {
    const std::vector<Value> values = inlined(builder, program, params);
    std::vector<Value> out;
    for (const ProgramResult& result : program.results())
        out.push_back(value_in(result.value, params, values));
    return out;
}

Value build_function(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    return builder.op("bundle", called(builder, args.attrs.program(0), in));
}

/// What the function computed on its way is computed anew, when what flows back has come that far.
Gradients checkpoint_gradient(const GradientArgs& g) {
    const auto due = std::ranges::find_if(g.cotangents, &Value::defined);
    std::vector<Value> again;
    for (const Value& input : g.inputs) {
        const Value operands[] = {input, *due};
        again.push_back(g.builder.op("anew", operands));
    }
    const Program& function = g.call.attrs.program(0);
    const std::vector<Value> values = inlined(g.builder, function, again);
    const Forward forward = [&](ValueRef v) { return value_in(v, again, values); };
    return reverse(g.builder, function, forward, g.cotangents, g.wanted);
}

/// The second program takes the arguments, the results, a cotangent a float result, and what both
/// take from outside; it gives a cotangent for each argument that is a float.
Gradients custom_gradient_gradient(const GradientArgs& g) {
    const auto count =
        static_cast<std::size_t>(g.call.attrs.integer(CustomGradientAttr::arguments));
    const std::vector<TensorSpec> results = function_results(g.call);
    for (std::size_t i = count; i < g.inputs.size(); ++i) {
        if (!g.wanted[i]) continue;
        throw ArgumentError(
            fmt::format("custom_gradient: a gradient flows to {}, which the function takes from "
                        "outside: make it an argument",
                        g.call.inputs[i]->str()));
    }
    std::vector<Value> given(g.inputs.begin(),
                             g.inputs.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < results.size(); ++i) given.push_back(part_of(g.result, results, i));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!has_gradient(results[i].dtype)) continue;
        given.push_back(g.cotangents[i].defined() ? g.cotangents[i]
                                                  : g.builder.constant(0, results[i]));
    }
    given.insert(given.end(), g.inputs.begin() + static_cast<std::ptrdiff_t>(count),
                 g.inputs.end());
    const std::vector<Value> flows =
        called(g.builder, g.call.attrs.program(CustomGradientAttr::backward), given);
    std::vector<Value> out(g.inputs.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (has_gradient(g.call.inputs[i]->dtype)) out[i] = flows[next++];
    }
    return out;
}

const std::vector<Case> kCases = {{{{3, 4}}, {}}, {{{}}, {}}, {{{0, 2}}, {}}};

}  // namespace

std::vector<OpDef> differentiation() {
    const std::string product =
        "program(x: f32[2], y: f32[2]) {\n  %0 = mul(x, y) : f32[2]\n  return %0\n}\n";
    const std::string product_back =
        "program(x: f32[2], y: f32[2], r: f32[2], c: f32[2]) {\n  %0 = mul(c, y) : f32[2]\n"
        "  %1 = mul(c, x) : f32[2]\n  return %0, %1\n}\n";
    return {
        {
            .name = "identity",
            .doc = "Each element as it is: a value of its own, of which gradients can be taken.",
            .edge = "Bits stay as they are.",
            .infer = infer_same,
            .implementations = {{.name = "itself", .build = build_same}},
            .gradient = same_gradient,
            .cases = kCases,
        },
        {
            .name = "stop_gradient",
            .doc = "Each element as it is; gradients take it for a number from outside.",
            .edge = "Bits stay as they are.",
            .traits = Trait::no_gradient,
            .infer = infer_same,
            .implementations = {{.name = "itself", .build = build_same}},
            .cases = kCases,
        },
        {
            .name = "anew",
            .doc = "The first operand as it is. Operations on it are computed anew, though equal "
                   "ones on the operand itself may be there: when the second operand is.",
            .edge = "Bits stay as they are.",
            .min_inputs = 2,
            .max_inputs = 2,
            .infer = infer_same,
            .evaluate = evaluate_anew,
            .gradient = anew_gradient,
            .cases = {{{{3, 4}, {2}}, {}}, {{{}, {}}, {}}, {{{0, 2}, {3}}, {}}},
        },
        {
            .name = "checkpoint",
            .doc = "A function whose values in between are not kept for its gradient, but computed "
                   "again.",
            .edge = "The results are those of the function.",
            .min_inputs = 0,
            .max_inputs = -1,
            .attrs = {{"function", AttrKind::program}},
            .infer = infer_function,
            .results = function_results,
            .implementations = {{.name = "inline", .build = build_function}},
            .gradient = checkpoint_gradient,
            .cases = {{{{2}, {2}}, {product}, {}, {f32, f32}}},
        },
        {
            .name = "custom_gradient",
            .doc = "A function whose gradient is computed by another.",
            .edge = "The results are those of the function.",
            .min_inputs = 0,
            .max_inputs = -1,
            .attrs = {{"function", AttrKind::program},
                      {"backward", AttrKind::program},
                      {"arguments", AttrKind::integer}},
            .infer = infer_function,
            .results = function_results,
            .implementations = {{.name = "inline", .build = build_function}},
            .gradient = custom_gradient_gradient,
            .cases = {{{{2}, {2}}, {product, product_back, std::int64_t{2}}, {}, {f32, f32}}},
        },
    };
}

}  // namespace lazuli::ops
