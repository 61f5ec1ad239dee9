#include "plan/steps.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/env.h"
#include "codegen/collapse.h"
#include "codegen/lower.h"
#include "codegen/spell.h"
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

}  // namespace

Steps make_steps(const Program& program) {
    static const bool verify = env::flag(env::Var::verify);
    Steps out;
    optimize::OptimizeOptions options = optimize::current_options();
    if (keeps_passes()) {
        options.observe = [&, also = options.observe](const optimize::PassReport& report,
                                                      const Program& before, const Program& after) {
            if (also) also(report, before, after);
            if (report.rewrites > 0)
                out.passes.push_back({std::string(report.name), report.rewrites,
                                      report.microseconds, report.rules, before, after});
        };
    }
    out.program = optimize::optimize(program, options);
    // Layers of a model are the same code over other buffers: kernels are named and told apart by
    // what they do.
    std::unordered_map<std::string, std::shared_ptr<const codegen::Kernel>> known;
    for (Grouped& grouped : group(out.program)) {
        Step step;
        step.outputs = grouped.group.outputs;
        step.text = group_text(out.program, grouped.group);
        step.why = std::move(grouped.why);
        if (grouped.opaque) {
            const Operation operation = out.program.operation(step.outputs[0].index());
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                step.buffers.push_back(operation.input(k));
            step.buffers.push_back(step.outputs[0]);
        } else {
            codegen::Lowered lowered = make_kernel(out.program, grouped.group, "kernel");
            step.buffers = std::move(lowered.buffers);
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
    plan_memory(out);
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        if (operation.def().move == nullptr) out.memory.unplanned += operation.spec().nbytes();
    }
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
        if (step.kernel != nullptr && step.kernel.get() != before)
            total += count_statements(step.kernel->body) * 2 * sizeof(codegen::Statement);
        before = step.kernel.get();
    }
    return total;
}

}  // namespace lazuli::plan
