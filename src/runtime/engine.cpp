#include "runtime/engine.h"

#include <fmt/format.h>

#include <mutex>

#include "ir/arena.h"
#include "ir/graph.h"
#include "lazuli/graph.h"
#include "plan/expand.h"
#include "plan/explain.h"
#include "plan/steps.h"
#include "runtime/attempt.h"
#include "runtime/benchmark.h"
#include "runtime/control.h"
#include "runtime/evaluate.h"
#include "runtime/families.h"
#include "runtime/inspect.h"
#include "runtime/memory.h"
#include "runtime/open_plan.h"
#include "runtime/planning.h"
#include "runtime/specialise.h"
#include "runtime/values.h"

namespace lazuli {

namespace runtime {

namespace {

using ir::Capture;
using ir::Node;

Explanation explain(std::span<Node* const> targets) {
    Capture captured;
    {
        const std::scoped_lock lock(ir::graph_lock());
        ir::capture(targets, {}, false, captured);
    }
    const Program program = captured.program();
    if (program.size() == 0) return {};
    const auto [found, why] = peek_plan(captured, targets[0]->device);
    if (found != nullptr && found->is_bound && !has_successor(*found)) {
        Explanation out =
            plan::explanation(backend_of(found->device).info(found->prepared.get(), false));
        out.cache = "hit, a plan for all sizes serves these";
        return out;
    }
    plan::ExpandOptions options = expand_options(backend_of(targets[0]->device));
    options.fastest = nullptr;  // nothing is measured for it
    Explanation out = plan::explanation(plan::make_steps(plan::expand(program, options)));
    out.cache = found != nullptr ? "hit, the plan is there" : fmt::format("miss, {}", reason(why));
    if (found == nullptr) return out;
    const auto kernels = backend_of(found->device).info(found->prepared.get(), false).kernels;
    for (std::size_t i = 0; i < kernels.size() && kernels.size() == out.kernels.size(); ++i)
        out.kernels[i].how = kernels[i].how;
    return out;
}

const ir::Engine& engine_table() {
    static const ir::Engine table{
        .eval = evaluate,
        .allocate = [](Device device,
                       std::size_t bytes) { return backend_of(device).allocate(bytes); },
        .upload = upload,
        .download = download,
        .default_device = default_device,
        .device_name = [](Device device) { return device.name(); },
        .explain = explain,
        .run_control = [](const EvalArgs& args) { run_control(backend_of(Device()), args); },
        .open =
            [](const Program& program, Device device) {
                return std::unique_ptr<ir::OpenProgram>(open(program, device));
            },
        .buffer_bytes = buffer_bytes,
    };
    return table;
}

}  // namespace

void ensure_builtin_backends() {
    // Registering a backend comes back here; the flag is up by then.
    static std::once_flag once;
    static thread_local bool registering = false;
    if (registering) return;
    std::call_once(once, [] {
        registering = true;
        if (lazuli_install_backends != nullptr) lazuli_install_backends();
        registering = false;
    });
}

}  // namespace runtime

CacheStats cache_stats() {
    CacheStats stats = runtime::plan_cache_stats();
    stats.fallbacks = runtime::fallback_count();
    const runtime::OpenStats open = runtime::open_stats();
    stats.open_plans = open.plans;
    stats.bindings = open.bindings;
    stats.own_plans = open.own_plans;
    stats.specialised = runtime::specialised_count();
    stats.general_plans = runtime::general_plan_count();
    return stats;
}

std::string describe(const CacheStats& stats) {
    std::string out =
        fmt::format("plans      {:>10}   {} of {} bytes\nhits       {:>10}\nmisses     {:>10}\n",
                    stats.plans, stats.bytes, stats.limit, stats.hits, stats.misses);
    for (std::size_t i = 0; i < kMissNames.size(); ++i) {
        if (stats.missed[i] > 0)
            out += fmt::format("  {:<8} {:>10}\n", kMissNames[i], stats.missed[i]);
    }
    if (stats.general_plans > 0)
        out += fmt::format("general    {:>10}   for {} hits at sizes that were new\n",
                           stats.general_plans, stats.general_hits);
    if (stats.specialised > 0)
        out += fmt::format("special    {:>10}   took over at sizes that are often used\n",
                           stats.specialised);
    out += fmt::format("dropped    {:>10}\nfallbacks  {:>10}\n", stats.evicted, stats.fallbacks);
    if (stats.open_plans + stats.own_plans > 0)
        out += fmt::format("all sizes  {:>10}   at {} sizes; {} sizes have plans of their own\n",
                           stats.open_plans, stats.bindings, stats.own_plans);
    return out;
}

void clear_caches() {
    runtime::clear_plans();
    runtime::clear_body_plans();
    runtime::clear_step_plans();
    runtime::clear_measurements();
    runtime::drop_spare_memory();
    ir::arena().trim();
}

}  // namespace lazuli

const lazuli::ir::Engine* lazuli_engine() {
    lazuli::runtime::ensure_builtin_backends();
    return &lazuli::runtime::engine_table();
}
