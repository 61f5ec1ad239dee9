// Sums and products, kept multiplied out.

#include <algorithm>

#include "symbolic/build.h"
#include "symbolic/interval.h"

namespace lazuli::symbolic {

namespace {

/// A product of sums is not multiplied out beyond this many terms.
constexpr std::size_t kMaxTerms = 64;

void sort_and_merge(Terms& terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return compare(a.node, b.node) < 0; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        if (kept > 0 && terms[kept - 1].node == terms[i].node) {
            terms[kept - 1].coef = checked_add(terms[kept - 1].coef, terms[i].coef);
        } else {
            terms[kept++] = terms[i];
        }
    }
    terms.resize(kept);
    std::erase_if(terms, [](const Term& term) { return term.coef == 0; });
}

/// k*(y % m) + k*m*(y / m) => k*y, and k*(y % m) + k*m*(y / m % n) => k*(y % (m*n)).
/// Returns what the two terms become, scaled by k in `out.coef`; removes them from `terms`.
bool join_digits(Interner& in, Terms& terms, Term& out) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
        if (!terms[i].node->is(Kind::remainder)) continue;
        const Node* y = (*terms[i].node)[0].node;
        const Node* m = (*terms[i].node)[1].node;
        for (std::size_t j = 0; j < terms.size(); ++j) {
            const Node* high = terms[j].node;
            const Node* joined = nullptr;
            if (m->is_constant()) {
                std::int64_t wanted = 0;
                if (!high->is(Kind::quotient) && !high->is(Kind::remainder)) continue;
                if (__builtin_mul_overflow(terms[i].coef, m->value, &wanted) ||
                    terms[j].coef != wanted || i == j)
                    continue;
                const Node* q = quotient(in, y, m);
                if (high == q) {
                    joined = y;
                } else if (high->is(Kind::remainder) && (*high)[0].node == q &&
                           (*high)[1].node->is_constant() && (*high)[1].node->value > 0 &&
                           multiply_ends((*high)[1].node->value, m->value) != kInfinity) {
                    joined = remainder(in, y, scale(in, m, (*high)[1].node->value));
                }
            } else if (high->is(Kind::product) && terms[j].coef == terms[i].coef &&
                       m->bounds.low > 0) {
                if (high == multiply(in, m, quotient(in, y, m))) joined = y;
            }
            if (joined == nullptr) continue;
            out = {terms[i].coef, joined};
            const auto [first, second] = std::minmax(i, j);
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(first));
            return true;
        }
    }
    return false;
}

void append_scaled(Terms& terms, std::int64_t& value, const Node* node, std::int64_t factor) {
    if (node->is_constant() || node->is(Kind::sum))
        value = checked_add(value, checked_multiply(node->value, factor));
    if (node->is(Kind::sum)) {
        for (const Term& term : *node)
            terms.push_back({checked_multiply(term.coef, factor), term.node});
    } else if (!node->is_constant()) {
        terms.push_back({factor, node});
    }
}

/// The product of two nodes of which none is a sum or a constant.
const Node* join_factors(Interner& in, const Node* a, const Node* b) {
    Terms factors;
    const auto take = [&](const Node* node) {
        if (node->is(Kind::product)) {
            factors.insert(factors.end(), node->begin(), node->end());
        } else {
            factors.push_back({1, node});
        }
    };
    take(a);
    take(b);
    std::sort(factors.begin(), factors.end(),
              [](const Term& x, const Term& y) { return compare(x.node, y.node) < 0; });
    Bounds bounds{1, 1};
    for (std::size_t i = 0; i < factors.size(); ++i) {
        Bounds part = factors[i].node->bounds;
        if (i + 1 < factors.size() && factors[i + 1].node == factors[i].node) {
            part = part * part;
            part.low = std::max<std::int64_t>(part.low, 0);  // a square
            ++i;
        }
        bounds = bounds * part;
    }
    return in.intern({.kind = Kind::product, .terms = factors, .bounds = bounds});
}

}  // namespace

std::int64_t constant_part(const Node* node) {
    return node->is_constant() || node->is(Kind::sum) ? node->value : 0;
}

std::span<const Term> terms_of(const Node* const& node, Term& single) {
    if (node->is_constant()) return {};
    if (node->is(Kind::sum)) return {node->begin(), node->end()};
    single = {1, node};
    return {&single, 1};
}

const Node* constant(Interner& in, std::int64_t value) {
    if (!is_finite(value)) too_large();
    return in.intern({.kind = Kind::constant, .value = value, .bounds = {value, value}});
}

const Node* variable(Interner& in, std::string_view name, Bounds bounds, const Node* size) {
    const auto same = in.variables.find(name);
    if (same != in.variables.end()) {
        for (const Node* node : same->second) {
            if (node->bounds == bounds && node->size == size) return node;
        }
    }
    if (bounds.low == bounds.high) return constant(in, bounds.low);
    const std::string* kept = same != in.variables.end() ? same->second[0]->name : in.keep(name);
    const Node* node = in.intern({.kind = Kind::variable,
                                  .value = in.variable_count++,
                                  .bounds = bounds,
                                  .name = kept,
                                  .size = size});
    in.variables[*kept].push_back(node);
    return node;
}

const Node* sum(Interner& in, std::int64_t value, Terms terms) {
    sort_and_merge(terms);
    Term joined{};
    while (join_digits(in, terms, joined)) {
        append_scaled(terms, value, joined.node, joined.coef);
        sort_and_merge(terms);
    }
    if (terms.empty()) return constant(in, value);
    if (value == 0 && terms.size() == 1 && terms[0].coef == 1) return terms[0].node;
    if (!is_finite(value)) too_large();
    Bounds bounds{value, value};
    for (const Term& term : terms)
        bounds = bounds + Bounds{term.coef, term.coef} * term.node->bounds;
    return in.intern({.kind = Kind::sum, .value = value, .terms = terms, .bounds = bounds});
}

const Node* add(Interner& in, const Node* a, const Node* b, std::int64_t factor) {
    std::int64_t value = 0;
    Terms terms;
    append_scaled(terms, value, a, 1);
    append_scaled(terms, value, b, factor);
    return sum(in, value, std::move(terms));
}

const Node* scale(Interner& in, const Node* a, std::int64_t factor) {
    if (factor == 1) return a;
    if (factor == 0) return constant(in, 0);
    std::int64_t value = 0;
    Terms terms;
    append_scaled(terms, value, a, factor);
    return sum(in, value, std::move(terms));
}

const Node* multiply(Interner& in, const Node* a, const Node* b) {
    if (a->is_constant()) return scale(in, b, a->value);
    if (b->is_constant()) return scale(in, a, b->value);
    Term single_a{};
    Term single_b{};
    const auto left = terms_of(a, single_a);
    const auto right = terms_of(b, single_b);
    if (left.size() * right.size() > kMaxTerms) return join_factors(in, a, b);
    std::int64_t value = checked_multiply(constant_part(a), constant_part(b));
    Terms terms;
    for (const Term& x : left) {
        if (constant_part(b) != 0)
            terms.push_back({checked_multiply(x.coef, constant_part(b)), x.node});
        for (const Term& y : right)
            terms.push_back({checked_multiply(x.coef, y.coef), join_factors(in, x.node, y.node)});
    }
    for (const Term& y : right) {
        if (constant_part(a) != 0)
            terms.push_back({checked_multiply(y.coef, constant_part(a)), y.node});
    }
    return sum(in, value, std::move(terms));
}

}  // namespace lazuli::symbolic
