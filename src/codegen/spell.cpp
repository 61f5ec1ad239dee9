#include "codegen/spell.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace lazuli::codegen {

namespace {

DType computed_in(DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

/// The op of a primitive.
OpId op_of(Primitive primitive) {
    static const auto table = [] {
        std::array<OpId, 64> out{};
        for (int i = 0; i < op_count(); ++i) {
            const Primitive p = op_def(static_cast<OpId>(i)).primitive;
            if (p != Primitive::none) out[static_cast<std::size_t>(p)] = static_cast<OpId>(i);
        }
        return out;
    }();
    return table[static_cast<std::size_t>(primitive)];
}

ValueId count_values(const Block& block) {
    ValueId next = 0;
    for (const Statement& s : block) {
        for (const ValueId id : s.results) next = std::max(next, id + 1);
        next = std::max(next, count_values(s.body));
    }
    return next;
}

class Speller final : public TermBuilder {
   public:
    explicit Speller(Kernel& kernel) : kernel_(kernel), next_(count_values(kernel.body)) {}

    void run() { kernel_.body = block(std::move(kernel_.body)); }

    Term apply(Primitive primitive, DType dtype, std::span<const Term> operands) override {
        Statement s{.kind = StatementKind::apply, .dtype = dtype};
        s.op = op_of(primitive);
        for (const Term& operand : operands) s.operands.push_back(operand.id);
        return emit(std::move(s));
    }
    Term constant(const Scalar& value, DType dtype) override {
        Statement s{.kind = StatementKind::constant, .dtype = dtype};
        s.fill = value.as(dtype);
        return emit(std::move(s));
    }

   private:
    Block block(Block statements) {
        Block outer = std::move(out_);
        out_.clear();
        for (Statement& s : statements) statement(std::move(s));
        Block made = std::move(out_);
        out_ = std::move(outer);
        return made;
    }

    Term emit(Statement s) {
        const Term term{this, next_++, s.dtype};
        s.results = {term.id};
        out_.push_back(std::move(s));
        return term;
    }

    /// The term that stands for a value of the kernel as it was.
    Term term(ValueId id) const { return terms_.at(id); }
    void stands_for(ValueId id, Term term) { terms_[id] = term; }

    /// A statement whose result is of a narrow type, and is wide from here on.
    void push_widened(Statement s) {
        const ValueId id = s.results[0];
        const DType dtype = s.dtype;
        stands_for(id, {this, id, dtype});
        out_.push_back(std::move(s));
        if (computed_in(dtype) == dtype) return;
        const Term wide = cast(term(id), computed_in(dtype));
        narrow_of_[wide.id] = {this, id, dtype};
        stands_for(id, wide);
    }

    void use_terms(Statement& s) const {
        for (ValueId& id : s.operands) id = term(id).id;
    }

    void statement(Statement s) {
        for (const ValueId id : s.results) narrow_[id] = s.dtype;
        switch (s.kind) {
            case StatementKind::load:
            case StatementKind::constant: return push_widened(std::move(s));
            case StatementKind::position: {
                s.dtype = computed_in(s.dtype);
                stands_for(s.results[0], {this, s.results[0], s.dtype});
                out_.push_back(std::move(s));
                return;
            }
            case StatementKind::apply: return apply_op(std::move(s));
            case StatementKind::bind: {
                use_terms(s);
                out_.push_back(std::move(s));
                return;
            }
            case StatementKind::store: {
                const DType dtype = kernel_.buffers[s.buffer].dtype;
                Term value = term(s.operands[0]);
                // What is only moved is stored as it was: a NaN keeps its bits.
                if (const auto at = narrow_of_.find(value.id);
                    at != narrow_of_.end() && at->second.dtype == dtype)
                    value = at->second;
                if (value.dtype != dtype) value = cast(value, dtype);
                s.operands = {value.id};
                out_.push_back(std::move(s));
                return;
            }
            case StatementKind::parallel:
            case StatementKind::serial: {
                s.body = block(std::move(s.body));
                out_.push_back(std::move(s));
                return;
            }
            case StatementKind::reduce: {
                s.body = block(std::move(s.body));
                for (std::size_t k = 0; k < s.accumulators.size(); ++k) {
                    Accumulator& a = s.accumulators[k];
                    a.from = term(a.from).id;
                    a.dtype = computed_in(a.dtype);
                    a.init = a.init.as(a.dtype);
                    stands_for(s.results[k], {this, s.results[k], a.dtype});
                }
                s.dtype = computed_in(s.dtype);
                out_.push_back(std::move(s));
                return;
            }
        }
    }

    void apply_op(Statement s) {
        const OpDef& def = op_def(s.op);
        const ValueId id = s.results[0];
        if (def.primitive == Primitive::cast || def.primitive == Primitive::bitcast) {
            // A cast to a narrow type rounds, and what follows sees the rounded value; bits are
            // looked at in the type that has them.
            const DType before = narrow_.at(s.operands[0]);
            Term from = term(s.operands[0]);
            if (def.primitive == Primitive::bitcast && from.dtype != before) {
                const auto at = narrow_of_.find(from.id);
                from = at != narrow_of_.end() ? at->second : cast(from, before);
            }
            s.operands = {from.id};
            return push_widened(std::move(s));
        }
        if (moves(def.primitive) && has_narrow(s)) {
            // What is only moved stays as it is: a NaN keeps its bits.
            for (ValueId& operand : s.operands) {
                const Term value = term(operand);
                const auto at = narrow_of_.find(value.id);
                operand = at != narrow_of_.end() ? at->second.id : value.id;
            }
            return push_widened(std::move(s));
        }
        std::vector<Term> operands;
        for (const ValueId operand : s.operands) operands.push_back(term(operand));
        use_terms(s);
        s.dtype = computed_in(s.dtype);
        if (def.expand != nullptr) {
            if (const auto expanded = def.expand(operands)) return stands_for(id, *expanded);
        }
        stands_for(id, {this, id, s.dtype});
        out_.push_back(std::move(s));
    }

    static bool moves(Primitive primitive) {
        return primitive == Primitive::select || primitive == Primitive::copy;
    }
    /// Whether the result is narrow, and all values it may be are there in that type.
    bool has_narrow(const Statement& s) const {
        if (computed_in(s.dtype) == s.dtype) return false;
        const std::size_t first = s.operands.size() == 3 ? 1 : 0;  // behind the condition
        for (std::size_t i = first; i < s.operands.size(); ++i) {
            if (!narrow_of_.contains(term(s.operands[i]).id)) return false;
        }
        return true;
    }

    Kernel& kernel_;
    ValueId next_;
    Block out_;
    std::unordered_map<ValueId, Term> terms_;
    std::unordered_map<ValueId, DType> narrow_;    // types as they were
    std::unordered_map<ValueId, Term> narrow_of_;  // what was widened
};

}  // namespace

void spell_out(Kernel& kernel) { Speller(kernel).run(); }

}  // namespace lazuli::codegen
