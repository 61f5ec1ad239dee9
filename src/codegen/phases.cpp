#include "codegen/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace lazuli::codegen {

std::string function_name(std::size_t phase, Form form) {
    constexpr const char* kBehind[] = {"", "_large", "_turned", "_flat"};
    return fmt::format("phase{}{}", phase, kBehind[static_cast<std::size_t>(form)]);
}

std::vector<Phase> phases_of(const Kernel& kernel) {
    std::vector<Phase> out;
    for (std::size_t i = 0; i < kernel.body.size(); ++i) {
        const Statement& s = kernel.body[i];
        switch (s.kind) {
            case StatementKind::parallel: out.push_back({i, i + 1, true}); break;
            case StatementKind::serial:
            case StatementKind::reduce:
            case StatementKind::store:
                if (!out.empty() && !out.back().parallel) {
                    out.back().behind = i + 1;
                } else {
                    out.push_back({i, i + 1, false});
                }
                break;
            case StatementKind::load:
            case StatementKind::constant:
            case StatementKind::position:
            case StatementKind::apply:
            case StatementKind::bind: break;
        }
    }
    return out;
}

namespace {

bool depends_on(const Expr& e, const Expr& variable) {
    const auto vars = e.vars();
    return std::find(vars.begin(), vars.end(), variable) != vars.end();
}

}  // namespace

std::optional<Expr> symbolic_step(const Expr& index, const Expr& counter) {
    const auto at = [&](std::int64_t number) {
        return index.substitute([&](Expr v) -> std::optional<Expr> {
            if (!(v == counter)) return std::nullopt;
            return v * 0 + number;
        });
    };
    const Expr rest = at(0);
    const Expr step = at(1) - rest;
    return rest + counter * step == index ? std::optional(step) : std::nullopt;
}

std::optional<std::int64_t> step_along(const Expr& index, const Expr& counter) {
    const auto step = symbolic_step(index, counter);
    return step ? step->constant() : std::nullopt;
}

bool moves_along(const Expr& index, const Expr& counter) {
    if (!depends_on(index, counter)) return false;
    const auto step = symbolic_step(index, counter);
    if (!step) return true;
    const Bounds bounds = step->bounds();
    return bounds.low > 0 || bounds.high < 0;
}

namespace {

/// Counts the accesses within a loop's loops that go from neighbour to neighbour: along `across`,
/// or along the innermost variable. False where something depends on `across` that must not.
bool count_neighbours(const Block& block, const Expr& across, const Expr* inner, int& for_across,
                      int& for_inner) {
    for (const Statement& s : block) {
        if (s.kind == StatementKind::bind) return false;
        if (s.index && inner != nullptr &&
            (s.kind == StatementKind::load || s.kind == StatementKind::store)) {
            if (step_along(*s.index, across) == 1) ++for_across;
            if (step_along(*s.index, *inner) == 1) ++for_inner;
        }
        // A store that does not move with the variable means its last step.
        if (s.kind == StatementKind::store && !moves_along(*s.index, across)) return false;
        for (const Count& c : s.counts) {
            if (depends_on(c.size, across)) return false;
        }
        if (is_loop(s) &&
            !count_neighbours(s.body, across, &s.counts.back().variable, for_across, for_inner))
            return false;
    }
    return true;
}

}  // namespace

bool vectorizes_across(const Statement& loop) {
    if (loop.kind == StatementKind::reduce || !has_loops(loop.body)) return false;
    int for_across = 0;
    int for_inner = 0;
    const Expr& variable = loop.counts.back().variable;
    if (!count_neighbours(loop.body, variable, nullptr, for_across, for_inner)) return false;
    return for_across > for_inner;
}

namespace {

/// Whether some loop of the block may be short in a run.
bool has_short_loops(const Block& block) {
    return std::any_of(block.begin(), block.end(), [](const Statement& s) {
        if (!is_loop(s)) return false;
        const Expr& size = s.counts.back().size;
        return (!size.is_constant() && size.bounds().low <= kShortSteps) || has_short_loops(s.body);
    });
}

}  // namespace

bool may_be_turned(const Kernel& kernel, const Phase& phase) {
    if (!phase.parallel || kernel.variables.empty()) return false;
    const Statement& loop = kernel.body[phase.first];
    if (!has_loops(loop.body)) return false;
    if (vectorizes_across(loop))
        return !loop.counts[0].size.is_constant() && loop.counts[0].size.bounds().low <= 1;
    int for_across = 0;
    int for_inner = 0;
    return loop.counts[0].size.bounds().high >= kShortSteps && has_short_loops(loop.body) &&
           count_neighbours(loop.body, loop.counts[0].variable, nullptr, for_across, for_inner);
}

bool runs_in_tiles(const Statement& loop) {
    if (loop.kind == StatementKind::reduce || loop.body.size() != 1) return false;
    const Statement& inner = loop.body[0];
    if (inner.kind != StatementKind::serial || has_loops(inner.body)) return false;
    const Expr& outer = loop.counts[0].variable;
    if (depends_on(inner.counts[0].size, outer)) return false;
    bool crosses = false;
    for (const Statement& s : inner.body) {
        if (s.kind == StatementKind::store &&
            (step_along(*s.index, inner.counts[0].variable) != 1 || !moves_along(*s.index, outer)))
            return false;
        if (s.kind != StatementKind::load) continue;
        const auto along = symbolic_step(*s.index, inner.counts[0].variable);
        const auto across = step_along(*s.index, outer);
        // A step that is a size is a long one, most of the time.
        const bool far = along && (along->bounds().high > 1 || along->bounds().low < -1);
        crosses = crosses || (across && (*across == 1 || *across == -1) && far);
    }
    return crosses;
}

bool begins_with_nothing(const Accumulator& accumulator) {
    switch (op_def(accumulator.combine).primitive) {
        // Whatever it is: a lane that takes steps begins with it as well.
        case Primitive::maximum:
        case Primitive::minimum: return true;
        case Primitive::add: return accumulator.init.to_complex() == 0.0;
        case Primitive::mul: return accumulator.init.to_complex() == 1.0;
        default: return false;
    }
}

namespace {

bool is_compilable(const Block& block, const Kernel& kernel) {
    return std::all_of(block.begin(), block.end(), [&](const Statement& s) {
        if (is_complex(s.dtype)) return false;
        switch (s.kind) {
            case StatementKind::load:
            case StatementKind::store: return !is_complex(kernel.buffers[s.buffer].dtype);
            case StatementKind::apply: return op_def(s.op).primitive != Primitive::none;
            case StatementKind::parallel:
            case StatementKind::serial:
                return s.counts.size() == 1 && is_compilable(s.body, kernel);
            case StatementKind::reduce: {
                for (const Accumulator& a : s.accumulators) {
                    if (is_complex(a.dtype) || op_def(a.combine).primitive == Primitive::none)
                        return false;
                }
                return is_compilable(s.body, kernel);
            }
            default: return true;
        }
    });
}

}  // namespace

bool is_compilable(const Kernel& kernel) {
    // A bound index at the top would be checked by several phases, and by each of their threads.
    const bool binds = std::any_of(kernel.body.begin(), kernel.body.end(), [](const Statement& s) {
        return s.kind == StatementKind::bind;
    });
    std::size_t passed = 0;
    for (const Statement& s : kernel.body) {
        if (s.kind == StatementKind::reduce) passed += s.results.size();
    }
    return !binds && passed <= kPassedValues && is_compilable(kernel.body, kernel);
}

}  // namespace lazuli::codegen
