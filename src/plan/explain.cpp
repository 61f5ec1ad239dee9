#include "plan/explain.h"

#include <fmt/format.h>

namespace lazuli::plan {

namespace {

/// The ops of a group in order, equal neighbours counted.
std::string operations_text(const Program& program, const codegen::Group& group) {
    std::string out;
    for (std::size_t i = 0; i < group.operations.size();) {
        const std::string_view name = program.operation(group.operations[i]).def().name;
        std::size_t n = i + 1;
        while (n < group.operations.size() &&
               program.operation(group.operations[n]).def().name == name)
            ++n;
        out += out.empty() ? "" : ", ";
        out += name;
        if (n - i > 1) out += fmt::format(" x{}", n - i);
        i = n;
    }
    return out;
}

std::string outputs_text(const Program& program, const codegen::Group& group) {
    std::string out;
    for (const ValueRef v : group.outputs)
        out += fmt::format("{}%{} {}", out.empty() ? "" : ", ", v.index(), program.spec(v).str());
    return out;
}

}  // namespace

std::string group_text(const Program& program, const codegen::Group& group) {
    return operations_text(program, group) + " -> " + outputs_text(program, group);
}

Explanation explanation(const Steps& steps, std::string* code) {
    const Program& program = steps.program;
    Explanation out;
    out.operations = static_cast<std::int64_t>(program.size());
    out.arena_bytes = steps.memory.peak;
    out.alive_bytes = steps.memory.bound;
    out.unplanned_bytes = steps.memory.unplanned;
    for (const Step& step : steps.all) {
        KernelExplanation kernel{.name = fmt::format("k{}", out.kernels.size()),
                                 .operations = step.text};
        for (std::size_t k = 0; k < step.buffers.size(); ++k) {
            (step.writes(k) ? kernel.bytes_written : kernel.bytes_read) +=
                program.spec(step.buffers[k]).nbytes();
        }
        if (code != nullptr && step.kernel != nullptr)
            *code += "\n" + codegen::lower(program, step.group, kernel.name).kernel.str();
        if (step.why != "result")
            kernel.ends = fmt::format("ends at %{}: {}", step.outputs[0].index(), step.why);
        out.bytes_read += kernel.bytes_read;
        out.bytes_written += kernel.bytes_written;
        out.kernels.push_back(std::move(kernel));
    }
    return out;
}

std::string explain(const Steps& steps, bool kernels) {
    std::string code;
    const std::string table = explanation(steps, kernels ? &code : nullptr).str();
    return table + code;
}

Explanation explanation(const PreparedInfo& info) {
    Explanation out;
    out.operations = static_cast<std::int64_t>(info.program.size());
    out.arena_bytes = info.arena_bytes;
    out.alive_bytes = info.alive_bytes;
    out.unplanned_bytes = info.unplanned_bytes;
    for (const KernelInfo& kernel : info.kernels) {
        out.kernels.push_back({.name = kernel.name,
                               .operations = kernel.operations,
                               .bytes_read = kernel.bytes_read,
                               .bytes_written = kernel.bytes_written,
                               .ends = kernel.why == "result" ? "" : kernel.why,
                               .how = kernel.how});
        out.bytes_read += kernel.bytes_read;
        out.bytes_written += kernel.bytes_written;
    }
    return out;
}

}  // namespace lazuli::plan
