#include "plan/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/group.h"

namespace lazuli::plan {

std::string bytes_text(std::int64_t bytes) {
    if (bytes < 10'000) return fmt::format("{} B", bytes);
    if (bytes < 10'000'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
    if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

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

std::string explain(const Program& program, bool kernels) {
    const std::vector<Grouped> groups = group(program);
    struct Row {
        std::string name, read, written, what;
    };
    std::vector<Row> rows{{"kernel", "reads", "writes", "operations"}};
    std::string code;
    std::string stored;
    std::int64_t read = 0;
    std::int64_t written = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& [group, opaque, why] = groups[i];
        const std::string name = fmt::format("k{}", i);
        std::int64_t in = 0;
        std::int64_t out = 0;
        if (opaque) {
            const Operation operation = program.operation(group.operations[0]);
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                in += program.spec(operation.input(k)).nbytes();
            out = operation.spec().nbytes();
        } else {
            const codegen::Lowered lowered = codegen::lower(program, group, name);
            for (std::size_t k = 0; k < lowered.buffers.size(); ++k) {
                (lowered.kernel.buffers[k].written ? out : in) +=
                    program.spec(lowered.buffers[k]).nbytes();
            }
            code += "\n" + lowered.kernel.str();
        }
        read += in;
        written += out;
        rows.push_back({name, bytes_text(in), bytes_text(out), group_text(program, group)});
        if (why != "result")
            stored += fmt::format("{} ends at %{}: {}\n", name, group.outputs[0].index(), why);
    }
    std::string out = fmt::format("{} operations in {} kernel{}; {} read, {} written\n",
                                  program.size(), groups.size(), groups.size() == 1 ? "" : "s",
                                  bytes_text(read), bytes_text(written));
    std::size_t widths[3] = {0, 0, 0};
    for (const Row& row : rows) {
        widths[0] = std::max(widths[0], row.name.size());
        widths[1] = std::max(widths[1], row.read.size());
        widths[2] = std::max(widths[2], row.written.size());
    }
    for (const Row& row : rows)
        out += fmt::format("  {:<{}}  {:>{}}  {:>{}}  {}\n", row.name, widths[0], row.read,
                           widths[1], row.written, widths[2], row.what);
    out += stored;
    return kernels ? out + code : out;
}

}  // namespace lazuli::plan
