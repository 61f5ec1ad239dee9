#include "runtime/watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/env.h"
#include "ir/text.h"
#include "lazuli/backend.h"
#include "lazuli/trace.h"
#include "runtime/planning.h"
#include "runtime/trace.h"

namespace lazuli::runtime {

namespace {

/// 1: a line a plan; 2: a line a kernel; 3: programs; 4: kernel IR.
std::int64_t level() {
    static const std::int64_t set = env::integer(env::Var::debug);
    return set;
}

thread_local Execution* now_running = nullptr;

std::string per_second(double amount, double seconds, std::string_view unit) {
    return seconds > 0 ? fmt::format("{:.2f} G{}/s", amount / seconds / 1e9, unit) : "";
}

void print_kernel(const Backend& backend, const KernelInfo& kernel, double seconds) {
    const double least = backend.least_seconds(kernel);
    const std::string share =
        least > 0 && seconds > 0 ? fmt::format("{:.3g} % of limit", 100 * least / seconds) : "";
    fmt::print(
        stderr, "lazuli:   {:<12} {:>9.1f} us {:>16} {:>14} {:>15}  {}: {} -> {} ({})\n",
        kernel.name, 1e6 * seconds, per_second(kernel.flops, seconds, "FLOP"),
        per_second(static_cast<double>(kernel.bytes_read + kernel.bytes_written), seconds, "B"),
        share, kernel.operations, fmt::join(kernel.reads, ", "), fmt::join(kernel.writes, ", "),
        kernel.how);
}

}  // namespace

constinit std::atomic<bool> may_watch{true};

bool watches() {
    if (level() > 0 || trace::is_on()) return true;
    may_watch.store(false);
    // A trace that began meanwhile is seen here, or sets it behind this.
    if (trace::is_on()) may_watch.store(true);
    return false;
}

void report_plan(const plan::Plan& plan) {
    if (level() < 3) return;
    fmt::print(stderr, "lazuli: plan {:016x} of\n{}lazuli: runs as\n{}", plan.hash,
               plan.program.str(), plan.expanded.str());
    if (level() < 4) return;
    const PreparedInfo info = backend_of(plan.device).info(plan.prepared.get(), true);
    std::vector<std::string_view> shown;  // steps of equal code share a kernel
    for (const KernelInfo& kernel : info.kernels) {
        if (kernel.code.empty() || std::ranges::count(shown, kernel.code) > 0) continue;
        shown.push_back(kernel.code);
        fmt::print(stderr, "{}", kernel.code);
    }
}

Execution* Execution::innermost() { return now_running; }
Execution::Pause::Pause() : paused_(std::exchange(now_running, nullptr)) {}
Execution::Pause::~Pause() { now_running = paused_; }

Execution::Execution(const plan::Plan& plan, const Finding& finding,
                     std::span<const Binding> params)
    : plan_(plan),
      finding_(finding),
      params_(params),
      start_(trace::now()),
      info_(backend_of(plan.device).info(plan.prepared.get(), false)),
      outer_(now_running) {
    starts_.resize(info_.kernels.size(), 0);
    seconds_.resize(info_.kernels.size(), -1);
    now_running = this;
}

Execution::~Execution() {
    now_running = outer_;
    const double seconds = trace::now() - start_;
    if (trace::is_on())
        trace::add_run({.plan = plan_,
                        .finding = finding_,
                        .info = info_,
                        .params = params_,
                        .start = start_,
                        .seconds = seconds,
                        .kernel_starts = starts_,
                        .kernel_seconds = seconds_,
                        .error = error_});
    if (level() < 1) return;
    const std::string_view why = why_not_found(finding_);
    using ir::bytes_text;
    fmt::print(stderr,
               "lazuli: plan {:016x} {} on {}: {} operations in {} kernels, {} to compute in (at "
               "least {}, unplanned {}); found or made in {:.0f} us, ran {:.0f} us\n",
               plan_.hash, why.empty() ? "found" : fmt::format("made ({})", why),
               plan_.device.name(), plan_.expanded.size(), info_.kernels.size(),
               bytes_text(info_.arena_bytes), bytes_text(info_.alive_bytes),
               bytes_text(info_.unplanned_bytes), finding_.microseconds, 1e6 * seconds);
    for (std::size_t i = 0; i < seconds_.size() && level() >= 2; ++i) {
        if (seconds_[i] >= 0) print_kernel(backend_of(plan_.device), info_.kernels[i], seconds_[i]);
    }
}

}  // namespace lazuli::runtime
