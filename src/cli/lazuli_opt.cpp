// lazuli-opt: reads a program, runs passes on it, prints it. With --check or --update it works on
// golden files.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>

#include "cli/commands.h"
#include "cli/golden.h"

int main(int argc, char** argv) {
    using namespace lazuli::cli;
    CLI::App app{"lazuli-opt: read a program, run passes on it, print it"};
    OptOptions options;
    std::vector<std::string> files;
    bool check = false;
    bool update = false;
    app.add_option("--pass", options.passes,
                   "A pass to run; may stand several times. Passes: expand");
    app.add_option("--format", options.format, "text, json or hash")->capture_default_str();
    app.add_flag("--check", check, "The files are golden tests: run each and compare");
    app.add_flag("--update", update,
                 "The files are golden tests: run each and write down what it prints");
    app.add_option("files", files,
                   "Programs (standard input where none is given), or golden tests");
    CLI11_PARSE(app, argc, argv);
    return guarded("lazuli-opt", [&] {
        int failures = 0;
        if (check || update) {
            for (const std::string& file : files) {
                const std::string difference = run_golden(file, update);
                if (difference.empty()) continue;
                fmt::print("{}\n", difference);
                ++failures;
            }
            fmt::print("{} golden files, {} failed\n", files.size(), failures);
            return failures == 0 ? 0 : 1;
        }
        if (files.empty()) files.emplace_back("-");
        for (const std::string& file : files) {
            const std::string text = file == "-"
                                         ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                         : read_file(file);
            const std::string printed = run_opt(text, options);
            fmt::print("{}", printed);
            if (printed.starts_with("error: ")) ++failures;
        }
        return failures == 0 ? 0 : 1;
    });
}
