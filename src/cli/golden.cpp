#include "cli/golden.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "lazuli/lazuli.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"

namespace lazuli::cli {

namespace {

constexpr std::string_view kRun = "// RUN: lazuli-opt";
constexpr std::string_view kSeparator = "// ----\n";

/// A pass by its name: one of the optimiser's, `optimize` for all of them in turn, or `expand`.
Program run_pass(const Program& program, const std::string& pass, std::int64_t fuel) {
    if (pass == "expand") return plan::expand(program, {});
    if (pass == "optimize") return optimize::optimize(program, {.fuel = fuel, .verify = true});
    return optimize::run_pass(pass, program, fuel);
}

OptOptions parse_run_line(const std::string& path, const std::string& line) {
    OptOptions options;
    std::istringstream words(line.substr(kRun.size()));
    try {
        for (std::string word; words >> word;) options.add(word);
    } catch (const ArgumentError& e) {
        throw FileError(path, fmt::format("the RUN line: {}", e.what()));
    }
    return options;
}

}  // namespace

void OptOptions::add(std::string_view word) {
    if (word.starts_with("--pass=")) {
        passes.emplace_back(word.substr(7));
    } else if (word.starts_with("--bind=")) {
        bind.emplace_back(word.substr(7));
    } else if (word.starts_with("--format=")) {
        format = word.substr(9);
    } else if (word.starts_with("--fuel=")) {
        const std::string_view text = word.substr(7);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fuel);
        if (error != std::errc{} || end != text.data() + text.size() || fuel < 0)
            throw ArgumentError(fmt::format("'{}': a number of rewrites is expected", word));
    } else {
        throw ArgumentError(fmt::format(
            "'{}' is none of --pass=NAME, --bind=NAME=SIZE, --format=NAME, --fuel=N", word));
    }
}

std::string run_opt(const std::string& text, const OptOptions& options) {
    try {
        Program program = Program::parse(text);
        if (!options.bind.empty()) program = bound(program, options.bind);
        for (const std::string& pass : options.passes)
            program = run_pass(program, pass, options.fuel);
        program.verify();
        if (options.format == "text") return program.str();
        if (options.format == "json") return program.json() + "\n";
        if (options.format == "hash")
            return fmt::format("{} operations, {} parameters, {} results\n", program.size(),
                               program.params().size(), program.results().size());
        throw ArgumentError(
            fmt::format("there is no format '{}' (there are: text, json, hash)", options.format));
    } catch (const Error& e) {
        return fmt::format("error: {}\n",
                           e.what());  // a refusal is an answer that golden files may expect
    }
}

std::string run_golden(const std::string& path, bool update) {
    const std::string content = read_file(path);
    const std::size_t line_end = content.find('\n');
    if (!content.starts_with(kRun) || line_end == std::string::npos)
        throw FileError(path, "has no RUN line");
    const std::size_t separator = content.find(kSeparator);
    const std::string input =
        content.substr(line_end + 1, separator == std::string::npos ? std::string::npos
                                                                    : separator - line_end - 1);
    const std::string expected =
        separator == std::string::npos ? "" : content.substr(separator + kSeparator.size());
    const std::string actual = run_opt(input, parse_run_line(path, content.substr(0, line_end)));
    if (actual == expected) return "";
    if (update) {
        std::ofstream out(path, std::ios::binary);
        out << content.substr(0, line_end + 1) << input << (input.ends_with('\n') ? "" : "\n")
            << kSeparator << actual;
        return "";
    }
    return fmt::format("{}: expected\n{}\nbut got\n{}", path, expected, actual);
}

}  // namespace lazuli::cli
