#include "codegen/lines.h"

#include <algorithm>

namespace lazuli::codegen {

namespace {

void collect(const Block& block, StatementKind kind, std::vector<std::size_t>& out) {
    for (const Statement& s : block) {
        if (s.kind == kind && std::find(out.begin(), out.end(), s.buffer) == out.end())
            out.push_back(s.buffer);
        collect(s.body, kind, out);
    }
}

void collect_counters(const Statement& loop, std::vector<Expr>& out) {
    for (const Count& c : loop.counts) out.push_back(c.variable);
    for (const Statement& s : loop.body) collect_counters(s, out);
}

}  // namespace

std::vector<std::size_t> may_be_large(const Kernel& kernel, const Phase& phase) {
    if (!phase.parallel) return {};
    const auto most = [&](std::size_t i) { return kernel.buffers[i].elements.bounds().high; };
    for (const StatementKind kind : {StatementKind::store, StatementKind::load}) {
        std::vector<std::size_t> out;
        collect(kernel.body[phase.first].body, kind, out);
        std::erase_if(out, [&](std::size_t i) {
            const KernelBuffer& buffer = kernel.buffers[i];
            return buffer.elements.is_constant() ||
                   most(i) < kStreamBytes / static_cast<std::int64_t>(size_of(buffer.dtype));
        });
        std::int64_t of_all = 0;
        for (const std::size_t i : out) of_all = std::max(of_all, most(i));
        std::erase_if(out, [&](std::size_t i) { return most(i) < of_all; });
        if (!out.empty()) return out;
    }
    return {};
}

std::optional<std::vector<Expr>> whole_lines(std::span<const Count> around, const Statement& loop,
                                             const Statement& store) {
    std::vector<Expr> inside;
    collect_counters(loop, inside);
    Expr rest = *store.index;
    std::vector<Expr> out;
    for (const Expr& counter : inside) {
        const auto step = symbolic_step(rest, counter);
        if (!step) return std::nullopt;
        // Along the loop itself elements are neighbours, and vectors are whole lines.
        if (counter == loop.counts.back().variable) {
            if (!(step->constant() == 1)) return std::nullopt;
        } else {
            out.push_back(*step);
        }
        rest = rest - counter * *step;
    }
    // Rows that begin on a line now and then are no use: all of them do, or none.
    for (const Count& c : around) {
        const auto step = symbolic_step(rest, c.variable);
        if (!step) continue;
        out.push_back(*step);
        rest = rest - c.variable * *step;
    }
    out.push_back(rest);
    for (const Expr& e : out) {
        for (const Expr& v : e.vars()) {
            if (std::find(inside.begin(), inside.end(), v) != inside.end()) return std::nullopt;
        }
    }
    return out;
}

}  // namespace lazuli::codegen
