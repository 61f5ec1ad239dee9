#pragma once

// The recorder of a trace: evaluations, kernels and waits as they happen; plans as files, once
// each.

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazuli/backend.h"
#include "plan/cache.h"
#include "runtime/watch.h"

namespace lazuli::trace {

/// Seconds since some moment, the same for all threads.
double now();

/// One run of a plan.
struct Run {
    const plan::Plan& plan;
    const runtime::Finding& finding;
    const PreparedInfo& info;
    std::span<const Binding> params;
    double start = 0;
    double seconds = 0;
    std::span<const double> kernel_starts;
    std::span<const double> kernel_seconds;  // -1: did not run
    std::exception_ptr error;                // what ended it
};
/// Takes a run in, while a trace is on.
void add_run(const Run& run);
/// Takes in that the calling thread waited for what another thread computes.
void add_wait(double start, double seconds);

/// The name of a plan's folder.
std::string folder_of(const plan::Plan& plan);
/// Writes a plan: programs, passes, kernels, figures, and the map of its memory.
void write_plan(const std::string& folder, const plan::Plan& plan, const runtime::Finding& finding,
                const PreparedInfo& info);
/// Writes the operands of a run as NAME.npy.
void write_inputs(const std::string& folder, const Program& program,
                  std::span<const Binding> params);
/// Writes a file; FileError where that fails.
void write_file(const std::string& path, const std::string& content);

/// The values of a plan over time, as an SVG.
std::string memory_map(const PreparedInfo& info);

}  // namespace lazuli::trace
