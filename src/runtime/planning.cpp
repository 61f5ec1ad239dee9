#include "runtime/planning.h"

#include <fmt/format.h>

#include <chrono>

#include "base/env.h"
#include "frontend/policy.h"
#include "lazuli/error.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "runtime/benchmark.h"
#include "runtime/control.h"
#include "runtime/families.h"
#include "runtime/specialise.h"

namespace lazuli::runtime {

namespace {

plan::Cache& plan_cache() {
    static plan::Cache& cache =
        *new plan::Cache(static_cast<std::size_t>(env::integer(env::Var::plan_cache_bytes)));
    return cache;
}

std::string list_of(std::span<const TensorSpec> specs) {
    std::string out;
    for (const TensorSpec& spec : specs) out += (out.empty() ? "" : ", ") + spec.str();
    return out;
}

}  // namespace

plan::Context context_of(Device device) {
    return {device, frontend::policy_set(), optimize::switches_key()};
}

plan::ExpandOptions expand_options(Backend& backend) {
    plan::ExpandOptions options;
    options.keeps = [&](const OpDef& op, std::span<const TensorSpec> inputs,
                        const TensorSpec& result) { return backend.supports(op, inputs, result); };
    options.fastest = [&](OpId op, const InferArgs& args, std::span<const std::size_t> candidates,
                          std::size_t cache) {
        return fastest_implementation(backend, op, args, candidates, cache);
    };
    return options;
}

std::string_view reason(Miss why) {
    switch (why) {
        case Miss::new_op: return "these operations were not planned before";
        case Miss::shape: return "another shape";
        case Miss::dtype: return "another type";
        case Miss::layout: return "another layout";
        case Miss::device: return "another device";
        case Miss::policy: return "another policy, or other passes";
        case Miss::evicted: return "its plan was dropped";
    }
    __builtin_unreachable();
}

std::string_view why_not_found(const Finding& finding) {
    if (finding.is_bound) return "bound to these sizes";
    return finding.found ? "" : reason(finding.why);
}

std::shared_ptr<plan::Plan> make_plan(const Program& program, Device device) {
    for (const Dim size : program.variables()) {
        throw ExecutionError("placeholder",
                             fmt::format("the size {} has no value: what stands on placeholders is "
                                         "computed by a function that was compiled",
                                         size.str()));
    }
    Backend& backend = backend_of(device);
    auto made = std::make_shared<plan::Plan>();
    made->program = program;
    made->device = device;
    made->expanded = plan::expand(program, expand_options(backend));
    std::vector<TensorSpec> inputs;
    for (std::size_t i = 0; i < made->expanded.size(); ++i) {
        const Operation operation = made->expanded.operation(i);
        inputs.clear();
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(made->expanded.spec(operation.input(k)));
        if (is_control(operation.def())) plan_bodies(operation, device);
        if (backend.supports(operation.def(), inputs, operation.spec())) continue;
        if (device == Device())
            throw InternalError(
                fmt::format("the reference backend lacks {}", operation.def().name));
        if (env::flag(env::Var::strict)) {
            throw DeviceError(fmt::format(
                "{}: the backend {} does not take {} -> {}, and LAZULI_STRICT is set",
                operation.def().name, backend.name(), list_of(inputs), operation.spec().str()));
        }
        made->device = Device();
        made->expanded =
            plan::expand(program, {});  // the reference backend runs every core op and no composite
        break;
    }
    Backend& runs = backend_of(made->device);
    made->prepared = runs.prepare(made->expanded);
    made->prepared_bytes = runs.prepared_bytes(made->prepared.get());
    made->launches = runs.info(made->prepared.get(), false).kernels.size();
    if (made->launches == 0) made->launches = made->expanded.size();
    return made;
}

std::shared_ptr<const plan::Plan> find_plan(const ir::Capture& captured, Device device,
                                            Finding& finding) {
    const plan::Context context = context_of(device);
    auto [found, why] = plan_cache().find(captured, context);
    finding.found = found != nullptr;
    finding.why = why;
    if (found != nullptr) {
        std::shared_ptr<const plan::Plan> runs = to_run(found);
        if (runs != found) plan_cache().replace(captured, context, runs);
        return runs;
    }
    const auto start = std::chrono::steady_clock::now();
    std::shared_ptr<plan::Plan> made = general_plan(captured, context);
    finding.found = finding.is_bound = made != nullptr;
    if (finding.is_bound) {
        plan_cache().count_served(why);
        count_uses(*made, context);
    } else {
        made = make_plan(captured.program(), device);
    }
    made->hash = captured.hash;
    plan_cache().insert(captured, context, made);
    finding.microseconds =
        1e6 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (is_watching()) report_plan(*made);
    return made;
}

plan::Cache::Found peek_plan(const ir::Capture& captured, Device device) {
    plan::Cache::Found out = plan_cache().peek(captured, context_of(device));
    if (out.plan == nullptr) out.plan = peek_general_plan(captured, context_of(device));
    return out;
}

CacheStats plan_cache_stats() { return plan_cache().stats(); }
void clear_plans() {
    plan_cache().clear();
    clear_families();
}

}  // namespace lazuli::runtime
