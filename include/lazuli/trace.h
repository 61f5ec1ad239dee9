#pragma once

/// @file
/// A trace: what was planned and run, as files that can be looked at later. `lazuli report` makes a
/// page of them, and `lazuli replay` runs a program again.

#include <string>

namespace lazuli::trace {

/// Where a trace goes, and what is in it.
struct Options {
    std::string directory;  ///< Made where it is not there.
    bool inputs = false;    ///< Also the operands of every plan's first run, as .npy files.
};

/// Traces all evaluations of the process for as long as it lives, and writes the files at its end.
/// LAZULI_TRACE=DIR does the same for the whole process, LAZULI_TRACE_INPUTS=1 with operands.
/// ArgumentError where a trace is on already; FileError where the directory cannot be made.
class Scope {
   public:
    /// Begins.
    explicit Scope(const Options& options);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
};

/// Whether a trace is on.
bool is_on();

}  // namespace lazuli::trace
