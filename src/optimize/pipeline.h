#pragma once

// The list of passes, and what runs them.

#include <functional>
#include <string>
#include <vector>

#include "lazuli/passes.h"
#include "lazuli/program.h"

namespace lazuli::optimize {

/// What a pass did.
struct PassReport {
    std::string_view name;
    std::int64_t rewrites = 0;
    double microseconds = 0;
    std::vector<std::string> rules = {};  // that fired: `mul_one`, `neg_neg x3`
};

struct OptimizeOptions {
    std::vector<std::string> disabled = {};  // by name
    std::int64_t fuel = INT64_MAX;           // rewrites that may be made, over all passes
    bool verify = false;                     // the program behind every pass
    /// Sees every pass as it ends, with the program before and behind it.
    std::function<void(const PassReport&, const Program& before, const Program& after)> observe =
        {};
};

/// What the process asks for: passes switched off, and what the environment says of fuel, checks
/// and dumps.
OptimizeOptions current_options();
/// A number that differs where other passes run, or as many rewrites less: part of a plan's key.
std::uint64_t switches_key();

/// The program after all passes.
Program optimize(const Program& program, const OptimizeOptions& options = {});

/// The program after one pass; ArgumentError where there is none of that name.
Program run_pass(std::string_view name, const Program& program, std::int64_t fuel = INT64_MAX);

}  // namespace lazuli::optimize
