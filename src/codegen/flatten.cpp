#include "codegen/flatten.h"

#include <algorithm>

#include "codegen/phases.h"

namespace lazuli::codegen {

namespace {

class Flatten {
   public:
    Flatten(const Statement& loop, ValueId next) : own_(loop.counts[0].variable), next_(next) {}

    /// False where some loop has more than one step, or not always as many, or where a lane begins
    /// with something.
    bool add(const Block& block, Block& out) {
        return std::all_of(block.begin(), block.end(),
                           [&](const Statement& s) { return add(s, out); });
    }

   private:
    bool add(const Statement& s, Block& out) {
        if (!is_loop(s)) {
            Statement made = s;
            for (Count& c : made.counts) c.size = at_first_step(c.size);
            if (made.index) made.index = at_first_step(*made.index);
            if (made.valid) made.valid = at_first_step(*made.valid);
            out.push_back(std::move(made));
            return true;
        }
        for (const Count& c : s.counts) {
            const Expr size = at_first_step(c.size);
            const auto vars = size.vars();
            if (size.bounds().low > 1 || std::find(vars.begin(), vars.end(), own_) != vars.end())
                return false;
            counters_.push_back(c.variable);
        }
        if (!add(s.body, out)) return false;
        for (std::size_t i = 0; i < s.results.size(); ++i) {
            const Accumulator& a = s.accumulators[i];
            if (!begins_with_nothing(a)) return false;
            static const OpId cast = require_op("cast");
            const ValueId init = next_++;
            const ValueId step = next_++;
            out.push_back({.kind = StatementKind::constant,
                           .dtype = a.dtype,
                           .results = {init},
                           .fill = a.init});
            apply(cast, a.dtype, step, {a.from}, out);
            apply(a.combine, a.dtype, s.results[i], {init, step}, out);
        }
        return true;
    }

    static void apply(OpId op, DType dtype, ValueId result, std::vector<ValueId> operands,
                      Block& out) {
        Statement s{.kind = StatementKind::apply, .dtype = dtype};
        s.results = {result};
        s.operands = std::move(operands);
        s.op = op;
        out.push_back(std::move(s));
    }

    Expr at_first_step(const Expr& e) const {
        return e.substitute([&](Expr v) -> std::optional<Expr> {
            if (std::find(counters_.begin(), counters_.end(), v) == counters_.end())
                return std::nullopt;
            return v * 0;
        });
    }

    const Expr own_;
    ValueId next_;
    std::vector<Expr> counters_;
};

}  // namespace

ValueId behind_all(const Block& block) {
    ValueId out = 0;
    for (const Statement& s : block) {
        for (const ValueId id : s.results) out = std::max(out, id + 1);
        out = std::max(out, behind_all(s.body));
    }
    return out;
}

std::optional<Statement> flattened(const Statement& loop, ValueId next) {
    if (!has_loops(loop.body)) return std::nullopt;
    Statement out = loop;
    out.body.clear();
    if (!Flatten(loop, next).add(loop.body, out.body)) return std::nullopt;
    return out;
}

}  // namespace lazuli::codegen
