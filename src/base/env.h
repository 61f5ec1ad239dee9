#pragma once

// Every environment variable Lazuli reads stands in one table (env.cpp), with its default and its
// meaning.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lazuli::env {

enum class Var {
    print_eval,
    device,
    policy,
    policy_file,
    seed,
    plan_cache_bytes,
    generalise,
    specialise,
    flush_depth,
    flush_bytes,
    memory_limit,
    cache_limit,
    max_ops_per_commit,
    max_bytes_per_commit,
    max_run_ahead_bytes,
    strict,
    debug,
    trace,
    trace_inputs,
    nan_check,
    debug_tensors,
    passes_off,
    fuel,
    verify,
    dump_passes,
    num_threads,
    jit,
    onednn,
    lapack,
    vector_width,
    quick_start,
    cache,
    cache_dir,
    count,
};

struct VarInfo {
    Var var;
    std::string_view name;
    std::string_view fallback;
    std::string_view doc;
};

/// The table.
std::span<const VarInfo> all();
/// Its name.
std::string_view name(Var var);
/// The variable's text as the environment has it now, or its default.
std::string text(Var var);
/// 1, true, yes, on; anything else is false.
bool flag(Var var);
/// The variable as a count; ArgumentError naming the variable where it is not one.
std::int64_t integer(Var var);

}  // namespace lazuli::env
