// lazuli-opt: reads a program, runs passes on it, prints it. With --check or --update it works on
// golden files. The options are few; parsing them by hand saves half a minute of compiling.

#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "cli/commands.h"
#include "cli/golden.h"
#include "lazuli/error.h"

namespace {

using namespace lazuli::cli;

constexpr std::string_view kHelp =
    "lazuli-opt: read a program, run passes on it, print it\n"
    "Usage: lazuli-opt [--pass=NAME]... [--bind=NAME=SIZE]... [--fuel=N] "
    "[--format=text|json|hash] [FILE]...\n"
    "       lazuli-opt --check FILE...    run golden tests and compare\n"
    "       lazuli-opt --update FILE...   run golden tests and write down what they print\n"
    "Options may also be written as two words: --fuel N. Without a file it reads standard input. "
    "Passes: expand, canonicalize, fold, algebra,\n"
    "merge_equal, merge_loops, open_anew, and optimize for all but the first; --fuel bounds the "
    "rewrites each may make; "
    "--bind\n"
    "puts numbers in the places of sizes that vary, before the passes run\n";

int run_golden_files(const std::vector<std::string>& files, bool update) {
    int failures = 0;
    for (const std::string& file : files) {
        const std::string difference = run_golden(file, update);
        if (difference.empty()) continue;
        fmt::print("{}\n", difference);
        ++failures;
    }
    fmt::print("{} golden files, {} failed\n", files.size(), failures);
    return failures == 0 ? 0 : 1;
}

int run_files(const std::vector<std::string>& files, const OptOptions& options) {
    int failures = 0;
    for (const std::string& file : files) {
        const std::string text = file == "-"
                                     ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                     : read_file(file);
        const std::string printed = run_opt(text, options);
        fmt::print("{}", printed);
        if (printed.starts_with("error: ")) ++failures;
    }
    return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return guarded("lazuli-opt", [&] {
        OptOptions options;
        std::vector<std::string> files;
        bool check = false;
        bool update = false;
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            if (word == "--help" || word == "-h") {
                fmt::print("{}", kHelp);
                return 0;
            }
            if (word == "--check") {
                check = true;
            } else if (word == "--update") {
                update = true;
            } else if ((word == "--fuel" || word == "--pass" || word == "--format" ||
                        word == "--bind") &&
                       i + 1 < argc) {
                options.add(fmt::format("{}={}", word, argv[++i]));
            } else if (word.starts_with("--")) {
                options.add(word);
            } else {
                files.emplace_back(word);
            }
        }
        if (check || update) return run_golden_files(files, update);
        if (files.empty()) files.emplace_back("-");
        return run_files(files, options);
    });
}
