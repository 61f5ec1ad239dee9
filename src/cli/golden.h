#pragma once

// Golden tests: a file holds a `// RUN: lazuli-opt ...` line, a program, a line `// ----`, and what
// the run prints.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lazuli::cli {

/// What lazuli-opt prints for this text under these options.
struct OptOptions {
    std::vector<std::string> passes;
    std::vector<std::string> bind;  // NAME=SIZE; none: sizes that vary stay
    std::string format = "text";
    std::int64_t fuel = INT64_MAX;  // rewrites that a pass may make

    /// Takes `--pass=NAME`, `--bind=NAME=SIZE`, `--format=NAME` or `--fuel=N`; ArgumentError for
    /// anything else.
    void add(std::string_view word);
};
std::string run_opt(const std::string& text, const OptOptions& options);

/// Runs one golden file; with `update`, rewrites its expectation. Returns a description of the
/// difference, or nothing.
std::string run_golden(const std::string& path, bool update);

}  // namespace lazuli::cli
