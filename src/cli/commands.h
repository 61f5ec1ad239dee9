#pragma once

// The subcommands of `lazuli`.

#include <functional>
#include <string>
#include <vector>

namespace lazuli::cli {

struct RunOptions {
    std::string file;
    std::vector<std::string> inputs;   // NAME=FILE.npy
    std::vector<std::string> outputs;  // NAME=FILE.npy
    std::string backend;               // empty: the default device
    bool print = false;
};
/// Runs a program from a file.
void run(const RunOptions& options);

/// Prints the kernels that a program from a file becomes; with `kernels`, their code, and with
/// `assembly`, the machine code of the cpu backend.
void explain(const std::string& file, bool kernels, bool assembly);

struct BenchOptions {
    std::string device = "cpu";
    std::string filter;  // a regular expression; empty: all cases
    bool list = false;   // their names alone
    bool quick = false;  // small sizes and few readings: whether it works, not how fast it is
    bool json = false;
    bool turns = false;  // names on standard input, one reading each
};
/// Measures the engine beside the limits of the machine.
void bench(const BenchOptions& options);

/// Shows one expression from recording to values.
void demo();
/// Lists the operations, the devices, the environment variables.
void list_ops();
void list_devices();
void list_environment();
/// docs/ops.md: the op table as a page.
std::string ops_markdown();
/// The op table for programs: names, attributes, types, samples, cases.
std::string ops_json();

/// A file's whole content; FileError where it cannot be read.
std::string read_file(const std::string& path);
/// Runs `body`; errors are printed in one line and become exit code 1, internal ones 3.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace lazuli::cli
