#pragma once

// The subcommands of `lazuli`. Each adds itself to the parser; its callback returns by way of the exit code.

#include <CLI/CLI.hpp>
#include <string>

namespace lazuli::cli {

void add_run(CLI::App& app);
void add_ops(CLI::App& app);
void add_env(CLI::App& app);
void add_devices(CLI::App& app);
void add_demo(CLI::App& app);

/// A file's whole content; FileError where it cannot be read.
std::string read_file(const std::string& path);

/// docs/ops.md: the op table as a page.
std::string ops_markdown();
/// The op table for programs: names, attributes, types, samples, cases.
std::string ops_json();

/// Runs `body`; errors are printed in one line and become exit code 1, internal ones 3.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace lazuli::cli
