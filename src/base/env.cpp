#include "base/env.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "lazuli/error.h"

namespace lazuli::env {

namespace {

constexpr std::array<VarInfo, static_cast<std::size_t>(Var::count)> kTable{{
    {Var::print_eval, "LAZULI_PRINT_EVAL", "0",
     "1: printing a tensor evaluates it and shows its values."},
    {Var::device, "LAZULI_DEVICE", "cpu", "The device new tensors live on."},
    {Var::policy, "LAZULI_POLICY", "",
     "Which implementation a functional op takes: "
     "`softmax=force:NAME;matmul=benchmark:16;*=default`."},
    {Var::policy_file, "LAZULI_POLICY_FILE", "",
     "A JSON file with the same: {\"softmax\": {\"force\": \"NAME\"}}."},
    {Var::seed, "LAZULI_SEED", "0", "The implicit seed of random tensors made without a key."},
    {Var::plan_cache_bytes, "LAZULI_PLAN_CACHE_BYTES", "67108864",
     "Bound of the plan cache, in bytes."},
    {Var::generalise, "LAZULI_GENERALISE", "1",
     "0: each size is planned by itself; else a graph that returns with a third value of some size "
     "gets a plan for all values of it."},
    {Var::specialise, "LAZULI_SPECIALISE", "1",
     "0: a plan for many sizes runs as it is; else one that is often used at some of them gets "
     "kernels made for these, behind the calls."},
    {Var::flush_depth, "LAZULI_FLUSH_DEPTH", "65536",
     "A chain of unevaluated operations this long is evaluated by itself; 0 switches that off."},
    {Var::flush_bytes, "LAZULI_FLUSH_BYTES", "1073741824",
     "Pending work is evaluated by itself when buffers grew by this many bytes since the last "
     "time."},
    {Var::memory_limit, "LAZULI_MEMORY_LIMIT", "0",
     "Bytes that buffers and running plans may take in all; 0 means what the machine has."},
    {Var::cache_limit, "LAZULI_CACHE_LIMIT", "",
     "Bytes of memory that are kept for work to come; empty: a quarter of the memory limit."},
    {Var::max_ops_per_commit, "LAZULI_MAX_OPS_PER_COMMIT", "4",
     "Kernels that a stream collects before it starts to run them."},
    {Var::max_bytes_per_commit, "LAZULI_MAX_BYTES_PER_COMMIT", "1048576",
     "Bytes that these may read and write before it does."},
    {Var::max_run_ahead_bytes, "LAZULI_MAX_RUN_AHEAD_BYTES", "1073741824",
     "Bytes of results and operands that may be pending on a stream; who records more waits."},
    {Var::strict, "LAZULI_STRICT", "0",
     "1: an op that the device's backend lacks is an error instead of running on the reference "
     "backend."},
    {Var::debug, "LAZULI_DEBUG", "0",
     "On standard error, 1: a line for each evaluation: its plan, found or made and why, memory, "
     "time; 2: and one for each kernel; 3: and programs that are planned; 4: and their kernels."},
    {Var::trace, "LAZULI_TRACE", "",
     "A folder that a trace of all evaluations is written to: programs, plans, kernels, a "
     "timeline."},
    {Var::trace_inputs, "LAZULI_TRACE_INPUTS", "0",
     "1: with the operands of every plan's first run."},
    {Var::nan_check, "LAZULI_NAN_CHECK", "0",
     "1: evaluations stop at the first operation that makes a NaN of operands without one, and say "
     "where it was recorded."},
    {Var::debug_tensors, "LAZULI_DEBUG_TENSORS", "0",
     "1: on standard error, a line for each operation that is computed: least, greatest, mean, "
     "NaNs, infinities and the first values of its result."},
    {Var::passes_off, "LAZULI_PASSES_OFF", "",
     "Passes over programs that do not run, separated by commas: `algebra,fold`."},
    {Var::fuel, "LAZULI_FUEL", "9223372036854775807",
     "How many rewrites the passes may make in a program, to find one that breaks it."},
    {Var::verify, "LAZULI_VERIFY", "0",
     "1: programs are verified behind every pass, and kernels when they are made."},
    {Var::dump_passes, "LAZULI_DUMP_PASSES", "0",
     "1: each pass that changes a program prints it on standard error, with the number of rewrites "
     "and the time."},
    {Var::num_threads, "LAZULI_NUM_THREADS", "0",
     "Threads that kernels run on; 0: as many as the process may use at once."},
    {Var::jit, "LAZULI_JIT", "",
     "The compiler's module; empty: where it was installed; 0: kernels are interpreted."},
    {Var::onednn, "LAZULI_ONEDNN", "",
     "oneDNN's module; empty: where it was installed; 0: convolutions run on our own kernel."},
    {Var::lapack, "LAZULI_LAPACK", "",
     "LAPACK's module; empty: where it was installed; 0: matrices are factorised plainly."},
    {Var::vector_width, "LAZULI_VECTOR_WIDTH", "0",
     "Bits of the vectors that kernels use: 128, 256 or 512; 0: the processor's."},
    {Var::quick_start, "LAZULI_QUICK_START", "1",
     "0: a new kernel is compiled before it first runs; else one that is soon interpreted runs so "
     "until its code is there."},
    {Var::cache, "LAZULI_CACHE", "1", "0: compiled kernels are not kept on disk."},
    {Var::cache_dir, "LAZULI_CACHE_DIR", "",
     "Where compiled kernels are kept; empty: lazuli in the user's folder for caches."},
}};

const VarInfo& row(Var var) { return kTable[static_cast<std::size_t>(var)]; }

}  // namespace

std::span<const VarInfo> all() { return kTable; }

std::string_view name(Var var) { return row(var).name; }

std::string text(Var var) {
    const VarInfo& info = row(var);
    const char* value = std::getenv(std::string(info.name).c_str());
    return value != nullptr ? value : std::string(info.fallback);
}

bool flag(Var var) {
    const std::string value = text(var);
    return value == "1" || value == "true" || value == "yes" || value == "on";
}

std::int64_t integer(Var var) {
    const std::string value = text(var);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < 0) {
        throw ArgumentError(
            fmt::format("{}={}: a count is expected ({})", row(var).name, value, row(var).doc));
    }
    return number;
}

}  // namespace lazuli::env
