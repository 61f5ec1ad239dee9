#include "plan/steps.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/env.h"
#include "codegen/collapse.h"
#include "codegen/lower.h"
#include "codegen/spell.h"
#include "optimize/pipeline.h"
#include "plan/explain.h"
#include "plan/group.h"

namespace lazuli::plan {

namespace {

std::size_t count_statements(const codegen::Block& block) {
    std::size_t count = block.size();
    for (const codegen::Statement& s : block) count += count_statements(s.body);
    return count;
}

/// Marks each value at the step that reads it last; results of the program never die.
void find_dying(Steps& steps) {
    const Program& program = steps.program;
    std::vector<std::size_t> last(program.size(), 0);
    std::vector<bool> kept(program.size(), false);
    for (std::size_t i = 0; i < steps.all.size(); ++i) {
        for (const ValueRef v : steps.all[i].buffers) {
            if (!v.is_param()) last[v.index()] = i;
        }
    }
    for (const ProgramResult& result : program.results()) {
        if (!result.value.is_param()) kept[result.value.index()] = true;
    }
    for (const Step& step : steps.all) {
        for (const ValueRef output : step.outputs) {
            if (!kept[output.index()])
                steps.all[last[output.index()]].dying.push_back(
                    static_cast<std::uint32_t>(output.index()));
        }
    }
}

}  // namespace

Steps make_steps(const Program& program) {
    static const bool verify = env::flag(env::Var::verify);
    Steps out;
    out.program = optimize::optimize(program, optimize::current_options());
    // Layers of a model are the same code over other buffers: kernels are named and told apart by
    // what they do.
    std::unordered_map<std::string, std::shared_ptr<const codegen::Kernel>> known;
    for (Grouped& grouped : group(out.program)) {
        Step step;
        step.outputs = grouped.group.outputs;
        step.text = group_text(out.program, grouped.group);
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
    find_dying(out);
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

std::vector<std::string> Steps::lines() const {
    std::vector<std::string> out;
    for (const Step& step : all) {
        std::int64_t read = 0;
        std::int64_t written = 0;
        for (std::size_t k = 0; k < step.buffers.size(); ++k) {
            const bool writes = step.kernel != nullptr ? step.kernel->buffers[k].written
                                                       : k + 1 == step.buffers.size();
            (writes ? written : read) += program.spec(step.buffers[k]).nbytes();
        }
        out.push_back(fmt::format("{}: {} read, {} written: {}",
                                  step.kernel != nullptr ? step.kernel->name : "own code",
                                  bytes_text(read), bytes_text(written), step.text));
    }
    return out;
}

}  // namespace lazuli::plan
