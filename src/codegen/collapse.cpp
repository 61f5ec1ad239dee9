#include "codegen/collapse.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codegen/phases.h"

namespace lazuli::codegen {

namespace {

/// Applies `change` to every expression of a block.
void for_each_expr(Block& block, const std::function<void(Expr&)>& change) {
    for (Statement& s : block) {
        if (s.index) change(*s.index);
        if (s.valid) change(*s.valid);
        for (Count& c : s.counts) change(c.size);
        for_each_expr(s.body, change);
    }
}

/// Whether some counter inside is bounded by a variable: its bounds would have to be found anew.
bool has_bounded_counters(const Block& block, const Expr& a, const Expr& b) {
    return std::any_of(block.begin(), block.end(), [&](const Statement& s) {
        for (const Count& c : s.counts) {
            for (const Expr& v : c.size.vars()) {
                if (v == a || v == b) return true;
            }
        }
        return has_bounded_counters(s.body, a, b);
    });
}

class Collapse {
   public:
    explicit Collapse(Kernel& kernel) : kernel_(kernel) {}

    void run() {
        for (Statement& s : kernel_.body) {
            if (s.kind != StatementKind::parallel) continue;
            collapse_inside(s);
            while (collapse(s, true)) {
            }
        }
    }

   private:
    /// Loops within the loop, where nothing is divided for it: these are what vectors run along.
    void collapse_inside(Statement& s) {
        for (Statement& inner : s.body) {
            if (inner.kind != StatementKind::serial) continue;
            collapse_inside(inner);
            while (collapse(inner, false)) {
            }
        }
    }

    /// One loop out of the outer and the only statement in it.
    bool collapse(Statement& outer, bool may_divide) {
        if (outer.body.size() != 1 || outer.body[0].kind != StatementKind::serial) return false;
        Statement& inner = outer.body[0];
        const Expr i = outer.counts[0].variable;
        const Expr j = inner.counts[0].variable;
        const Expr columns = inner.counts[0].size;
        if (!is_size(outer.counts[0].size) || !is_size(columns) ||
            has_bounded_counters(inner.body, i, j))
            return false;
        const Expr steps = outer.counts[0].size * columns;
        const Expr both = kernel_.context->counter(fmt::format("c{}", next_), steps);
        // i * columns + j counts both. Where expressions are written in that sum, nothing is
        // divided; where they are not, a division a step is too much inside a loop without loops.
        const bool divides_freely =
            may_divide && has_loops(inner.body) && !vectorizes_across(inner);
        bool possible = true;
        std::vector<Expr> changed;
        for_each_expr(inner.body, [&](Expr& e) {
            if (!possible) return;
            const auto replaced = written_in(e, i, j, both, columns, divides_freely);
            possible = replaced.has_value();
            if (possible) changed.push_back(*replaced);
        });
        if (!possible) return false;
        std::size_t at = 0;
        for_each_expr(inner.body, [&](Expr& e) { e = changed[at++]; });
        outer.counts[0] = {both, steps};
        Block body = std::move(inner.body);
        outer.body = std::move(body);
        ++next_;
        return true;
    }

    /// Whether it is the same at every step of all loops.
    bool is_size(const Expr& e) const {
        const auto vars = e.vars();
        return std::all_of(vars.begin(), vars.end(), [&](const Expr& v) {
            return std::find(kernel_.variables.begin(), kernel_.variables.end(), v) !=
                   kernel_.variables.end();
        });
    }

    static std::optional<Expr> written_in(const Expr& e, const Expr& i, const Expr& j,
                                          const Expr& both, const Expr& columns,
                                          bool divides_freely) {
        const auto with = [&](const Expr& of_i, const Expr& of_j) {
            return e.substitute([&](Expr v) -> std::optional<Expr> {
                if (v == i) return of_i;
                if (v == j) return of_j;
                return std::nullopt;
            });
        };
        const auto vars = e.vars();
        const bool uses = std::find(vars.begin(), vars.end(), i) != vars.end() ||
                          std::find(vars.begin(), vars.end(), j) != vars.end();
        if (!uses) return e;
        // The same with the sum in the place of j and nothing in that of i, if that gives e back.
        const Expr straight = with(i * 0, both);
        const Expr back = straight.substitute([&](Expr v) -> std::optional<Expr> {
            if (!(v == both)) return std::nullopt;
            return i * columns + j;
        });
        if (back == e) return straight;
        if (!divides_freely) return std::nullopt;
        return with(floor_div(both, columns), mod(both, columns));
    }

    Kernel& kernel_;
    int next_ = 0;
};

}  // namespace

void collapse_loops(Kernel& kernel) { Collapse(kernel).run(); }

}  // namespace lazuli::codegen
