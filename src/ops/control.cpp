// Loops and conditions. Their bodies are programs, which backends plan and run; what a body takes
// from outside is an operand. Results lie in a bundle.

#include "ops/control.h"

#include <fmt/format.h>

#include "ir/engine.h"
#include "lazuli/error.h"
#include "lazuli/program.h"
#include "ops/bundle.h"
#include "ops/control_gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

void expect_spec(std::string_view op, const std::string& what, const TensorSpec& wanted,
                 const TensorSpec& given) {
    if (wanted == given) return;
    const std::string text =
        fmt::format("{}: {}: {} wanted, {} given", op, what, wanted.str(), given.str());
    if (wanted.shape == given.shape) throw DTypeError(text);
    throw ShapeError(text, wanted.str(), given.str());
}

namespace {

/// Throws for a number of values that is not the one wanted.
[[noreturn]] void refuse_count(const InferArgs& args, std::string_view what,
                               const std::string& wanted, std::size_t given) {
    throw ArgumentError(
        fmt::format("{}: {}: {} wanted, {} given", args.op.name, what, wanted, given));
}

/// Checks that a program takes these parameters.
void expect_params(const InferArgs& args, std::string_view which, const Program& program,
                   std::span<const TensorSpec> wanted) {
    if (program.params().size() != wanted.size()) {
        refuse_count(args, fmt::format("parameters of {}", which), fmt::format("{}", wanted.size()),
                     program.params().size());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i)
        expect_spec(args.op.name, fmt::format("parameter {} of {}", i, which),
                    program.params()[i].spec, wanted[i]);
}

std::vector<TensorSpec> results_of(const Program& program) {
    std::vector<TensorSpec> out;
    for (const ProgramResult& result : program.results()) out.push_back(program.spec(result.value));
    return out;
}

/// Checks that the body gives back what it is handed from step to step.
void expect_carried(const InferArgs& args, const std::vector<TensorSpec>& results,
                    std::span<const TensorSpec* const> carried) {
    if (results.size() < carried.size()) {
        refuse_count(args, "results of the body", fmt::format("{} or more", carried.size()),
                     results.size());
    }
    for (std::size_t i = 0; i < carried.size(); ++i)
        expect_spec(args.op.name, fmt::format("value {} that is carried", i), *carried[i],
                    results[i]);
}

/// An attribute that counts operands.
std::size_t counted(const InferArgs& args, int attr, std::size_t most) {
    const std::int64_t count = args.attrs.integer(attr);
    if (count < 0 || static_cast<std::size_t>(count) > most) {
        throw ArgumentError(fmt::format("{}: {} is {}, and there are {} operands", args.op.name,
                                        args.op.attrs[static_cast<std::size_t>(attr)].name, count,
                                        args.inputs.size()));
    }
    return static_cast<std::size_t>(count);
}

TensorSpec infer_argument(const InferArgs& args) {
    if (args.attrs.integer(0) < 0) {
        throw ArgumentError(fmt::format("argument: {} {} must be at least 0 ({})",
                                        args.op.attrs[0].name, args.attrs.integer(0),
                                        args.wanted->str()));
    }
    return *args.wanted;
}

void evaluate_argument(const EvalArgs& args) {
    throw ExecutionError(
        "argument", fmt::format("{} stands for an argument of a body or a function, and has no "
                                "value while that is recorded",
                                args.spec->str()));
}

TensorSpec infer_loop(const InferArgs& args) { return bundle_spec(loop_results(args)); }
TensorSpec infer_cond(const InferArgs& args) { return bundle_spec(cond_results(args)); }
TensorSpec infer_while(const InferArgs& args) { return bundle_spec(while_results(args)); }

void evaluate_control(const EvalArgs& args) { ir::engine().run_control(args); }

}  // namespace

std::vector<TensorSpec> loop_results(const InferArgs& args) {
    const Program& body = args.attrs.program(LoopAttr::body);
    const Dim trips = args.attrs.size(LoopAttr::trips);
    const bool is_operand = at_least(trips, 0) != Truth::yes;
    const std::size_t first = is_operand ? 1 : 0;
    if (is_operand && !trips.is_concrete()) {
        throw ArgumentError(
            fmt::format("loop: the number of trips {} may be negative", trips.str()));
    }
    if (args.inputs.size() < first)
        throw ArgumentError("loop: the number of trips is no attribute and no operand");
    if (first == 1) expect_spec(args.op.name, "the number of trips", {i64, {}}, *args.inputs[0]);
    const std::size_t left = args.inputs.size() - first;
    const std::size_t carried = counted(args, LoopAttr::carried, left);
    const std::size_t scanned = counted(args, LoopAttr::scanned, left - carried);
    std::vector<TensorSpec> params{{i64, {}}};
    for (std::size_t i = 0; i < left; ++i) {
        TensorSpec spec = *args.inputs[first + i];
        if (i >= carried && i < carried + scanned) {
            if (is_operand || spec.shape.rank() == 0 ||
                equal(spec.shape.dim(0), trips) != Truth::yes) {
                throw ShapeError(
                    fmt::format("loop: value {} that is scanned: a first axis of {} wanted, {} "
                                "given",
                                i - carried, trips.str(), spec.str()),
                    fmt::format("a first axis of {}", trips.str()), spec.str());
            }
            TensorSpec step{spec.dtype, {}};
            for (int d = 1; d < spec.shape.rank(); ++d) step.shape.push_back(spec.shape.dim(d));
            spec = step;
        }
        params.push_back(spec);
    }
    expect_params(args, "the body", body, params);
    std::vector<TensorSpec> results = results_of(body);
    expect_carried(args, results, args.inputs.subspan(first, carried));
    if (is_operand && results.size() > carried)
        throw ArgumentError("loop: results that are stacked need a known number of trips");
    for (std::size_t i = carried; i < results.size(); ++i) {
        TensorSpec stacked{results[i].dtype, Shape{trips}};
        for (int d = 0; d < results[i].shape.rank(); ++d)
            stacked.shape.push_back(results[i].shape.dim(d));
        results[i] = stacked;
    }
    return results;
}

std::vector<TensorSpec> cond_results(const InferArgs& args) {
    expect_spec(args.op.name, "the condition", {DType::boolean, {}}, *args.inputs[0]);
    std::vector<TensorSpec> params;
    for (std::size_t i = 1; i < args.inputs.size(); ++i) params.push_back(*args.inputs[i]);
    const Program& then = args.attrs.program(CondAttr::then);
    const Program& otherwise = args.attrs.program(CondAttr::otherwise);
    expect_params(args, "the first branch", then, params);
    expect_params(args, "the second branch", otherwise, params);
    const std::vector<TensorSpec> results = results_of(then);
    const std::vector<TensorSpec> others = results_of(otherwise);
    if (results.size() != others.size()) {
        refuse_count(args, "results of the branches", fmt::format("{}", results.size()),
                     others.size());
    }
    for (std::size_t i = 0; i < results.size(); ++i)
        expect_spec(args.op.name, fmt::format("result {} of the branches", i), results[i],
                    others[i]);
    return results;
}

std::vector<TensorSpec> while_results(const InferArgs& args) {
    const Program& test = args.attrs.program(WhileAttr::test);
    const Program& body = args.attrs.program(WhileAttr::body);
    const std::size_t carried = counted(args, WhileAttr::carried, args.inputs.size());
    std::vector<TensorSpec> params;
    for (const TensorSpec* spec : args.inputs) params.push_back(*spec);
    expect_params(args, "the test", test, params);
    expect_params(args, "the body", body, params);
    const std::vector<TensorSpec> tested = results_of(test);
    if (tested.size() != 1) refuse_count(args, "results of the test", "1", tested.size());
    expect_spec(args.op.name, "the test", {DType::boolean, {}}, tested[0]);
    const std::vector<TensorSpec> results = results_of(body);
    expect_carried(args, results, args.inputs.subspan(0, carried));
    if (results.size() != carried) {
        refuse_count(args, "results of the body", fmt::format("{}", carried), results.size());
    }
    return results;
}

std::vector<OpDef> control() {
    const std::string doubles =
        "program(i: i64[], x: f32[3]) {\n  %0 = add(x, x) : f32[3]\n  return %0\n}\n";
    const std::string stacks =
        "program(i: i64[], x: f32[3], s: f32[3], c: f32[3]) {\n  %0 = mul(x, c) : f32[3]\n"
        "  %1 = add(%0, s) : f32[3]\n  return %1, %0\n}\n";
    const std::string negates = "program(x: f32[2]) {\n  %0 = neg(x) : f32[2]\n  return %0\n}\n";
    const std::string squares = "program(x: f32[2]) {\n  %0 = mul(x, x) : f32[2]\n  return %0\n}\n";
    // From any number on, and from none, it ends.
    const std::string is_small =
        "program(x: f32[2]) {\n  %0 = constant() value=50.0 : f32[2]\n"
        "  %1 = lt(x, %0) : bool[2]\n"
        "  %2 = any(%1) axes=[0] keepdims=false : bool[]\n  return %2\n}\n";
    const std::string grows =
        "program(x: f32[2]) {\n  %0 = constant() value=1.0 : f32[2]\n  %1 = abs(x) : f32[2]\n"
        "  %2 = add(%1, %1) : f32[2]\n  %3 = add(%2, %0) : f32[2]\n  return %3\n}\n";
    const auto loops = [](const std::string& body, std::int64_t scanned, std::int64_t trips,
                          bool reverse) {
        return std::vector<Attribute>{body, std::int64_t{1}, scanned, trips, reverse};
    };
    return {
        {
            .name = "argument",
            .doc = "What the body of a loop or condition is handed, while the body is recorded.",
            .edge = "It has no value; evaluating it is an execution error.",
            .min_inputs = 0,
            .max_inputs = 0,
            .traits = Trait::shaped,
            .attrs = {{"number", AttrKind::integer}},
            .infer = infer_argument,
            .evaluate = evaluate_argument,
        },
        {
            .name = "loop",
            .doc = "A body that runs a number of times: values are carried from step to step, "
                   "others are scanned along their first axis, and further results are stacked.",
            .edge = "No trips: what is carried comes out as it went in, and stacks are empty. A "
                    "negative number of trips counts as 0.",
            .min_inputs = 0,
            .max_inputs = -1,
            .traits = Trait::keep_if_held,
            .attrs = {{"body", AttrKind::program},
                      {"carried", AttrKind::integer},
                      {"scanned", AttrKind::integer},
                      {"trips", AttrKind::integer},
                      {"reverse", AttrKind::boolean}},
            .infer = infer_loop,
            .results = loop_results,
            .evaluate = evaluate_control,
            .gradient = loop_gradient,
            .cases = {{{{3}}, loops(doubles, 0, 4, false), {}, {f32}},
                      {{{3}, {5, 3}, {3}}, loops(stacks, 1, 5, false), {}, {f32, f32, f32}},
                      {{{3}, {5, 3}, {3}}, loops(stacks, 1, 5, true), {}, {f32, f32, f32}},
                      {{{3}, {0, 3}, {3}}, loops(stacks, 1, 0, false), {}, {f32, f32, f32}}},
        },
        {
            .name = "cond",
            .doc = "One of two bodies, by a condition; the other is not run.",
            .edge = "Both bodies take the same operands and give results of the same types.",
            .max_inputs = -1,
            .traits = Trait::keep_if_held,
            .attrs = {{"then", AttrKind::program}, {"otherwise", AttrKind::program}},
            .infer = infer_cond,
            .results = cond_results,
            .evaluate = evaluate_control,
            .gradient = cond_gradient,
            .cases = {{{{}, {2}}, {negates, squares}, {}, {DType::boolean, f32}}},
        },
        {
            .name = "while_loop",
            .doc = "A body that runs as long as a test of what it carries holds.",
            .edge = "A test that never fails runs for ever.",
            .min_inputs = 1,
            .max_inputs = -1,
            .traits = Trait::keep_if_held,
            .attrs = {{"test", AttrKind::program},
                      {"body", AttrKind::program},
                      {"carried", AttrKind::integer}},
            .infer = infer_while,
            .results = while_results,
            .evaluate = evaluate_control,
            .gradient = while_gradient,
            .cases = {{{{2}}, {is_small, grows, std::int64_t{1}}, {}, {f32}}},
        },
    };
}

}  // namespace lazuli::ops
