// Comparisons: the sign of a difference, conditions, and the smaller or larger of two.

#include <algorithm>
#include <map>
#include <numeric>

#include "lazuli/error.h"
#include "symbolic/build.h"
#include "symbolic/interval.h"

namespace lazuli::symbolic {

namespace {

bool occurs_in(const Node* variable, const Node* node) {
    if (variable == node) return true;
    return std::any_of(node->begin(), node->end(),
                       [&](const Term& term) { return occurs_in(variable, term.node); });
}

/// The expression that d is `c * v + rest` with, where `v` occurs nowhere else; null where it does.
const Node* coefficient(Interner& in, const Node* d, const Node* v) {
    const Node* out = constant(in, 0);
    Term single{};
    for (const Term& term : terms_of(d, single)) {
        if (term.node == v) {
            out = add(in, out, constant(in, term.coef));
        } else if (term.node->is(Kind::product)) {
            const Node* rest = constant(in, term.coef);
            bool found = false;
            for (const Term& factor : *term.node) {
                if (factor.node == v && !found) {
                    found = true;
                } else {
                    rest = multiply(in, rest, factor.node);
                }
            }
            if (!found) rest = constant(in, 0);
            if (occurs_in(v, found ? rest : term.node)) return nullptr;
            out = add(in, out, rest);
        } else if (occurs_in(v, term.node)) {
            return nullptr;
        }
    }
    return out;
}

/// The variables that stand in the terms of a sum, alone or as factors. Counters come first: their
/// bounds bring in other variables.
std::vector<const Node*> linear_variables(const Node* d) {
    std::vector<const Node*> out;
    const auto take = [&](const Node* node) {
        if (node->is(Kind::variable) && std::find(out.begin(), out.end(), node) == out.end())
            out.push_back(node);
    };
    Term single{};
    for (const Term& term : terms_of(d, single)) {
        take(term.node);
        if (!term.node->is(Kind::product)) continue;
        for (const Term& factor : *term.node) take(factor.node);
    }
    std::stable_sort(out.begin(), out.end(), [](const Node* a, const Node* b) {
        return (a->size != nullptr) > (b->size != nullptr);
    });
    return out;
}

/// Whether d >= 0 everywhere: by its bounds, or by putting the worst value of one variable after
/// the other in its place. `budget` bounds the search.
bool always_nonneg(Interner& in, const Node* d, int& budget) {
    if (d->bounds.low >= 0) return true;
    if (d->bounds.high < 0 || --budget < 0) return false;
    for (const Node* v : linear_variables(d)) {
        const Node* slope = coefficient(in, d, v);
        if (slope == nullptr) continue;
        const Node* worst = nullptr;
        const bool rises =
            slope->bounds.low >= 0 || (!slope->is_constant() && always_nonneg(in, slope, budget));
        if (rises) {
            if (!is_finite(v->bounds.low)) continue;
            worst = constant(in, v->bounds.low);
        } else if (slope->bounds.high <= 0 ||
                   (!slope->is_constant() && always_nonneg(in, scale(in, slope, -1), budget))) {
            if (v->size != nullptr) {
                worst = add(in, v->size, constant(in, -1));
            } else if (is_finite(v->bounds.high)) {
                worst = constant(in, v->bounds.high);
            } else {
                continue;
            }
        } else {
            continue;
        }
        // d = slope*v + rest
        const Node* rest = add(in, d, multiply(in, slope, v), -1);
        return always_nonneg(in, add(in, rest, multiply(in, slope, worst)), budget);
    }
    return false;
}

constexpr int kBudget = 24;

}  // namespace

Truth sign(Interner& in, const Node* d) {
    if (d->bounds.low >= 0) return Truth::yes;
    if (d->bounds.high < 0) return Truth::no;
    // Numbers for bounds are exact for sums of single variables: looking further pays where a bound
    // is an expression, or variables are multiplied.
    const bool products = std::any_of(
        d->begin(), d->end(), [](const Term& term) { return term.node->is(Kind::product); });
    if (!d->relational && !(d->is(Kind::sum) && products)) return Truth::depends;
    try {
        int budget = kBudget;
        if (always_nonneg(in, d, budget)) return Truth::yes;
        budget = kBudget;
        const Node* opposite = add(in, constant(in, -1), d, -1);
        return always_nonneg(in, opposite, budget) ? Truth::no : Truth::depends;
    } catch (const Error&) {  // a number on the way leaves 64 bits: not found out
        return Truth::depends;
    }
}

namespace {

/// Expressions that are not above a factor of a term whose other factors are at least 0, times what
/// its coefficient leaves: m*(x / c) is at least m/c * (x - c + 1), and -m*(x / c) at least -m/c *
/// x; -m*min(x, y) is at least -m*x and -m*y, and m*max(x, y) at least m*x and m*y.
std::vector<std::pair<const Node*, std::int64_t>> lower_factors(Interner& in, const Node* factor,
                                                                std::int64_t coef) {
    if (factor->is(Kind::quotient)) {
        const Node* divisor = (*factor)[1].node;
        if (!divisor->is_constant() || divisor->value < 1 || coef % divisor->value != 0) return {};
        const Node* x = (*factor)[0].node;
        if (coef > 0) x = add(in, x, constant(in, 1 - divisor->value));
        return {{x, coef / divisor->value}};
    }
    if (!factor->is(coef < 0 ? Kind::minimum : Kind::maximum)) return {};
    std::vector<std::pair<const Node*, std::int64_t>> out;
    for (const Term& operand : *factor) out.emplace_back(operand.node, coef);
    return out;
}

/// Expressions that are not above the term.
std::vector<const Node*> lower_terms(Interner& in, const Term& term) {
    Term single{1, term.node};
    const std::span<const Term> factors = term.node->is(Kind::product)
                                              ? std::span(term.node->begin(), term.node->end())
                                              : std::span<const Term>(&single, 1);
    std::vector<const Node*> out;
    for (const Term& found : factors) {
        const Node* rest = constant(in, 1);
        for (const Term& other : factors) {
            if (&other != &found) rest = multiply(in, rest, other.node);
        }
        if (rest->bounds.low < 0) continue;
        for (const auto& [low, coef] : lower_factors(in, found.node, term.coef))
            out.push_back(scale(in, multiply(in, low, rest), coef));
        if (!out.empty()) break;
    }
    return out;
}

/// Whether d >= 0 everywhere, since no coefficient is negative where each factor is written as its
/// lowest value and what is above it: t*t - t is (1 + u)*(1 + u) - (1 + u) = u*u + u.
bool is_nonneg_above_lows(const Node* d) {
    constexpr std::size_t kMostFactors = 8;
    constexpr std::size_t kMostTerms = 256;
    std::map<std::vector<const Node*>, std::int64_t> shifted;
    shifted[{}] = constant_part(d);
    Term single{};
    for (const Term& term : terms_of(d, single)) {
        Term alone{1, term.node};
        const std::span<const Term> factors = term.node->is(Kind::product)
                                                  ? std::span(term.node->begin(), term.node->end())
                                                  : std::span<const Term>(&alone, 1);
        if (factors.size() > kMostFactors) return false;
        // Each choice takes of every factor what is above its lowest value, or that value.
        for (std::size_t choice = 0; choice < std::size_t{1} << factors.size(); ++choice) {
            std::int64_t coef = term.coef;
            std::vector<const Node*> above;
            for (std::size_t i = 0; i < factors.size(); ++i) {
                const std::int64_t low = factors[i].node->bounds.low;
                if (!is_finite(low)) return false;
                if ((choice >> i & 1) != 0) {
                    above.push_back(factors[i].node);
                } else if (__builtin_mul_overflow(coef, low, &coef)) {
                    return false;
                }
            }
            std::sort(above.begin(), above.end());
            std::int64_t& total = shifted[std::move(above)];
            if (__builtin_add_overflow(total, coef, &total)) return false;
        }
        if (shifted.size() > kMostTerms) return false;
    }
    return std::all_of(shifted.begin(), shifted.end(),
                       [](const auto& term) { return term.second >= 0; });
}

/// Whether d >= 0 everywhere, by what its terms are at least. `budget` bounds the search.
bool is_nonneg_by_terms(Interner& in, const Node* d, int& budget) {
    Term single{};
    for (const Term& term : terms_of(d, single)) {
        const std::vector<const Node*> lower = lower_terms(in, term);
        if (lower.empty()) continue;
        for (const Node* low : lower) {
            if (--budget < 0) return false;
            const Node* next = add(in, add(in, d, term.node, -term.coef), low);
            if (sign(in, next) == Truth::yes || is_nonneg_above_lows(next) ||
                is_nonneg_by_terms(in, next, budget))
                return true;
        }
        return false;
    }
    return false;
}

/// A sum that is below 0 exactly where this one is, of which each coefficient can be divided by the
/// divisors in its term: bounds of quotients are whole then. It is so many times this one and,
/// since this one is whole, one less than as many more.
const Node* without_fractions(Interner& in, const Node* d) {
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    std::int64_t times = 1;
    const auto count = [&](const Node* node, std::int64_t coef) {
        if (!node->is(Kind::quotient) || !(*node)[1].node->is_constant()) return;
        const std::int64_t divisor = (*node)[1].node->value;
        if (divisor < 1 || divisor > kMost) return;
        const std::int64_t needed = divisor / std::gcd(divisor, coef);
        if (times < kMost) times = std::lcm(times, needed);
    };
    Term single{};
    for (const Term& term : terms_of(d, single)) {
        count(term.node, term.coef);
        if (!term.node->is(Kind::product)) continue;
        for (const Term& factor : *term.node) count(factor.node, term.coef);
    }
    if (!is_finite(d->bounds) || times >= kMost) return d;
    return add(in, scale(in, d, times), constant(in, times - 1));
}

/// Whether d >= 0 everywhere, by whatever is known here. Where it is v * slope + rest, both may be
/// shown apart: v must not be below 0 then. `depth` bounds how often.
bool is_never_negative(Interner& in, const Node* d, int depth) {
    if (sign(in, d) == Truth::yes || is_nonneg_above_lows(d)) return true;
    int budget = kBudget;
    if (is_nonneg_by_terms(in, without_fractions(in, d), budget)) return true;
    if (depth == 0) return false;
    const auto variables = linear_variables(d);
    return std::any_of(variables.begin(), variables.end(), [&](const Node* v) {
        const Node* slope = v->bounds.low >= 0 ? coefficient(in, d, v) : nullptr;
        if (slope == nullptr || slope->is_constant()) return false;
        return is_never_negative(in, slope, depth - 1) &&
               is_never_negative(in, add(in, d, multiply(in, slope, v), -1), depth - 1);
    });
}

}  // namespace

Truth sign_of_size(Interner& in, const Node* d) {
    const Truth known = sign(in, d);
    if (known != Truth::depends) return known;
    constexpr int kDepth = 2;
    try {
        if (is_never_negative(in, d, kDepth)) return Truth::yes;
        const Node* opposite = add(in, constant(in, -1), d, -1);
        return is_never_negative(in, opposite, kDepth) ? Truth::no : Truth::depends;
    } catch (const Error&) {  // a number on the way leaves 64 bits: not found out
        return Truth::depends;
    }
}

const Node* nonneg(Interner& in, const Node* d) {
    const Truth known = sign(in, d);
    if (known != Truth::depends) return constant(in, known == Truth::yes ? 1 : 0);
    Term single{};
    const auto terms = terms_of(d, single);
    const std::int64_t c = constant_part(d);

    // g*x + s >= 0 with 0 <= s < g  =>  x >= 0
    std::vector<std::int64_t> units;
    for (const Term& term : terms) {
        const std::int64_t g = term.coef < 0 ? -term.coef : term.coef;
        if (g > 1 && std::find(units.begin(), units.end(), g) == units.end()) units.push_back(g);
    }
    std::sort(units.rbegin(), units.rend());
    for (const std::int64_t unit : units) {
        Terms high;
        Terms small;
        for (const Term& term : terms) {
            if (term.coef % unit == 0) {
                high.push_back({term.coef / unit, term.node});
            } else {
                small.push_back(term);
            }
        }
        const Node* rest = sum(in, floor_remainder(c, unit), std::move(small));
        if (!is_finite(rest->bounds)) continue;
        const std::int64_t k = floor_divide(rest->bounds.low, unit);
        if (k != floor_divide(rest->bounds.high, unit)) continue;
        return nonneg(in, sum(in, checked_add(floor_divide(c, unit), k), std::move(high)));
    }
    std::int64_t g = 0;
    for (const Term& term : terms) g = std::gcd(g, term.coef);
    if (g > 1) {
        Terms reduced(terms.begin(), terms.end());
        for (Term& term : reduced) term.coef /= g;
        return nonneg(in, sum(in, floor_divide(c, g), std::move(reduced)));
    }
    if (terms.size() == 1 && terms[0].node->is(Kind::quotient)) {
        const Node& q = *terms[0].node;
        if (q[1].node->is_constant() && q[1].node->value > 0) {
            const std::int64_t n = q[1].node->value;
            // y / n + c >= 0  =>  y + c*n >= 0;   c - y / n >= 0  =>  (c + 1)*n - 1 - y >= 0
            if (terms[0].coef == 1)
                return nonneg(in, add(in, q[0].node, constant(in, checked_multiply(c, n))));
            const std::int64_t end = checked_multiply(checked_add(c, 1), n);
            return nonneg(in, add(in, constant(in, checked_add(end, -1)), q[0].node, -1));
        }
    }
    const Term term{1, d};
    return in.intern({.kind = Kind::nonneg, .terms = {&term, 1}, .bounds = {0, 1}});
}

const Node* all(Interner& in, const Node* a, const Node* b) {
    std::vector<const Node*> conditions;
    for (const Node* node : {a, b}) {
        if (node->is(Kind::all)) {
            for (const Term& term : *node) conditions.push_back(term.node);
        } else if (node->is_constant()) {
            if (node->value == 0) return node;
        } else {
            conditions.push_back(node);
        }
    }
    // Of two conditions that differ by a number only the stronger says something; two that exclude
    // each other never hold.
    std::vector<const Node*> kept;
    for (const Node* condition : conditions) {
        bool needed = true;
        for (std::size_t i = 0; i < kept.size() && needed; ++i) {
            if (kept[i] == condition) needed = false;
            if (!needed || !condition->is(Kind::nonneg) || !kept[i]->is(Kind::nonneg)) continue;
            const Node* difference = add(in, (*condition)[0].node, (*kept[i])[0].node, -1);
            if (!difference->is_constant()) continue;
            if (difference->value >= 0) {
                needed = false;
            } else {
                kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i--));
            }
        }
        if (needed) kept.push_back(condition);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (!kept[i]->is(Kind::nonneg) || !kept[k]->is(Kind::nonneg)) continue;
            if (add(in, (*kept[i])[0].node, (*kept[k])[0].node)->bounds.high < 0)
                return constant(in, 0);
        }
    }
    if (kept.empty()) return constant(in, 1);
    if (kept.size() == 1) return kept[0];
    std::sort(kept.begin(), kept.end(),
              [](const Node* x, const Node* y) { return compare(x, y) < 0; });
    Terms terms;
    for (const Node* node : kept) {
        if (terms.empty() || terms.back().node != node) terms.push_back({1, node});
    }
    if (terms.size() == 1) return terms[0].node;
    return in.intern({.kind = Kind::all, .terms = terms, .bounds = {0, 1}});
}

const Node* extreme(Interner& in, Kind which, const Node* a, const Node* b) {
    std::vector<const Node*> operands;
    for (const Node* node : {a, b}) {
        if (node->is(which)) {
            for (const Term& term : *node) operands.push_back(term.node);
        } else {
            operands.push_back(node);
        }
    }
    const bool smaller = which == Kind::minimum;
    std::vector<const Node*> kept;
    for (const Node* node : operands) {
        bool needed = true;
        for (std::size_t i = 0; i < kept.size() && needed; ++i) {
            const Node* difference = add(in, kept[i], node, -1);
            const Truth above = sign(in, difference);  // kept >= node
            const bool kept_wins =
                smaller ? sign(in, scale(in, difference, -1)) == Truth::yes : above == Truth::yes;
            const bool node_wins =
                smaller ? above == Truth::yes : sign(in, scale(in, difference, -1)) == Truth::yes;
            if (kept_wins) {
                needed = false;
            } else if (node_wins) {
                kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i--));
            }
        }
        if (needed) kept.push_back(node);
    }
    if (kept.size() == 1) return kept[0];
    std::sort(kept.begin(), kept.end(),
              [](const Node* x, const Node* y) { return compare(x, y) < 0; });
    Terms terms;
    Bounds bounds = kept[0]->bounds;
    for (const Node* node : kept) {
        terms.push_back({1, node});
        bounds = smaller ? Bounds{std::min(bounds.low, node->bounds.low),
                                  std::min(bounds.high, node->bounds.high)}
                         : Bounds{std::max(bounds.low, node->bounds.low),
                                  std::max(bounds.high, node->bounds.high)};
    }
    return in.intern({.kind = which, .terms = terms, .bounds = bounds});
}

}  // namespace lazuli::symbolic
