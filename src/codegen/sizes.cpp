#include "codegen/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lazuli/error.h"
#include "symbolic/interner.h"
#include "symbolic/interval.h"

namespace lazuli::codegen {

using symbolic::Kind;
using symbolic::Node;

SizeTable::SizeTable(std::span<const Expr> variables) {
    for (const Expr& v : variables) names_.emplace_back(v.name());
}

std::size_t SizeTable::add(Expr expr) {
    const std::uint32_t place = place_of(expr.node());
    const auto at = std::find(results_.begin(), results_.end(), place);
    if (at == results_.end()) {
        results_.push_back(place);
        return results_.size() - 1;
    }
    return static_cast<std::size_t>(at - results_.begin());
}

std::uint32_t SizeTable::place_of(const Instruction& instruction) {
    const Key key{instruction.action, instruction.a, instruction.b, instruction.constant};
    const auto next = static_cast<std::uint32_t>(names_.size() + code_.size());
    const auto [at, is_new] = known_.emplace(key, next);
    if (is_new) code_.push_back(instruction);
    return at->second;
}

std::uint32_t SizeTable::place_of(const Node* node) {
    const auto folded = [&](Action action) {
        std::uint32_t out = place_of((*node)[0].node);
        for (std::size_t i = 1; i < node->count; ++i)
            out = place_of(Instruction{action, out, place_of((*node)[i].node)});
        return out;
    };
    switch (node->kind) {
        case Kind::constant:
            return place_of(Instruction{.action = Action::number, .constant = node->value});
        case Kind::variable: {
            const auto at = std::find(names_.begin(), names_.end(), *node->name);
            if (at == names_.end())
                throw ArgumentError(fmt::format("{} is none of the sizes", *node->name));
            return static_cast<std::uint32_t>(at - names_.begin());
        }
        case Kind::sum: {
            std::uint32_t out =
                place_of(Instruction{.action = Action::number, .constant = node->value});
            for (const symbolic::Term& term : *node)
                out = place_of(
                    Instruction{Action::multiply_add, out, place_of(term.node), term.coef});
            return out;
        }
        case Kind::product: return folded(Action::multiply);
        case Kind::quotient: return folded(Action::quotient);
        case Kind::remainder: return folded(Action::remainder);
        case Kind::minimum: return folded(Action::minimum);
        case Kind::maximum: return folded(Action::maximum);
        case Kind::nonneg:
            return place_of(
                Instruction{.action = Action::not_negative, .a = place_of((*node)[0].node)});
        case Kind::all: return folded(Action::both);
    }
    throw InternalError("an expression of no known kind");
}

bool SizeTable::all_hold(std::span<const std::int64_t> values) const {
    std::vector<std::int64_t> results(results_.size());
    evaluate(values, results);
    return std::ranges::find(results, 0) == results.end();
}

void SizeTable::evaluate(std::span<const std::int64_t> values,
                         std::span<std::int64_t> results) const {
    if (values.size() != names_.size() || results.size() != results_.size())
        throw ArgumentError(fmt::format("{} sizes and {} results given for {} and {}",
                                        values.size(), results.size(), names_.size(),
                                        results_.size()));
    std::array<std::int64_t, 256> few;
    std::vector<std::int64_t> many;
    std::int64_t* at = few.data();
    if (names_.size() + code_.size() > few.size()) {
        many.resize(names_.size() + code_.size());
        at = many.data();
    }
    std::copy(values.begin(), values.end(), at);
    std::int64_t* next = at + values.size();
    for (const Instruction& i : code_) {
        const auto divisor = [&] {
            if (at[i.b] == 0) throw ArgumentError("a size is divided by zero");
            return at[i.b];
        };
        switch (i.action) {
            case Action::number: *next = i.constant; break;
            case Action::multiply_add:
                *next =
                    symbolic::checked_add(at[i.a], symbolic::checked_multiply(at[i.b], i.constant));
                break;
            case Action::multiply: *next = symbolic::checked_multiply(at[i.a], at[i.b]); break;
            case Action::quotient:
                *next = divisor() == -1 ? symbolic::checked_multiply(at[i.a], -1)
                                        : symbolic::floor_divide(at[i.a], at[i.b]);
                break;
            case Action::remainder: *next = symbolic::floor_remainder(at[i.a], divisor()); break;
            case Action::minimum: *next = std::min(at[i.a], at[i.b]); break;
            case Action::maximum: *next = std::max(at[i.a], at[i.b]); break;
            case Action::not_negative: *next = at[i.a] >= 0 ? 1 : 0; break;
            case Action::both: *next = at[i.a] != 0 && at[i.b] != 0 ? 1 : 0; break;
        }
        ++next;
    }
    for (std::size_t i = 0; i < results_.size(); ++i) results[i] = at[results_[i]];
}

}  // namespace lazuli::codegen
