#include "codegen/in_place.h"

#include <algorithm>

namespace lazuli::codegen {

namespace {

/// A load or store, the loops around it from the outside in, and its place in the text.
struct Access {
    const Statement* statement;
    std::vector<const Statement*> loops;
    std::size_t order;
};

/// The accesses of each buffer.
class Accesses {
   public:
    explicit Accesses(const Kernel& kernel)
        : loads(kernel.buffers.size()), stores(kernel.buffers.size()) {
        collect(kernel.body);
    }
    std::vector<std::vector<Access>> loads;
    std::vector<std::vector<Access>> stores;

   private:
    void collect(const Block& block) {
        for (const Statement& s : block) {
            ++order_;
            if (s.kind == StatementKind::load) loads[s.buffer].push_back({&s, loops_, order_});
            if (s.kind == StatementKind::store) stores[s.buffer].push_back({&s, loops_, order_});
            if (!is_loop(s)) continue;
            loops_.push_back(&s);
            collect(s.body);
            loops_.pop_back();
        }
    }
    std::vector<const Statement*> loops_;
    std::size_t order_ = 0;
};

std::vector<Count> counts_behind(const Access& access, std::size_t common) {
    std::vector<Count> out;
    for (std::size_t i = common; i < access.loops.size(); ++i)
        out.insert(out.end(), access.loops[i]->counts.begin(), access.loops[i]->counts.end());
    return out;
}

/// Whether the load is over before the store writes what it reads. In one step of the loops that
/// both stand in, all that is loaded is what that step stores, and no other step stores it: a
/// kernel writes an element once. So it is enough that the load comes first in the text.
bool is_over_before(const Access& load, const Access& store) {
    // What is loaded outside of all loops, machine code loads where it is used, and again in every
    // phase that does.
    if (load.order > store.order || load.loops.empty()) return false;
    std::size_t common = 0;
    while (common < load.loops.size() && common < store.loops.size() &&
           load.loops[common] == store.loops[common])
        ++common;
    const std::vector<Count> own = counts_behind(load, common);
    const std::vector<Count> theirs = counts_behind(store, common);
    const auto same_size = [](const Count& a, const Count& b) { return a.size == b.size; };
    if (!std::equal(own.begin(), own.end(), theirs.begin(), theirs.end(), same_size)) return false;
    const Expr index = load.statement->index->substitute([&](Expr variable) -> std::optional<Expr> {
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (own[i].variable == variable) return theirs[i].variable;
        }
        return std::nullopt;
    });
    return index == *store.statement->index;
}

}  // namespace

std::vector<InPlace> find_in_place(const Kernel& kernel) {
    const Accesses accesses(kernel);
    std::vector<InPlace> out;
    for (std::size_t written = 0; written < kernel.buffers.size(); ++written) {
        const KernelBuffer& to = kernel.buffers[written];
        const auto& stores = accesses.stores[written];
        if (!to.written || to.scratch || stores.size() != 1 || !accesses.loads[written].empty())
            continue;
        for (std::size_t read = 0; read < kernel.buffers.size(); ++read) {
            const KernelBuffer& from = kernel.buffers[read];
            if (from.written || from.scratch || !(from.elements == to.elements) ||
                size_of(from.dtype) != size_of(to.dtype))
                continue;
            const auto& loads = accesses.loads[read];
            if (!loads.empty() && std::all_of(loads.begin(), loads.end(), [&](const Access& load) {
                    return is_over_before(load, stores[0]);
                }))
                out.push_back({read, written});
        }
    }
    return out;
}

}  // namespace lazuli::codegen
