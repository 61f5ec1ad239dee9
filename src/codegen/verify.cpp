#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/phases.h"
#include "lazuli/error.h"
#include "symbolic/interner.h"

namespace lazuli::codegen {

namespace {

class Verifier {
   public:
    explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

    void run() {
        for (const KernelBuffer& buffer : kernel_.buffers) {
            if (buffer.elements < 0) fail(fmt::format("{} has a negative size", buffer.name));
        }
        block(kernel_.body);
    }

   private:
    [[noreturn]] void fail(const std::string& why) const {
        throw ArgumentError(fmt::format("malformed kernel {}: {}", kernel_.name, why));
    }
    void define(ValueId id, DType dtype) {
        if (!values_.emplace(id, dtype).second) fail(fmt::format("%{} stands twice", id));
    }
    DType type_of(ValueId id) const {
        const auto at = values_.find(id);
        if (at == values_.end()) fail(fmt::format("%{} is used before it is there", id));
        return at->second;
    }
    /// Every variable of an expression has a value here.
    void check_variables(const Expr& expr) const {
        for (const Expr& variable : expr.vars()) {
            if (std::find(variables_.begin(), variables_.end(), variable) == variables_.end())
                fail(fmt::format("{} has no value in {}", variable.name(), expr.str()));
        }
    }
    void check_access(const Statement& s) const {
        if (s.buffer >= kernel_.buffers.size()) fail("there is no such buffer");
        const KernelBuffer& buffer = kernel_.buffers[s.buffer];
        check_variables(*s.index);
        Expr index = *s.index;
        if (s.valid) {
            check_variables(*s.valid);
            if (s.valid->bounds() == Bounds{0, 0}) return;
            index = index.assuming(*s.valid);
        }
        const Bounds bounds = index.bounds();
        // An index under a condition is right where the condition holds; what that says beyond
        // single variables is for the tests to find.
        if (s.valid) return;
        // Counted from the end, an index that goes down stays below as well.
        const Expr mirrored = -index + (buffer.elements - 1);
        if ((bounds.high >= buffer.elements && !stays_below(index, buffer.elements)) ||
            (bounds.low < 0 && !stays_below(mirrored, buffer.elements)))
            fail(fmt::format("{}[{}] reaches {} to {} of {} elements", buffer.name, s.index->str(),
                             bounds.low, bounds.high, buffer.elements));
    }
    /// Whether an index stays below a number where some counter stays below the smaller of several
    /// expressions: at its last step, with any one of them, it must.
    bool stays_below(const Expr& index, std::int64_t elements) const {
        for (const Count& c : counts_) {
            if (c.size.is_constant()) continue;
            const auto step = step_along(index, c.variable);
            if (!step || *step <= 0) continue;
            const symbolic::Node* size = c.size.node();
            std::vector<Expr> ends{c.size};
            if (size->is(symbolic::Kind::minimum)) {
                for (const symbolic::Term& term : *size) ends.emplace_back(term.node);
            }
            for (const Expr& end : ends) {
                const Expr last = index.substitute([&](Expr v) -> std::optional<Expr> {
                    if (!(v == c.variable)) return std::nullopt;
                    return end - 1;
                });
                if (last.bounds().high < elements) return true;
            }
        }
        return false;
    }
    void block(const Block& statements) {
        const auto variables = variables_;
        const auto values = values_;
        for (const Statement& s : statements) statement(s);
        variables_ = variables;
        // What a block computes ends with it; numbers stay taken.
        values_ = values;
    }
    void counted(const Statement& s) {
        if (s.counts.empty()) fail("a loop counts nothing");
        for (const Count& c : s.counts) {
            check_variables(c.size);
            if (c.variable.name().empty()) fail("a loop counts no variable");
        }
        for (const Count& c : s.counts) {
            variables_.push_back(c.variable);
            counts_.push_back(c);
        }
    }
    void statement(const Statement& s) {
        switch (s.kind) {
            case StatementKind::load:
                check_access(s);
                if (kernel_.buffers[s.buffer].dtype != s.dtype) fail("a load of another type");
                return define(s.results.at(0), s.dtype);
            case StatementKind::constant: return define(s.results.at(0), s.dtype);
            case StatementKind::position:
                check_variables(*s.index);
                return define(s.results.at(0), s.dtype);
            case StatementKind::apply: {
                std::vector<TensorSpec> specs;
                for (const ValueId id : s.operands) specs.push_back({type_of(id), {}});
                const OpDef& def = op_def(s.op);
                if (!has(def.traits, Trait::elementwise) || def.evaluate == nullptr ||
                    specs.size() > 4)
                    fail(fmt::format("{} is no function of elements", def.name));
                return define(s.results.at(0), s.dtype);
            }
            case StatementKind::bind:
                if (kind(type_of(s.operands.at(0))) != Kind::integer)
                    fail("an index that is no integer");
                check_variables(s.counts.at(0).size);
                variables_.push_back(s.counts[0].variable);
                return;
            case StatementKind::store:
                check_access(s);
                if (!kernel_.buffers[s.buffer].written)
                    fail(fmt::format("{} is not to be written", kernel_.buffers[s.buffer].name));
                if (type_of(s.operands.at(0)) != kernel_.buffers[s.buffer].dtype)
                    fail("a store of another type");
                return;
            case StatementKind::parallel:
            case StatementKind::serial: {
                const auto variables = variables_;
                counted(s);
                block(s.body);
                variables_ = variables;
                return;
            }
            case StatementKind::reduce: {
                if (s.lanes < 1 || (s.lanes & (s.lanes - 1)) != 0)
                    fail(fmt::format("{} lanes are no power of 2", s.lanes));
                if (s.results.size() != s.accumulators.size()) fail("one result an accumulator");
                const auto variables = variables_;
                const auto values = values_;
                counted(s);
                for (const Statement& inner : s.body) statement(inner);
                for (const Accumulator& a : s.accumulators) (void)type_of(a.from);
                variables_ = variables;
                values_ = values;
                for (std::size_t i = 0; i < s.results.size(); ++i)
                    define(s.results[i], s.accumulators[i].dtype);
                return;
            }
        }
    }

    const Kernel& kernel_;
    std::map<ValueId, DType> values_;
    std::vector<Expr> variables_;
    std::vector<Count> counts_;  // of all loops so far; variables have one loop each
};

}  // namespace

void Kernel::verify() const { Verifier(*this).run(); }

}  // namespace lazuli::codegen
