#include "plan/explain.h"

#include <fmt/format.h>

#include "plan/group.h"

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

Explanation explanation(const Program& program, std::string* code) {
    Explanation out;
    out.operations = static_cast<std::int64_t>(program.size());
    const std::vector<Grouped> groups = group(program);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& [group, opaque, why] = groups[i];
        KernelExplanation kernel{.name = fmt::format("k{}", i),
                                 .operations = group_text(program, group)};
        if (opaque) {
            const Operation operation = program.operation(group.operations[0]);
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                kernel.bytes_read += program.spec(operation.input(k)).nbytes();
            kernel.bytes_written = operation.spec().nbytes();
        } else {
            const codegen::Lowered lowered = codegen::lower(program, group, kernel.name);
            for (std::size_t k = 0; k < lowered.buffers.size(); ++k) {
                (lowered.kernel.buffers[k].written ? kernel.bytes_written : kernel.bytes_read) +=
                    program.spec(lowered.buffers[k]).nbytes();
            }
            if (code != nullptr) *code += "\n" + lowered.kernel.str();
        }
        if (why != "result")
            kernel.ends = fmt::format("ends at %{}: {}", group.outputs[0].index(), why);
        out.bytes_read += kernel.bytes_read;
        out.bytes_written += kernel.bytes_written;
        out.kernels.push_back(std::move(kernel));
    }
    return out;
}

std::string explain(const Program& program, bool kernels) {
    std::string code;
    const std::string table = explanation(program, kernels ? &code : nullptr).str();
    return table + code;
}

}  // namespace lazuli::plan
