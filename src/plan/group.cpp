// Grouping starts from few stored values (the results, and what backends must see in memory) and
// puts everything else into the kernels that need it. Then each kernel is lowered on trial; where
// that shows an operation computed more often than it is worth, the last value before the work
// multiplies is stored as well, and the grouping is made anew.

#include "plan/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace lazuli::plan {

namespace {

using Number = std::uint32_t;

/// Sums of products, whose operands are in memory or packed, and whose elements are written once.
bool is_product(const OpDef& def) {
    return def.lowering == Lowering::contraction || def.lowering == Lowering::convolution;
}
bool is_summing(const OpDef& def) { return def.lowering == Lowering::reduction || is_product(def); }

/// Functions of elements that are one instruction.
bool is_instruction(const OpDef& def) {
    static const std::set<std::string_view> names{
        "add", "sub", "mul", "neg", "abs", "maximum", "minimum",     "select",     "cast",
        "eq",  "ne",  "lt",  "le",  "gt",  "ge",      "logical_and", "logical_or", "logical_not"};
    return names.contains(def.name);
}

class Grouper {
   public:
    Grouper(const Program& program, const GroupCosts& costs)
        : program_(program), costs_(costs), stored_(program.size()), users_(program.size()) {}

    std::vector<Grouped> run() {
        find_users();
        find_free();
        store_what_must_be();
        store_between_contractions();
        for (;;) {
            std::vector<Grouped> groups = build();
            if (!split_the_worst(groups)) return groups;
        }
    }

   private:
    void store(Number operation, std::string why) {
        if (stored_[operation].empty()) stored_[operation] = std::move(why);
    }
    bool is_stored(Number operation) const { return !stored_[operation].empty(); }

    void find_users() {
        std::set<Number> needed;
        for (const ProgramResult& result : program_.results()) {
            if (!result.value.is_param()) needed.insert(static_cast<Number>(result.value.index()));
        }
        for (auto i = static_cast<Number>(program_.size()); i-- > 0;) {
            if (!needed.contains(i)) continue;
            const Operation operation = program_.operation(i);
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const ValueRef v = operation.input(k);
                if (v.is_param()) continue;
                needed.insert(static_cast<Number>(v.index()));
                auto& users = users_[v.index()];
                if (users.empty() || users.back() != i) users.push_back(i);
            }
        }
        needed_.assign(needed.begin(), needed.end());
    }

    /// What costs nothing to compute where it is needed: movements, and what is made of positions
    /// and constants alone, for which no memory is read.
    void find_free() {
        free_.resize(program_.size(), false);
        std::vector<bool> unread(program_.size(), false);  // made without reading memory
        for (const Number i : needed_) {
            const Operation operation = program_.operation(i);
            const OpDef& def = operation.def();
            const bool moves = def.move != nullptr;
            bool from_unread = has(def.traits, Trait::elementwise) || moves;
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const ValueRef v = operation.input(k);
                from_unread = from_unread && !v.is_param() && unread[v.index()];
            }
            unread[i] = def.lowering == Lowering::constant || def.lowering == Lowering::position ||
                        from_unread;
            free_[i] = moves || unread[i];
        }
    }
    bool is_free(Number operation) const { return free_[operation]; }

    /// A contraction takes functions of elements and reductions over rows for operands, but no
    /// other contraction: that one is stored, with what follows it element by element.
    void store_between_contractions() {
        std::vector<bool> feeds(program_.size(), false);  // an operand of a contraction
        for (std::size_t n = needed_.size(); n-- > 0;) {
            const Number i = needed_[n];
            const Operation operation = program_.operation(i);
            const bool contracts = is_product(operation.def());
            if (contracts && feeds[i])
                store(end_of_epilogue(i), "an operand of another contraction");
            if (contracts) store_where_broadcast(end_of_epilogue(i));
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const ValueRef v = operation.input(k);
                if (!v.is_param() && (contracts || (feeds[i] && !is_stored(i))))
                    feeds[v.index()] = true;
            }
        }
    }

    /// A contraction writes each of its elements once: where they are repeated behind it, they are
    /// stored first.
    void store_where_broadcast(Number end) {
        const Shape shape = program_.operation(end).spec().shape;
        for (const Number user : users_[end]) {
            const Operation operation = program_.operation(user);
            if (has(operation.def().traits, Trait::elementwise) &&
                !(operation.spec().shape == shape))
                store(end, fmt::format("repeated by {}", operation.def().name));
        }
    }

    /// The last operation up to which everything behind `op` is functions of elements of its shape
    /// that lead to that one value: what a kernel can do with an element before it stores it.
    Number end_of_epilogue(Number op) const {
        const Shape shape = program_.operation(op).spec().shape;
        std::set<Number> region{op};
        std::set<Number> open(users_[op].begin(), users_[op].end());
        Number end = op;
        while (!open.empty() && !is_stored(end) && region.size() < costs_.largest / 2) {
            const Number next = *open.begin();
            open.erase(open.begin());
            const Operation operation = program_.operation(next);
            if (!has(operation.def().traits, Trait::elementwise) ||
                !(operation.spec().shape == shape))
                break;
            region.insert(next);
            open.insert(users_[next].begin(), users_[next].end());
            const bool leads_here = std::all_of(region.begin(), region.end(), [&](Number member) {
                if (member == next) return true;
                return !is_stored(member) &&
                       std::all_of(users_[member].begin(), users_[member].end(),
                                   [&](Number user) { return region.contains(user); });
            });
            if (leads_here) end = next;
        }
        return end;
    }

    void store_what_must_be() {
        for (const ProgramResult& result : program_.results()) {
            if (!result.value.is_param())
                store(static_cast<Number>(result.value.index()), "result");
        }
        for (const Number i : needed_) {
            const Operation operation = program_.operation(i);
            if (codegen::is_lowered(operation)) continue;
            store(i, fmt::format("{} is a kernel of its own", operation.def().name));
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const ValueRef v = operation.input(k);
                if (!v.is_param())
                    store(static_cast<Number>(v.index()),
                          fmt::format("read by {}", operation.def().name));
            }
        }
    }

    /// The operations that computing `root` takes, stored ones excepted.
    std::vector<Number> cone(Number root) const {
        std::set<Number> members;
        std::vector<Number> open{root};
        while (!open.empty()) {
            const Number at = open.back();
            open.pop_back();
            if (!members.insert(at).second) continue;
            const Operation operation = program_.operation(at);
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const ValueRef v = operation.input(k);
                if (!v.is_param() && !is_stored(static_cast<Number>(v.index())))
                    open.push_back(static_cast<Number>(v.index()));
            }
        }
        return {members.begin(), members.end()};
    }

    std::vector<Grouped> build() {
        std::vector<Grouped> out;
        std::map<Number, std::size_t> group_of;  // where each stored value is computed
        for (const Number i : needed_) {
            if (!is_stored(i)) continue;
            Grouped next;
            next.opaque = !codegen::is_lowered(program_.operation(i));
            next.group = {next.opaque ? std::vector<Number>{i} : cone(i), {ValueRef::op(i)}};
            next.why = stored_[i];
            if (!next.opaque) {
                if (const auto with = partner(out, next, group_of)) {
                    join(out[*with], next);
                    group_of[i] = *with;
                    continue;
                }
            }
            group_of[i] = out.size();
            out.push_back(std::move(next));
        }
        return out;
    }

    /// An earlier kernel over the same positions that shares work with this one, and that nothing
    /// between them stands on.
    std::optional<std::size_t> partner(const std::vector<Grouped>& groups, const Grouped& next,
                                       const std::map<Number, std::size_t>& group_of) const {
        const ValueRef root = next.group.outputs[0];
        for (std::size_t g = groups.size(); g-- > 0;) {
            const Grouped& other = groups[g];
            if (other.opaque ||
                other.group.operations.size() + next.group.operations.size() > costs_.largest)
                continue;
            if (!(program_.spec(other.group.outputs[0]).shape == program_.spec(root).shape))
                continue;
            const bool shares = std::any_of(
                next.group.operations.begin(), next.group.operations.end(), [&](Number op) {
                    return !is_free(op) && std::binary_search(other.group.operations.begin(),
                                                              other.group.operations.end(), op);
                });
            if (!shares && !reads_at_its_position(next, other)) continue;
            if (products_of(next, other) > 1) continue;
            if (reads_later_group(next, g, group_of)) continue;
            return g;
        }
        return std::nullopt;
    }

    /// How many products a kernel of both would hold.
    std::size_t products_of(const Grouped& next, const Grouped& other) const {
        std::set<Number> out;
        for (const Grouped* grouped : {&next, &other}) {
            for (const Number op : grouped->group.operations) {
                if (is_product(program_.operation(op).def())) out.insert(op);
            }
        }
        return out.size();
    }

    /// Whether the kernel reads an output of `other` only by functions of elements, so that it can
    /// take the value before it is stored.
    bool reads_at_its_position(const Grouped& next, const Grouped& other) const {
        bool reads = false;
        for (const Number op : next.group.operations) {
            const Operation operation = program_.operation(op);
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const auto& outputs = other.group.outputs;
                if (std::find(outputs.begin(), outputs.end(), operation.input(k)) == outputs.end())
                    continue;
                const bool same = has(operation.def().traits, Trait::elementwise) &&
                                  operation.spec().shape == program_.spec(operation.input(k)).shape;
                if (!same || !reaches_root_elementwise(op, next)) return false;
                reads = true;
            }
        }
        return reads;
    }

    /// Whether every way from the operation to the kernel's root goes through functions of elements
    /// of one shape.
    bool reaches_root_elementwise(Number op, const Grouped& next) const {
        const auto& members = next.group.operations;
        const Shape shape = program_.operation(op).spec().shape;
        std::set<Number> seen;
        std::vector<Number> open{op};
        while (!open.empty()) {
            const Number at = open.back();
            open.pop_back();
            if (!seen.insert(at).second) continue;
            const Operation operation = program_.operation(at);
            if (!has(operation.def().traits, Trait::elementwise) ||
                !(operation.spec().shape == shape))
                return false;
            for (const Number user : users_[at]) {
                if (std::binary_search(members.begin(), members.end(), user)) open.push_back(user);
            }
        }
        return true;
    }

    /// Whether the kernel reads what groups behind `g` compute: then it cannot run there.
    bool reads_later_group(const Grouped& next, std::size_t g,
                           const std::map<Number, std::size_t>& group_of) const {
        for (const Number op : next.group.operations) {
            const Operation operation = program_.operation(op);
            for (std::size_t k = 0; k < operation.input_count(); ++k) {
                const ValueRef v = operation.input(k);
                if (v.is_param()) continue;
                const auto at = group_of.find(static_cast<Number>(v.index()));
                if (at != group_of.end() && at->second > g) return true;
            }
        }
        return false;
    }

    static void join(Grouped& into, const Grouped& from) {
        std::vector<Number> all;
        std::set_union(into.group.operations.begin(), into.group.operations.end(),
                       from.group.operations.begin(), from.group.operations.end(),
                       std::back_inserter(all));
        into.group.operations = std::move(all);
        into.group.outputs.push_back(from.group.outputs[0]);
    }

    /// Stores one more value where a kernel would compute something too often. False where none
    /// does.
    bool split_the_worst(const std::vector<Grouped>& groups) {
        if (split_the_large(groups) || split_products(groups)) return true;
        std::map<Number, double> total;
        for (const Grouped& grouped : groups) {
            if (grouped.opaque) continue;
            for (const codegen::Work& work : work_of(grouped.group))
                total[work.operation] += work.evaluations;
        }
        std::optional<Number> worst;
        double excess = 1.0000001;  // sums of floating-point numbers are not exact
        double times = 0;
        for (const auto& [op, evaluations] : total) {
            if (is_free(op) || is_stored(op)) continue;
            const Operation operation = program_.operation(op);
            const double elements =
                std::max(1.0, static_cast<double>(operation.spec().shape.numel()));
            const double limit = limit_of(operation);
            if (evaluations / (elements * limit) <= excess) continue;
            excess = evaluations / (elements * limit);
            times = evaluations / elements;
            worst = op;
        }
        if (!worst) return false;
        const Number end = end_of_epilogue(*worst);
        store(is_stored(end) ? *worst : end,
              fmt::format("{} would be computed {:.3g} times for each element",
                          program_.operation(*worst).def().name, times));
        return true;
    }

    /// How often an operation may be computed.
    double limit_of(const Operation& operation) const {
        if (is_summing(operation.def())) return costs_.reduction;
        if (!is_instruction(operation.def())) return costs_.elementwise;
        // Kernels that compute it again read its operands instead of it: of those that are as
        // large, one is no more to read.
        std::size_t large = 0;
        for (std::size_t k = 0; k < operation.input_count(); ++k) {
            const Shape& shape = program_.spec(operation.input(k)).shape;
            if (shape.numel() >= operation.spec().shape.numel()) ++large;
        }
        return large <= 1 ? costs_.cheap : costs_.elementwise;
    }

    /// What a kernel computes how often. Most groups are the same from one grouping to the next.
    const std::vector<codegen::Work>& work_of(const codegen::Group& group) {
        std::vector<Number> key = group.operations;
        for (const ValueRef output : group.outputs) key.push_back(output.raw);
        const auto [at, is_new] = works_.try_emplace(std::move(key));
        if (is_new) at->second = codegen::lower(program_, group, "trial").work;
        return at->second;
    }

    /// A kernel is built around one product: of several, the one with the most work stays, and the
    /// others are stored.
    bool split_products(const std::vector<Grouped>& groups) {
        bool any = false;
        for (const Grouped& grouped : groups) {
            if (grouped.opaque) continue;
            std::optional<Number> most;
            double largest = -1;
            std::vector<Number> all;
            for (const Number number : grouped.group.operations) {
                const Operation operation = program_.operation(number);
                if (!is_product(operation.def())) continue;
                all.push_back(number);
                const double work = work_of(operation);
                if (work > largest) most = number;
                largest = std::max(largest, work);
            }
            for (const Number number : all) {
                if (number == most || is_stored(number)) continue;
                store(number, "the kernel is built around another product");
                any = true;
            }
        }
        return any;
    }

    /// How many multiplications a product takes, or a number that grows with them.
    double work_of(const Operation& operation) const {
        double work = 1;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            work *= static_cast<double>(program_.spec(operation.input(k)).shape.numel());
        return work;
    }

    /// Cuts kernels of too many operations into pieces, all at once.
    bool split_the_large(const std::vector<Grouped>& groups) {
        bool any = false;
        for (const Grouped& grouped : groups) {
            const auto& operations = grouped.group.operations;
            if (operations.size() <= costs_.largest) continue;
            const std::size_t piece = std::max<std::size_t>(1, costs_.largest / 2);
            for (std::size_t i = piece; i < operations.size(); i += piece) {
                if (is_stored(operations[i])) continue;
                store(operations[i], "the kernel would be too large");
                any = true;
            }
        }
        return any;
    }

    const Program& program_;
    const GroupCosts& costs_;
    std::vector<std::string> stored_;  // why, or nothing
    std::vector<std::vector<Number>> users_;
    std::vector<Number> needed_;  // ascending
    std::vector<bool> free_;
    std::map<std::vector<Number>, std::vector<codegen::Work>> works_;  // operations, then outputs
};

}  // namespace

std::vector<Grouped> group(const Program& program, const GroupCosts& costs) {
    return Grouper(program, costs).run();
}

}  // namespace lazuli::plan
