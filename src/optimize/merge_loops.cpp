// A loop of which another one gives the same results, and more, is that one. Gradients leave such
// pairs: the loop itself, and the same one that also keeps what is carried into each step (see
// ops/control_gradient.cpp). See tests/golden/optimize/merge_loops.ir

#include <algorithm>
#include <optional>

#include "ir/op_table.h"
#include "ops/control.h"
#include "optimize/passes.h"

namespace lazuli::optimize {

namespace {

using ops::LoopAttr;

bool starts_with(std::span<const std::uint64_t> all, std::span<const std::uint64_t> start) {
    return all.size() >= start.size() && std::ranges::equal(all.first(start.size()), start);
}

/// Whether a body does the same and returns the same first.
bool extends(const Program& large, const Program& small) {
    if (large.results().size() <= small.results().size()) return false;
    return std::ranges::equal(large.params(), small.params(), {}, &Param::spec, &Param::spec) &&
           starts_with(large.words(), small.words()) &&
           std::ranges::equal(large.results().first(small.results().size()), small.results(), {},
                              &ProgramResult::value, &ProgramResult::value);
}

bool same_operands(const Operation& a, const Operation& b) {
    if (a.input_count() != b.input_count()) return false;
    for (std::size_t i = 0; i < a.input_count(); ++i) {
        if (!(a.input(i) == b.input(i))) return false;
    }
    return true;
}

/// Whether a loop gives what another gives, and more.
bool covers(const Operation& large, const Operation& small) {
    const Attrs a = large.attrs();
    const Attrs b = small.attrs();
    return same_operands(large, small) &&
           a.integer(LoopAttr::carried) == b.integer(LoopAttr::carried) &&
           a.integer(LoopAttr::scanned) == b.integer(LoopAttr::scanned) &&
           a.size(LoopAttr::trips).raw() == b.size(LoopAttr::trips).raw() &&
           a.boolean(LoopAttr::reverse) == b.boolean(LoopAttr::reverse) &&
           extends(a.program(LoopAttr::body), b.program(LoopAttr::body));
}

/// Of each operation that is a loop, the one that covers it and gives most.
using Covers = std::vector<std::optional<std::size_t>>;

Covers find_covers(const Program& program) {
    static const OpId loop = require_op("loop");
    std::vector<std::size_t> loops;
    for (std::size_t i = 0; i < program.size(); ++i) {
        const Operation operation = program.operation(i);
        if (operation.op() == loop && !ir::calls_user(operation.def(), operation.attrs()))
            loops.push_back(i);
    }
    const auto results = [&](std::size_t i) {
        return program.operation(i).attrs().program(LoopAttr::body).results().size();
    };
    std::ranges::stable_sort(loops, std::ranges::greater(), results);
    Covers out(program.size());
    for (const std::size_t small : loops) {
        const auto large = std::ranges::find_if(loops, [&](std::size_t i) {
            return covers(program.operation(i), program.operation(small));
        });
        if (large != loops.end()) out[small] = *large;
    }
    return out;
}

}  // namespace

Program merge_loops(const Program& program, Fuel& fuel) {
    Covers covers = find_covers(program);
    bool any = false;
    for (auto& large : covers) {
        if (large && !fuel.take("loops")) large.reset();
        any |= large.has_value();
    }
    if (!any) return program;
    ProgramBuilder builder;
    std::vector<Value> params;
    for (const Param& param : program.params())
        params.push_back(builder.param(param.name, param.spec));
    std::vector<Value> mapped(program.size());
    const auto value = [&](ValueRef v) {
        return v.is_param() ? params[v.index()] : mapped[v.index()];
    };
    for (std::size_t i = 0; i < program.size(); ++i) {
        // The larger one stands where the first of both stood: its operands are there, since they
        // are the same. Its first results lie in its bundle where those of the smaller one did.
        const std::size_t from = covers[i].value_or(i);
        if (!mapped[from].defined()) {
            const Operation operation = program.operation(from);
            std::vector<Value> inputs;
            for (std::size_t k = 0; k < operation.input_count(); ++k)
                inputs.push_back(value(operation.input(k)));
            const TensorSpec spec = operation.spec();
            mapped[from] = builder.op(operation.op(), inputs, operation.attrs().words(), &spec);
        }
        mapped[i] = mapped[from];
    }
    for (const ProgramResult& result : program.results())
        builder.result(value(result.value), result.name);
    return builder.build();
}

}  // namespace lazuli::optimize
