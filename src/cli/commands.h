#pragma once

// The subcommands of `lazuli`.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazuli/program.h"

namespace lazuli::cli {

struct RunOptions {
    std::string file;
    std::vector<std::string> bind;     // NAME=SIZE
    std::vector<std::string> inputs;   // NAME=FILE.npy
    std::vector<std::string> outputs;  // NAME=FILE.npy
    std::string backend;               // empty: the default device
    bool print = false;
};
/// Runs a program from a file.
void run(const RunOptions& options);

struct ExplainOptions {
    std::string file;
    std::vector<std::string> bind;  // NAME=SIZE
    bool kernels = false;           // their code as well
    bool assembly = false;          // the machine code of the cpu backend as well
};
/// Prints the kernels that a program from a file becomes.
void explain(const ExplainOptions& options);

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

struct PlanMemoryOptions {
    std::string file;    // id,lower,upper,size
    std::string output;  // the same with offsets; empty: printed
    std::optional<std::int64_t> capacity;
    std::int64_t alignment = 1;
    double seconds = 5;
};
/// Gives buffers places in one piece of memory. Returns the exit code: 2 for bad input, 3 where
/// they do not fit.
int plan_memory(const PlanMemoryOptions& options);

struct ReplayOptions {
    std::string file;
    std::vector<std::string> bind;      // NAME=SIZE
    std::string inputs;                 // a folder; empty: `inputs` beside the file
    std::string backend;                // empty: the default device
    std::string against = "reference";  // the device it is compared with
    double tolerance = 1;               // times what is allowed for a type
    int times = 3;
};
/// Runs a program that a trace left behind on two devices. Returns 1 where they differ, else 0.
int replay(const ReplayOptions& options);

struct ReportOptions {
    std::string directory;
    std::string output;  // empty: report.html in it
    bool progress = false;
};
/// Writes a trace as one page.
void report(const ReportOptions& options);

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

/// A program from a file in any of its forms; FileError where it is none.
Program read_program(const std::string& path);
/// The same program with numbers for the sizes that vary, given as `NAME=SIZE` or
/// `NAME=SIZE,NAME=SIZE`. ArgumentError names what has no value, what has no variable, and what is
/// no number.
Program bound(const Program& program, std::span<const std::string> bind,
              std::span<const SizeBinding> found = {});
/// A file's whole content; FileError where it cannot be read.
std::string read_file(const std::string& path);
/// Runs `body`; errors are printed in one line and become exit code 1, internal ones 3.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace lazuli::cli
