#include "optimize/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "lazuli/error.h"
#include "optimize/passes.h"

namespace lazuli::optimize {

namespace {

struct Pass {
    std::string_view name;
    Program (*run)(const Program& program, Fuel& fuel);
};

// Top to bottom. Views first, since rules look through none; equal operations last, when forms are
// final.
constexpr Pass kPasses[] = {
    {"canonicalize", canonicalize},
    {"fold", fold},
    {"algebra", algebra},
    {"merge_equal", merge_equal},
};

}  // namespace

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
            options.observe({pass.name, fuel.used - before, 1e6 * seconds}, out, next);
        out = std::move(next);
    }
    return out;
}

std::vector<std::string_view> pass_names() {
    std::vector<std::string_view> out;
    for (const Pass& pass : kPasses) out.push_back(pass.name);
    return out;
}

Program run_pass(std::string_view name, const Program& program, std::int64_t fuel_given) {
    for (const Pass& pass : kPasses) {
        if (pass.name != name) continue;
        Fuel fuel{.left = fuel_given};
        return pass.run(program, fuel);
    }
    throw ArgumentError(
        fmt::format("there is no pass '{}' (there are: {})", name, fmt::join(pass_names(), ", ")));
}

}  // namespace lazuli::optimize
