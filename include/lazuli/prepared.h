#pragma once

/// @file
/// What a backend says of a program that it prepared: its kernels, its memory, and how it came to
/// be. For explanations and traces.

#include <cstdint>
#include <string>
#include <vector>

#include "lazuli/program.h"

namespace lazuli {

/// One kernel, in the order they run.
struct KernelInfo {
    std::string name;                    ///< Kernels of one code share it.
    std::string operations;              ///< What is in it, and what it gives.
    std::string how;                     ///< How it runs: as machine code, ...
    std::string why;                     ///< Why it ends where it does; `result` at one.
    std::vector<std::string> reads;      ///< `p0 f32[2, 3]`, `%4 f32[3]`.
    std::vector<std::string> writes;     ///< The same of what it makes.
    std::vector<std::uint32_t> members;  ///< Operations of the program that are in it.
    std::int64_t bytes_read = 0;         ///< Of its operands.
    std::int64_t bytes_written = 0;      ///< Of its results.
    double flops = 0;                    ///< Functions of elements, and sums; a fused one is two.
    DType factors = f32;   ///< What it multiplies; the processor's peak depends on it.
    std::string code;      ///< Its kernel IR, where it has one and code was asked for.
    std::string assembly;  ///< Its machine code, under the same conditions.
};

/// A value that lies in memory while the program runs.
struct ValueInfo {
    std::uint32_t operation = 0;  ///< That makes it.
    std::string text;             ///< `%4 f32[3]`.
    std::string op;               ///< The operation's name.
    std::int64_t bytes = 0;       ///< With what it is padded by.
    std::int64_t offset = -1;     ///< In the arena; -1: a result, which has a buffer of its own.
    std::size_t first = 0;        ///< The kernel that makes it.
    std::size_t last = 0;         ///< The last that reads it.
};

/// A pass that changed the program.
struct PassInfo {
    std::string name;                ///< Of the pass.
    std::int64_t rewrites = 0;       ///< That it made.
    double microseconds = 0;         ///< That it took.
    std::vector<std::string> rules;  ///< That fired, each with how often.
    Program before;                  ///< What it was given.
    Program after;                   ///< What it made of it.
};

/// All of it.
struct PreparedInfo {
    Program program;                   ///< After all passes.
    std::vector<KernelInfo> kernels;   ///< In the order they run.
    std::vector<ValueInfo> values;     ///< That the kernels make.
    std::vector<PassInfo> passes;      ///< Those that changed something; kept while a trace is on.
    std::int64_t arena_bytes = 0;      ///< Of memory to compute in.
    std::int64_t alive_bytes = 0;      ///< Of it, alive at once.
    std::int64_t recorded_bytes = 0;   ///< Alive at once, had it run in the order of recording.
    std::int64_t unplanned_bytes = 0;  ///< Of a buffer for every operation that is no movement.
    std::string method;                ///< What found the places in the arena.
};

}  // namespace lazuli
