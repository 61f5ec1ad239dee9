#include "plan/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/env.h"
#include "codegen/collapse.h"
#include "codegen/lower.h"
#include "codegen/spell.h"
#include "lazuli/error.h"
#include "optimize/pipeline.h"
#include "plan/describe.h"
#include "plan/explain.h"
#include "plan/group.h"
#include "plan/memory.h"

namespace lazuli::plan {

namespace {

std::size_t count_statements(const codegen::Block& block) {
    std::size_t count = block.size();
    for (const codegen::Statement& s : block) count += count_statements(s.body);
    return count;
}

/// Optimises a program, and keeps what the passes did where somebody wants to see it.
Program optimized(const Program& program, std::vector<PassInfo>& passes) {
    optimize::OptimizeOptions options = optimize::current_options();
    if (keeps_passes()) {
        options.observe = [&, also = options.observe](const optimize::PassReport& report,
                                                      const Program& before, const Program& after) {
            if (also) also(report, before, after);
            if (report.rewrites > 0)
                passes.push_back({std::string(report.name), report.rewrites, report.microseconds,
                                  report.rules, before, after});
        };
    }
    return optimize::optimize(program, options);
}

/// The steps of a program, grouped as its `instance`, which may have numbers for its sizes, asks
/// for; `conditions` are those of the kernels.
void add_steps(Steps& out, const Program& program, const Program& instance,
               codegen::SizeTable& conditions) {
    static const bool verify = env::flag(env::Var::verify);
    // Layers of a model are the same code over other buffers: kernels are named and told apart by
    // what they do.
    std::unordered_map<std::string, std::shared_ptr<const codegen::Kernel>> known;
    for (Grouped& grouped : group(instance)) {
        Step step;
        step.outputs = grouped.group.outputs;
        step.text = group_text(program, grouped.group);
        step.why = std::move(grouped.why);
        if (grouped.opaque) {
            const Operation operation = program.operation(step.outputs[0].index());
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                step.buffers.push_back(operation.input(k));
            step.buffers.push_back(step.outputs[0]);
        } else {
            codegen::Lowered lowered = make_kernel(program, grouped.group, "kernel");
            step.buffers = std::move(lowered.buffers);
            for (const Expr& condition : lowered.conditions) (void)conditions.add(condition);
            auto& shared = known[lowered.kernel.str()];
            if (shared == nullptr) {
                if (verify) lowered.kernel.verify();
                lowered.kernel.name = fmt::format("k{}", known.size() - 1);
                shared = std::make_shared<const codegen::Kernel>(std::move(lowered.kernel));
            }
            step.kernel = shared;
        }
        step.group = std::move(grouped.group);
        out.all.push_back(std::move(step));
    }
    out.kernels = known.size();
}

/// What a buffer for every operation that is no movement would take.
std::int64_t unplanned_bytes(const Program& program) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        if (operation.def().move == nullptr) bytes += operation.spec().nbytes();
    }
    return bytes;
}

}  // namespace

Steps make_steps(const Program& program) {
    Steps out;
    out.program = optimized(program, out.passes);
    codegen::SizeTable none({});
    add_steps(out, out.program, out.program, none);
    plan_memory(out);
    out.memory.unplanned = unplanned_bytes(program);
    return out;
}

namespace {

/// A value for each variable to decide by: within its bounds, and no other's where that is
/// possible. What holds of these numbers alone must not matter; that it does not is checked.
std::vector<SizeBinding> values_to_decide_by(std::span<const Dim> variables) {
    constexpr std::int64_t kPrimes[] = {67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113};
    std::vector<SizeBinding> out;
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const Bounds bounds = variables[i].bounds();
        out.emplace_back(variables[i].str(),
                         std::clamp(kPrimes[i % std::size(kPrimes)], bounds.low, bounds.high));
    }
    return out;
}

/// Kernels have one shape; two that are equal at some sizes are not one.
void ensure_one_shape(const Program& program, const codegen::Group& group) {
    const Shape first = program.spec(group.outputs[0]).shape;
    for (const ValueRef output : group.outputs) {
        const Shape shape = program.spec(output).shape;
        if (!(shape == first))
            throw ShapeError(
                fmt::format("{} and {} are stored by one kernel, and need not be equal",
                            first.str(), shape.str()),
                first.str(), shape.str());
    }
}

/// Counters of kernels have names too.
bool is_counter(std::string_view name) {
    return name.size() > 1 && std::string_view("ircg").find(name[0]) != std::string_view::npos &&
           name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

OpenSteps make_open_steps(const Program& program) {
    std::vector<PassInfo> passes;
    const Program simple = optimized(program, passes);
    const std::vector<Dim> variables = simple.variables();
    std::vector<Expr> exprs;
    std::vector<std::string> names;
    for (const Dim variable : variables) {
        names.push_back(variable.str());
        if (is_counter(names.back()) || variable.bounds().low < 1) {
            throw ShapeError(fmt::format("no kernel has the size {}, {}", names.back(),
                                         is_counter(names.back()) ? "which is a counter's name"
                                                                  : "which may be 0"),
                             "sizes of at least 1", names.back());
        }
        exprs.push_back(variable.expr());
    }
    OpenSteps out{simple, {}, std::move(names), codegen::SizeTable(exprs)};
    out.pattern.passes = std::move(passes);
    const std::vector<SizeBinding> values = values_to_decide_by(variables);
    out.pattern.program = out.program.instantiate(values);
    for (const SizeBinding& value : values) out.pattern.sizes.push_back(value.second);
    add_steps(out.pattern, out.program, out.pattern.program, out.conditions);
    for (const Step& step : out.pattern.all) {
        if (step.kernel != nullptr) ensure_one_shape(out.program, step.group);
    }
    plan_memory(out.pattern, out.program);
    return out;
}

std::optional<Steps> bind_steps(const OpenSteps& open, std::span<const SizeBinding> values) {
    Steps out;
    std::vector<SizeBinding> own;
    for (const std::string& name : open.variables) {
        const auto at = std::ranges::find(values, name, &SizeBinding::first);
        if (at == values.end()) throw ArgumentError(fmt::format("the size {} has no value", name));
        own.push_back(*at);
        out.sizes.push_back(at->second);
    }
    if (!open.conditions.all_hold(out.sizes)) return std::nullopt;
    out.program = open.program.instantiate(own);
    out.all = open.pattern.all;
    out.kernels = open.pattern.kernels;
    out.passes = open.pattern.passes;
    pack_memory(out);
    out.memory.recorded_peak = out.memory.bound;
    out.memory.unplanned = unplanned_bytes(out.program);
    return out;
}

codegen::Lowered make_kernel(const Program& program, const codegen::Group& group,
                             std::string name) {
    codegen::Lowered out = codegen::lower(program, group, std::move(name));
    codegen::collapse_loops(out.kernel);
    codegen::spell_out(out.kernel);
    return out;
}

std::size_t Steps::bytes() const {
    std::size_t total = program.words().size() * sizeof(std::uint64_t);
    const codegen::Kernel* before = nullptr;
    for (const Step& step : all) {
        total += sizeof(Step) + step.text.size() +
                 (step.buffers.size() + step.outputs.size()) * sizeof(ValueRef);
        // A statement has a few small lists and expressions of its own.
        // Kernels with variables are shared by all sizes.
        if (step.kernel != nullptr && step.kernel.get() != before && sizes.empty())
            total += count_statements(step.kernel->body) * 2 * sizeof(codegen::Statement);
        before = step.kernel.get();
    }
    return total;
}

}  // namespace lazuli::plan
