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
        for (const Expr& v : kernel_.variables) {
            if (v.name().empty()) fail("a variable without a name");
            if (v.bounds().low < 1)
                fail(fmt::format("{} may be {}, and sizes begin at 1", v.name(), v.bounds().low));
            if (is_variable(v.name())) fail(fmt::format("{} stands twice", v.name()));
            variables_.push_back(v);
        }
        for (const KernelBuffer& buffer : kernel_.buffers) {
            check_variables(buffer.elements);
            if (buffer.elements.bounds().low >= 0) continue;
            if (const auto where = find_place(
                    {}, [&](const Place& place) { return place.value_of(buffer.elements) < 0; }))
                fail(fmt::format("{} has a negative size{}", buffer.name, where->str()));
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
    bool is_variable(std::string_view name) const {
        return std::any_of(variables_.begin(), variables_.end(),
                           [&](const Expr& v) { return v.name() == name; });
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
        if (!kernel_.variables.empty()) return check_places(s, index);
        const Bounds bounds = index.bounds();
        // An index under a condition is right where the condition holds; what that says beyond
        // single variables is for the tests to find.
        if (s.valid) return;
        const std::int64_t elements = buffer.elements.constant().value();
        // Counted from the end, an index that goes down stays below as well.
        const Expr mirrored = -index + (elements - 1);
        if ((bounds.high >= elements && !stays_below(index, elements)) ||
            (bounds.low < 0 && !stays_below(mirrored, elements)))
            fail(fmt::format("{}[{}] reaches {} to {} of {} elements", buffer.name, s.index->str(),
                             bounds.low, bounds.high, elements));
    }
    /// The same where sizes are variables: by proof, or by looking at places.
    void check_places(const Statement& s, const Expr& index) const {
        const KernelBuffer& buffer = kernel_.buffers[s.buffer];
        if (prove(at_least(index, index * 0)) == Truth::yes &&
            prove(less(index, buffer.elements)) == Truth::yes)
            return;
        std::vector<Expr> used{*s.index};
        if (s.valid) used.push_back(*s.valid);
        const auto leaves = [&](const Place& place) {
            if (s.valid && place.value_of(*s.valid) == 0) return false;
            const std::int64_t at = place.value_of(*s.index);
            return at < 0 || at >= place.value_of(buffer.elements);
        };
        if (const auto where = find_place(used, leaves))
            fail(fmt::format("{}[{}] is element {} of {}{}", buffer.name, s.index->str(),
                             where->value_of(*s.index), where->value_of(buffer.elements),
                             where->str()));
    }

    /// A value for each variable that some expressions need.
    struct Place {
        std::vector<std::pair<Expr, std::int64_t>> values;

        std::int64_t value_of(const Expr& e) const {
            return e.evaluate([&](Expr v) {
                for (const auto& [variable, value] : values) {
                    if (variable == v) return value;
                }
                throw InternalError(fmt::format("{} has no value", v.name()));
            });
        }
        std::string str() const {
            std::string out;
            for (const auto& [variable, value] : values)
                out += fmt::format("{}{} = {}", out.empty() ? " where " : ", ", variable.name(),
                                   value);
            return out;
        }
    };

    /// A place for which `is_wrong` holds, among those at the ends of all variables' bounds and
    /// some between; none where there is no such.
    template <class IsWrong>
    std::optional<Place> find_place(const std::vector<Expr>& used, const IsWrong& is_wrong) const {
        constexpr std::uint64_t kEnds = 256;
        constexpr std::uint64_t kBetween = 64;
        const std::vector<Count> needed = variables_of(used);
        const auto count = kernel_.variables.size() + needed.size();
        const std::uint64_t all_ends = count < 8 ? std::uint64_t{1} << count : kEnds;
        for (std::uint64_t i = 0; i < all_ends + kBetween; ++i) {
            const bool at_ends = i < all_ends;
            // Where there are too many to try them all: the lowest, the highest, and some drawn.
            std::uint64_t bits = i;
            if (count >= 8 && i > 0) bits = i == 1 ? ~std::uint64_t{0} : drawn(i);
            std::size_t number = 0;
            const auto chosen = [&](Bounds bounds) {
                if (at_ends) return (bits >> (number++ % 64) & 1) != 0 ? bounds.high : bounds.low;
                const auto range = static_cast<std::uint64_t>(bounds.high - bounds.low) + 1;
                const std::uint64_t draw = drawn(bits + (++number << 32));
                return bounds.low + static_cast<std::int64_t>(range == 0 ? draw : draw % range);
            };
            try {
                Place place;
                for (const Expr& v : kernel_.variables)
                    place.values.emplace_back(v, chosen(v.bounds()));
                bool exists = true;
                for (const Count& c : needed) {
                    const std::int64_t size = place.value_of(c.size);
                    exists = exists && size > 0;
                    place.values.emplace_back(c.variable, exists ? chosen({0, size - 1}) : 0);
                }
                if (exists && is_wrong(place)) return place;
            } catch (const ArgumentError&) {
                // Numbers beyond 64 bits: no memory is so large, and no run comes here.
            }
        }
        return std::nullopt;
    }
    static std::uint64_t drawn(std::uint64_t number) {
        std::uint64_t x = number * 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
        return x ^ (x >> 32);
    }
    /// The counters that expressions need, and those that their sizes do, outer ones first.
    std::vector<Count> variables_of(const std::vector<Expr>& used) const {
        std::vector<Expr> open = used;
        std::vector<bool> needed(counts_.size(), false);
        while (!open.empty()) {
            const auto vars = open.back().vars();
            open.pop_back();
            for (std::size_t i = 0; i < counts_.size(); ++i) {
                if (needed[i] ||
                    std::find(vars.begin(), vars.end(), counts_[i].variable) == vars.end())
                    continue;
                needed[i] = true;
                open.push_back(counts_[i].size);
            }
        }
        std::vector<Count> out;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (needed[i]) out.push_back(counts_[i]);
        }
        return out;
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
            if (c.variable.name().empty() &&
                !(c.variable.constant() == 0 && c.size.constant() == 1))
                fail("a loop counts no variable");
        }
        for (const Count& c : s.counts) define(c);
    }
    void define(const Count& c) {
        for (const Expr& v : kernel_.variables) {
            if (v.name() == c.variable.name())
                fail(fmt::format("{} counts steps, and is a size", v.name()));
        }
        variables_.push_back(c.variable);
        counts_.push_back(c);
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
                return define(s.counts[0]);
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
    std::vector<Count> counts_;  // of all loops and bound indices so far, each its own variable
};

}  // namespace

void Kernel::verify() const { Verifier(*this).run(); }

void Kernel::check_sizes(std::span<const std::int64_t> sizes) const {
    if (sizes.size() != variables.size())
        throw ArgumentError(
            fmt::format("{}: {} sizes given for {}", name, sizes.size(), variables.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Bounds bounds = variables[i].bounds();
        if (sizes[i] < bounds.low || sizes[i] > bounds.high)
            throw ArgumentError(fmt::format("{}: {} = {} is not within {} to {}", name,
                                            variables[i].name(), sizes[i], bounds.low,
                                            bounds.high));
    }
}

}  // namespace lazuli::codegen
