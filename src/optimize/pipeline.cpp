#include "optimize/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/env.h"
#include "base/hash.h"
#include "lazuli/error.h"
#include "optimize/passes.h"

namespace lazuli::optimize {

namespace {

struct Pass {
    std::string_view name;
    Program (*run)(const Program& program, Fuel& fuel);
};

// Top to bottom. Views first, since rules look through none; equal operations when forms are final,
// and behind that what must not be made equal.
constexpr Pass kPasses[] = {
    {"canonicalize", canonicalize}, {"fold", fold},
    {"algebra", algebra},           {"merge_equal", merge_equal},
    {"merge_loops", merge_loops},   {"open_anew", open_anew},
};

std::size_t index_of(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kPasses); ++i) {
        if (kPasses[i].name == name) return i;
    }
    throw ArgumentError(
        fmt::format("there is no pass '{}' (there are: {})", name, fmt::join(pass_names(), ", ")));
}

/// The passes that are off, a bit each.
std::atomic<std::uint64_t>& passes_off() {
    static std::atomic<std::uint64_t> off = [] {
        std::uint64_t bits = 0;
        const std::string list = env::text(env::Var::passes_off);
        for (std::size_t at = 0; at < list.size();) {
            const std::size_t end = std::min(list.find(',', at), list.size());
            if (end > at) bits |= std::uint64_t{1} << index_of(list.substr(at, end - at));
            at = end + 1;
        }
        return bits;
    }();
    return off;
}

std::int64_t fuel_given() {
    static const std::int64_t fuel = env::integer(env::Var::fuel);
    return fuel;
}

void dump(const PassReport& report, const Program&, const Program& after) {
    if (report.rewrites == 0) return;
    fmt::print(stderr, "lazuli: behind {} ({} rewrites, {:.0f} us):\n{}", report.name,
               report.rewrites, report.microseconds, after.str());
}

std::vector<std::string> rules_of(const Fuel& fuel) {
    std::vector<std::string> out;
    for (const auto& [rule, times] : fuel.rules)
        out.push_back(times == 1 ? rule : fmt::format("{} x{}", rule, times));
    return out;
}

}  // namespace

OptimizeOptions current_options() {
    static const bool verify = env::flag(env::Var::verify);
    static const bool dumps = env::flag(env::Var::dump_passes);
    OptimizeOptions out{.fuel = fuel_given(), .verify = verify};
    const std::uint64_t off = passes_off().load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < std::size(kPasses); ++i) {
        if ((off >> i & 1) != 0) out.disabled.emplace_back(kPasses[i].name);
    }
    if (dumps) out.observe = dump;
    return out;
}

std::uint64_t switches_key() {
    return passes_off().load(std::memory_order_relaxed) ^
           hash_mix(static_cast<std::uint64_t>(fuel_given()), 1);
}

Program optimize(const Program& program, const OptimizeOptions& options) {
    Fuel fuel{.left = options.fuel};
    Program out = program;
    for (const Pass& pass : kPasses) {
        if (std::find(options.disabled.begin(), options.disabled.end(), pass.name) !=
            options.disabled.end())
            continue;
        const auto start = std::chrono::steady_clock::now();
        const std::int64_t before = fuel.used;
        Program next = pass.run(out, fuel);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (options.verify) next.verify();
        if (options.observe)
            options.observe({pass.name, fuel.used - before, 1e6 * seconds, rules_of(fuel)}, out,
                            next);
        fuel.rules.clear();
        out = std::move(next);
    }
    return out;
}

Program run_pass(std::string_view name, const Program& program, std::int64_t fuel_given) {
    Fuel fuel{.left = fuel_given};
    return kPasses[index_of(name)].run(program, fuel);
}

}  // namespace lazuli::optimize

namespace lazuli {

std::vector<std::string_view> pass_names() {
    std::vector<std::string_view> out;
    for (const optimize::Pass& pass : optimize::kPasses) out.push_back(pass.name);
    return out;
}

bool pass_enabled(std::string_view name) {
    return (optimize::passes_off().load() >> optimize::index_of(name) & 1) == 0;
}

void set_pass_enabled(std::string_view name, bool on) {
    const std::uint64_t bit = std::uint64_t{1} << optimize::index_of(name);
    if (on) {
        optimize::passes_off().fetch_and(~bit);
    } else {
        optimize::passes_off().fetch_or(bit);
    }
}

}  // namespace lazuli
