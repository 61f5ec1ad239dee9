#include "ops/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"
#include "ops/build.h"

namespace lazuli::ops {

void check_runs(const InferArgs& args, std::size_t at) {
    const TensorSpec& runs = *args.inputs[at];
    if (runs.shape.rank() != 2 || runs.shape.dim(1) != Dim(3)) {
        throw ShapeError(fmt::format("{}: runs are [runs, 3] (state, first token, tokens), not {}: "
                                     "{}",
                                     args.op.name, runs.str(), operands_text(args)),
                         "[runs, 3]", runs.shape.str());
    }
}

std::vector<Run> read_runs(const std::string& op, const HostArray& runs, std::int64_t tokens,
                           std::int64_t states) {
    std::vector<Run> out;
    const auto number = [&](std::int64_t i) -> std::int64_t {
        return runs.spec->dtype == i32 ? runs.as<std::int32_t>()[i] : runs.as<std::int64_t>()[i];
    };
    for (std::int64_t i = 0; i < runs.spec->shape[0]; ++i) {
        const Run run{number(3 * i), number(3 * i + 1), number(3 * i + 2)};
        if (run.count == 0) continue;
        if (run.state < 0 || run.state >= states || run.count < 0 || run.first < 0 ||
            run.first > tokens || run.count > tokens - run.first) {
            throw ExecutionError(
                op, fmt::format("run {} is {} tokens from {} on with state {}, of {} tokens and {} "
                                "states",
                                i, run.count, run.first, run.state, tokens, states));
        }
        out.push_back(run);
    }
    const auto check = [&](auto key, auto end, const char* what) {
        std::vector<Run> sorted = out;
        std::ranges::sort(sorted, {}, key);
        for (std::size_t i = 1; i < sorted.size(); ++i) {
            if (end(sorted[i - 1]) > key(sorted[i]))
                throw ExecutionError(op, fmt::format("two runs share {} {}", what, key(sorted[i])));
        }
    };
    check([](const Run& r) { return r.state; }, [](const Run& r) { return r.state + 1; }, "state");
    check([](const Run& r) { return r.first; }, [](const Run& r) { return r.first + r.count; },
          "token");
    return out;
}

}  // namespace lazuli::ops
