#include <cstring>
#include <unordered_map>

#include "codegen/kernel.h"
#include "lazuli/error.h"

namespace lazuli::codegen {

namespace {

/// A kernel written anew with numbers for its variables. Counters are made again: they know how far
/// they go.
class Substitute {
   public:
    Substitute(const Kernel& kernel, std::span<const std::int64_t> sizes) : from_(kernel) {
        for (std::size_t i = 0; i < sizes.size(); ++i)
            known_.emplace(context().import(kernel.variables[i]).node(),
                           context().constant(sizes[i]));
    }

    Kernel run() {
        out_.name = from_.name;
        for (KernelBuffer buffer : from_.buffers) {
            buffer.elements = changed(buffer.elements);
            out_.buffers.push_back(std::move(buffer));
        }
        out_.body = block(from_.body);
        return std::move(out_);
    }

   private:
    ExprContext& context() { return *out_.context; }

    /// All in the new context: the kernel's own may be another thread's.
    Expr changed(const Expr& e) {
        return context().import(e).substitute([&](Expr v) -> std::optional<Expr> {
            const auto at = known_.find(v.node());
            if (at == known_.end()) throw InternalError("a variable without a value");
            return at->second;
        });
    }

    Block block(const Block& statements) {
        Block out;
        for (const Statement& s : statements) statement(s, out);
        return out;
    }

    void statement(const Statement& s, Block& out) {
        Statement made = s;
        bool empty = false;
        for (Count& c : made.counts) {
            const Expr before = context().import(c.variable);
            c.size = changed(c.size);
            empty = empty || c.size.bounds().high < 1;
            // What counts nothing is not there; that it has a value does no harm.
            const Expr counter =
                empty ? context().constant(0) : context().counter(c.variable.name(), c.size);
            known_.insert_or_assign(before.node(), counter);
            c.variable = counter;
        }
        if (empty && is_loop(s)) return without_steps(s, out);
        if (s.index) made.index = changed(*s.index);
        if (s.valid) made.valid = changed(*s.valid);
        made.body = block(s.body);
        out.push_back(std::move(made));
    }

    /// What a loop of no steps leaves behind.
    static void without_steps(const Statement& s, Block& out) {
        for (std::size_t i = 0; i < s.results.size(); ++i) {
            Statement made{.kind = StatementKind::constant, .dtype = s.accumulators[i].dtype};
            made.results = {s.results[i]};
            made.fill = combined(s.accumulators[i], s.lanes);
            out.push_back(std::move(made));
        }
    }

    /// All lanes as they begin, combined in halves.
    static Scalar combined(const Accumulator& a, int lanes) {
        const OpDef& def = op_def(a.combine);
        const TensorSpec spec{a.dtype, {}};
        alignas(16) unsigned char value[16] = {};
        store_scalar(a.init, a.dtype, value);
        for (; lanes > 1; lanes /= 2) {
            alignas(16) unsigned char both[16] = {};
            const HostArray operands[] = {{value, &spec}, {value, &spec}};
            def.evaluate({def, Attrs(def, {}), operands, &spec, both});
            std::memcpy(value, both, sizeof value);
        }
        return load_scalar(a.dtype, value);
    }

    const Kernel& from_;
    Kernel out_;
    std::unordered_map<const symbolic::Node*, Expr> known_;
};

}  // namespace

Kernel substitute(const Kernel& kernel, std::span<const std::int64_t> sizes) {
    kernel.check_sizes(sizes);
    return Substitute(kernel, sizes).run();
}

}  // namespace lazuli::codegen
