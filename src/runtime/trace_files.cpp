// A plan as files: what a person, a report, or `lazuli replay` reads.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/io.h"
#include "runtime/planning.h"
#include "runtime/trace.h"
#include "runtime/values.h"

namespace lazuli::trace {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const KernelInfo& kernel) {
    return {{"name", kernel.name},
            {"operations", kernel.operations},
            {"how", kernel.how},
            {"why", kernel.why},
            {"reads", kernel.reads},
            {"writes", kernel.writes},
            {"members", kernel.members},
            {"bytes_read", kernel.bytes_read},
            {"bytes_written", kernel.bytes_written},
            {"flops", kernel.flops}};
}

Json json_of(const ValueInfo& value) {
    return {{"value", value.text},    {"op", value.op},       {"bytes", value.bytes},
            {"offset", value.offset}, {"first", value.first}, {"last", value.last}};
}

Json json_of(const PassInfo& pass, std::size_t number) {
    return {{"name", pass.name},
            {"rewrites", pass.rewrites},
            {"us", pass.microseconds},
            {"rules", pass.rules},
            {"before", fmt::format("passes/{}-{}.before.ir", number, pass.name)},
            {"after", fmt::format("passes/{}-{}.after.ir", number, pass.name)}};
}

}  // namespace

std::string folder_of(const plan::Plan& plan) {
    return fmt::format("{:016x}-{}", plan.hash, plan.device.name());
}

void write_file(const std::string& path, const std::string& content) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    std::ofstream out(path, std::ios::binary);
    out << content;
    out.close();
    if (!out) throw FileError(path, "cannot be written");
}

void write_plan(const std::string& folder, const plan::Plan& plan, const runtime::Finding& finding,
                const PreparedInfo& info) {
    const auto path = [&](const std::string& name) { return folder + "/" + name; };
    write_file(path("program.ir"), plan.program.str());
    write_file(path("program.json"), plan.program.json());
    write_file(path("expanded.ir"), plan.expanded.str());
    write_file(path("optimized.ir"), info.program.str());
    Json passes = Json::array();
    for (std::size_t i = 0; i < info.passes.size(); ++i) {
        const Json entry = json_of(info.passes[i], i + 1);
        write_file(path(entry["before"]), info.passes[i].before.str());
        write_file(path(entry["after"]), info.passes[i].after.str());
        passes.push_back(entry);
    }
    const PreparedInfo with_code = backend_of(plan.device).info(plan.prepared.get(), true);
    Json kernels = Json::array();
    std::set<std::string> written;
    for (const KernelInfo& kernel : with_code.kernels) {
        kernels.push_back(json_of(kernel));
        if (kernel.code.empty() || !written.insert(kernel.name).second) continue;
        write_file(path("kernels/" + kernel.name + ".kernel"), kernel.code);
        if (!kernel.assembly.empty())
            write_file(path("kernels/" + kernel.name + ".s"), kernel.assembly);
    }
    Json values = Json::array();
    for (const ValueInfo& value : info.values) values.push_back(json_of(value));
    write_file(path("plan.json"), Json{{"hash", fmt::format("{:016x}", plan.hash)},
                                       {"device", plan.device.name()},
                                       {"made", !finding.found},
                                       {"why", std::string(runtime::why_not_found(finding))},
                                       {"planning_us", finding.microseconds},
                                       {"operations", plan.expanded.size()},
                                       {"memory",
                                        {{"arena", info.arena_bytes},
                                         {"alive", info.alive_bytes},
                                         {"recorded", info.recorded_bytes},
                                         {"unplanned", info.unplanned_bytes},
                                         {"method", info.method}}},
                                       {"passes", passes},
                                       {"kernels", kernels},
                                       {"values", values}}
                                          .dump(1) +
                                      "\n");
    if (info.arena_bytes > 0) write_file(path("memory.svg"), memory_map(info));
}

void write_inputs(const std::string& folder, const Program& program,
                  std::span<const Binding> params) {
    for (std::size_t i = 0; i < params.size() && i < program.params().size(); ++i) {
        const Param& param = program.params()[i];
        const std::string path = fmt::format("{}/inputs/{}.npy", folder, param.name);
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::vector<unsigned char> bytes(static_cast<std::size_t>(param.spec.nbytes()));
        runtime::read_dense(params[i], param.spec, bytes.data());
        save_npy(path, frontend::make_data(param.spec, bytes.data()));
    }
}

}  // namespace lazuli::trace
