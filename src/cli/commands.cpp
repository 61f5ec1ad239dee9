#include "cli/commands.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "backend/cpu/compiler.h"
#include "base/env.h"
#include "lazuli/lazuli.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "plan/explain.h"
#include "plan/steps.h"

namespace lazuli::cli {

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in || std::filesystem::is_directory(path)) throw FileError(path, "cannot be read");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

int guarded(const char* program, const std::function<int()>& body) {
    try {
        return body();
    } catch (const Error& e) {
        fmt::print(stderr, "{}: {}\n", program, e.what());
        return 1;
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}: {}\n", program, e.what());
        return 3;
    }
}

Program read_program(const std::string& path) {
    const std::string content = read_file(path);
    try {
        if (content.starts_with("LZIR")) return Program::from_bytes(content);
        const std::size_t first = content.find_first_not_of(" \t\r\n");
        if (first != std::string::npos && content[first] == '{') return Program::from_json(content);
        return Program::parse(content);
    } catch (const Error& e) {
        throw FileError(path, e.what());
    }
}

// ---- sizes that vary

namespace {

/// `b=8,t=100` taken apart.
void add_bindings(std::string_view text, std::vector<SizeBinding>& out) {
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view one = text.substr(0, comma);
        const std::size_t equals = one.find('=');
        std::int64_t value = 0;
        const std::string_view number =
            equals == std::string_view::npos ? "" : one.substr(equals + 1);
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), value);
        if (equals == 0 || error != std::errc{} || end != number.data() + number.size())
            throw ArgumentError(fmt::format("--bind {}: NAME=SIZE expected", one));
        out.emplace_back(one.substr(0, equals), value);
        if (comma == std::string_view::npos) return;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

Program bound(const Program& program, std::span<const std::string> bind,
              std::span<const SizeBinding> found) {
    std::vector<SizeBinding> values;
    for (const std::string& text : bind) add_bindings(text, values);
    const std::vector<Dim> variables = program.variables();
    std::set<std::string> given;
    for (const auto& [name, value] : values) {
        if (!given.insert(name).second)
            throw ArgumentError(fmt::format("--bind {}={}: it has a value already", name, value));
    }
    for (const SizeBinding& one : found) {
        if (given.insert(one.first).second) values.push_back(one);
    }
    std::string all;
    std::string missing;
    for (const Dim variable : variables) {
        const Bounds bounds = variable.bounds();
        const std::string text =
            fmt::format("{} ({} to {})", variable.str(), bounds.low, bounds.high);
        all += (all.empty() ? "" : ", ") + text;
        if (given.erase(variable.str()) == 0) missing += (missing.empty() ? "" : ", ") + text;
    }
    if (!given.empty())
        throw ArgumentError(fmt::format("--bind {}: the program has no such variable (it has: {})",
                                        *given.begin(), all.empty() ? "none" : all));
    if (!missing.empty())
        throw ArgumentError(
            fmt::format("the program's sizes vary: --bind NAME=SIZE is needed for {}", missing));
    return variables.empty() ? program : program.instantiate(values);
}

// ---- run

namespace {

std::pair<std::string, std::string> split_assignment(const std::string& text, const char* option) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw ArgumentError(fmt::format("{} {}: NAME=FILE expected", option, text));
    return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The value of a parameter, and the file it is from.
struct Operand {
    std::string file;
    Tensor value;
};

[[noreturn]] void fail_operand(const Operand& operand, const Param& param) {
    const std::string is = operand.value.spec().str();
    throw ShapeError(fmt::format("{}: is {}, the parameter {} is {}", operand.file, is, param.name,
                                 param.spec.str()),
                     param.spec.str(), is);
}

/// What the sizes of operands say of a program's variables; each by the first that says it.
std::vector<SizeBinding> sizes_in(const Program& program,
                                  const std::map<std::string, Operand>& operands) {
    std::vector<SizeBinding> out;
    for (const Param& param : program.params()) {
        const auto operand = operands.find(param.name);
        if (operand == operands.end()) continue;
        const Shape& shape = operand->second.value.shape();
        if (shape.rank() != param.spec.shape.rank()) fail_operand(operand->second, param);
        for (int d = 0; d < param.spec.shape.rank(); ++d) {
            const Dim size = param.spec.shape.dim(d);
            if (!size.is_concrete() && !size.expr().name().empty())
                out.emplace_back(size.str(), shape[d]);
        }
    }
    return out;
}

std::string names_of(const auto& list) {
    std::string out;
    for (const auto& item : list) out += (out.empty() ? "" : ", ") + item.name;
    return out.empty() ? "none" : out;
}

}  // namespace

void explain(const ExplainOptions& options) {
    const Program program = bound(read_program(options.file), options.bind);
    const plan::Steps steps = plan::make_steps(plan::expand(program, {}));
    fmt::print("{}", plan::explain(steps, options.kernels));
    if (!options.assembly) return;
    std::set<const codegen::Kernel*> shown;
    for (const plan::Step& step : steps.all) {
        if (step.kernel != nullptr && shown.insert(step.kernel.get()).second)
            fmt::print("\n{}\n{}", step.kernel->str(), cpu::assembly_of(*step.kernel));
    }
}

void run(const RunOptions& options) {
    set_default_device(options.backend.empty() ? default_device() : Device(options.backend));
    const Program stated = read_program(options.file);
    std::map<std::string, Operand> operands;
    for (const std::string& input : options.inputs) {
        const auto [name, path] = split_assignment(input, "--input");
        bool known = false;
        for (const Param& param : stated.params()) known = known || param.name == name;
        if (!known)
            throw ArgumentError(
                fmt::format("--input {}: the program has no parameter '{}' (it has: {})", input,
                            name, names_of(stated.params())));
        operands[name] = {path, load_npy(path)};
    }
    const Program program = bound(stated, options.bind, sizes_in(stated, operands));
    std::vector<Tensor> params;
    for (const Param& param : program.params()) {
        const auto operand = operands.find(param.name);
        if (operand == operands.end())
            throw ArgumentError(fmt::format("the parameter {}: {} needs --input {}=FILE.npy",
                                            param.name, param.spec.str(), param.name));
        const Tensor& value = operand->second.value;
        if (!(value.spec() == param.spec)) fail_operand(operand->second, param);
        params.push_back(value);
    }
    const std::vector<Tensor> results = record(program, params);
    eval(std::span<const Tensor>(results));
    for (const std::string& output : options.outputs) {
        const auto [name, path] = split_assignment(output, "--output");
        bool written = false;
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (program.results()[i].name != name) continue;
            save_npy(path, results[i]);
            written = true;
        }
        if (!written)
            throw ArgumentError(
                fmt::format("--output {}: the program has no result '{}' (it has: {})", output,
                            name, names_of(program.results())));
    }
    if (options.print || options.outputs.empty()) {
        for (std::size_t i = 0; i < results.size(); ++i) {
            fmt::print("{}: {}\n{}\n", program.results()[i].name, results[i].spec().str(),
                       results[i].str({.eval = true}));
        }
    }
}

void list_ops() {
    for (int i = 0; i < op_count(); ++i) {
        const OpDef& def = op_def(static_cast<OpId>(i));
        fmt::print("{:16} {}\n", def.name, def.doc);
    }
}

void list_environment() {
    for (const env::VarInfo& info : env::all()) {
        const std::string now = env::text(info.var);
        fmt::print("{} = {}{}\n    {}\n", info.name, now.empty() ? "(empty)" : now,
                   now == info.fallback ? "" : " (set)", info.doc);
    }
}

void list_devices() {
    for (const Device device : devices()) {
        fmt::print("{:16} {}{}\n", device.name(), backend_of(device).describe().description,
                   device == default_device() ? " (default)" : "");
    }
}

}  // namespace lazuli::cli
