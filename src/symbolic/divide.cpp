// Quotients and remainders.
//
// Both rest on the same splits of a dividend n by a divisor m > 0:
//   whole multiples   n = m*q + r          n / m = q + r / m            n % m = r % m
//   one period        k*m <= r < (k+1)*m   r / m = k                    r % m = r - k*m
//   common factor     r = g*x + c, m = g*k r / m = (x + c/g) / k        r % m = g*((x + c/g) % k) +
//   c % g small part        r = g*x + s, 0 <= s < g, m = g*k                  the same, with s for
//   c

#include <algorithm>
#include <numeric>
#include <optional>

#include "symbolic/build.h"
#include "symbolic/interval.h"

namespace lazuli::symbolic {

namespace {

const Node* quotient_atom(Interner& in, const Node* a, const Node* b) {
    const Term terms[] = {{1, a}, {1, b}};
    Bounds bounds = kUnbounded;
    if (b->bounds.low > 0) {
        const Bounds& n = a->bounds;
        const Bounds& m = b->bounds;
        const auto divide = [](std::int64_t x, std::int64_t y) {
            if (!is_finite(x)) return x;
            return is_finite(y) ? floor_divide(x, y) : x < 0 ? std::int64_t{-1} : std::int64_t{0};
        };
        bounds = {n.low < 0 ? divide(n.low, m.low) : divide(n.low, m.high),
                  n.high < 0 ? divide(n.high, m.high) : divide(n.high, m.low)};
    }
    return in.intern({.kind = Kind::quotient, .terms = terms, .bounds = bounds});
}

const Node* remainder_atom(Interner& in, const Node* a, const Node* b) {
    const Term terms[] = {{1, a}, {1, b}};
    Bounds bounds = kUnbounded;
    if (b->bounds.low > 0) {
        bounds = {0, is_finite(b->bounds.high) ? b->bounds.high - 1 : kInfinity};
        if (a->bounds.low >= 0) bounds.high = std::min(bounds.high, a->bounds.high);
    }
    return in.intern({.kind = Kind::remainder, .terms = terms, .bounds = bounds});
}

/// k where k*m <= r < (k+1)*m everywhere.
std::optional<std::int64_t> period(Interner& in, const Node* r, std::int64_t m) {
    if (is_finite(r->bounds)) {
        const std::int64_t k = floor_divide(r->bounds.low, m);
        if (k == floor_divide(r->bounds.high, m)) return k;
    }
    if (!r->relational) return std::nullopt;
    for (const std::int64_t k : {0, -1}) {
        const Node* from = add(in, r, constant(in, -k * m));
        if (sign(in, from) == Truth::yes &&
            sign(in, add(in, constant(in, m - 1), from, -1)) == Truth::yes)
            return k;
    }
    return std::nullopt;
}

/// A dividend split by a number into what decides the quotient and a small part.
struct Split {
    std::int64_t unit;  // every term of `high` is a multiple of it, and it divides the divisor
    const Node* high;   // divided by the unit
    const Node* small;  // in [0, unit)
};

std::optional<Split> split_small(Interner& in, const Node* r, std::int64_t m) {
    Term single{};
    const auto terms = terms_of(r, single);
    std::vector<std::int64_t> units;
    for (const Term& term : terms) {
        const std::int64_t g = std::gcd(term.coef, m);
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
        const std::int64_t c = constant_part(r);
        const Node* rest = sum(in, floor_remainder(c, unit), std::move(small));
        const auto k = period(in, rest, unit);
        if (!k) continue;
        return Split{unit, sum(in, checked_add(floor_divide(c, unit), *k), std::move(high)),
                     add(in, rest, constant(in, -*k * unit))};
    }
    return std::nullopt;
}

/// a = m*whole + rest, each coefficient of `rest` below m and its constant in [0, m).
struct Whole {
    const Node* whole;
    const Node* rest;
};

Whole split_whole(Interner& in, const Node* a, std::int64_t m) {
    Term single{};
    Terms whole;
    Terms rest;
    for (const Term& term : terms_of(a, single)) {
        if (term.coef / m != 0) whole.push_back({term.coef / m, term.node});
        if (term.coef % m != 0) rest.push_back({term.coef % m, term.node});
    }
    const std::int64_t c = constant_part(a);
    return {sum(in, floor_divide(c, m), std::move(whole)),
            sum(in, floor_remainder(c, m), std::move(rest))};
}

const Node* quotient_by_number(Interner& in, const Node* a, std::int64_t m) {
    const Node* by = constant(in, m);
    const auto [whole, rest] = split_whole(in, a, m);
    if (const auto k = period(in, rest, m)) return add(in, whole, constant(in, *k));
    if (rest != a) return add(in, whole, quotient(in, rest, by));
    if (const auto split = split_small(in, a, m))
        return quotient(in, split->high, constant(in, m / split->unit));
    Term single{};
    const auto terms = terms_of(a, single);
    if (terms.size() == 1 && terms[0].coef == 1) {
        const Node& inner = *terms[0].node;
        const std::int64_t c = constant_part(a);
        // (y / n + c) / m => (y + c*n) / (n*m)
        if (inner.is(Kind::quotient) && inner[1].node->is_constant() && inner[1].node->value > 0 &&
            multiply_ends(inner[1].node->value, m) != kInfinity) {
            const std::int64_t n = inner[1].node->value;
            return quotient(in, add(in, inner[0].node, constant(in, checked_multiply(c, n))),
                            constant(in, n * m));
        }
        // y % n / m => y / m % (n/m), where m divides n
        if (inner.is(Kind::remainder) && c == 0 && inner[1].node->is_constant() &&
            inner[1].node->value > 0 && inner[1].node->value % m == 0) {
            return remainder(in, quotient(in, inner[0].node, by),
                             constant(in, inner[1].node->value / m));
        }
    }
    return quotient_atom(in, a, by);
}

const Node* remainder_by_number(Interner& in, const Node* a, std::int64_t m) {
    const Node* by = constant(in, m);
    const Node* rest = split_whole(in, a, m).rest;
    if (const auto k = period(in, rest, m)) return add(in, rest, constant(in, -*k * m));
    // c * (y % n) => c * y, where m divides c*n
    Term single{};
    for (const Term& term : terms_of(rest, single)) {
        const Node& inner = *term.node;
        if (!inner.is(Kind::remainder) || !inner[1].node->is_constant() ||
            inner[1].node->value <= 0)
            continue;
        const std::int64_t multiple = multiply_ends(term.coef, inner[1].node->value);
        if (!is_finite(multiple) || multiple % m != 0) continue;
        const Node* without = add(in, rest, term.node, -term.coef);
        return remainder(in, add(in, without, inner[0].node, term.coef), by);
    }
    if (rest != a) return remainder(in, rest, by);
    if (const auto split = split_small(in, a, m)) {
        const Node* high = remainder(in, split->high, constant(in, m / split->unit));
        return add(in, split->small, high, split->unit);
    }
    return remainder_atom(in, a, by);
}

/// term / by, where it divides exactly and `by` is a single term; null where it does not.
const Node* exact(Interner& in, const Term& term, const Term& by) {
    if (term.coef % by.coef != 0) return nullptr;
    Terms factors;
    if (term.node->is(Kind::product)) {
        factors.assign(term.node->begin(), term.node->end());
    } else {
        factors.push_back({1, term.node});
    }
    const auto remove = [&](const Node* factor) {
        const auto at = std::find(factors.begin(), factors.end(), Term{1, factor});
        if (at == factors.end()) return false;
        factors.erase(at);
        return true;
    };
    if (by.node->is(Kind::product)) {
        for (const Term& factor : *by.node) {
            if (!remove(factor.node)) return nullptr;
        }
    } else if (!remove(by.node)) {
        return nullptr;
    }
    const Node* out = constant(in, term.coef / by.coef);
    for (const Term& factor : factors) out = multiply(in, out, factor.node);
    return out;
}

/// a = b*whole + rest, by dividing terms of `a` by the leading term of `b`.
Whole split_whole(Interner& in, const Node* a, const Node* b) {
    constexpr int kMaxSteps = 16;
    Term single_b{};
    const Term lead = terms_of(b, single_b).back();
    Whole out{constant(in, 0), a};
    for (int step = 0; step < kMaxSteps; ++step) {
        const Node* part = nullptr;
        Term single{};
        for (const Term& term : terms_of(out.rest, single)) {
            part = exact(in, term, lead);
            if (part != nullptr) break;
        }
        if (part == nullptr) break;
        out.whole = add(in, out.whole, part);
        out.rest = add(in, out.rest, multiply(in, part, b), -1);
    }
    return out;
}

bool is_below(Interner& in, const Node* r, const Node* b) {
    return sign(in, r) == Truth::yes &&
           sign(in, add(in, add(in, b, r, -1), constant(in, -1))) == Truth::yes;
}

bool is_one_term(const Node* node) {
    return !node->is(Kind::sum) || (node->count == 1 && node->value == 0);
}

/// r / b with a factor that both have taken out; null where there is none. `b` is one term.
const Node* without_common_factor(Interner& in, const Node* r, const Node* b) {
    Term single_b{};
    const Term by = terms_of(b, single_b)[0];
    std::vector<Term> factors;
    if (by.coef > 1) factors.push_back({by.coef, nullptr});
    if (by.node->is(Kind::product)) {
        factors.insert(factors.end(), by.node->begin(), by.node->end());
    } else {
        factors.push_back({1, by.node});
    }
    for (const Term& factor : factors) {
        const Node* f = factor.node == nullptr ? constant(in, factor.coef) : factor.node;
        if (f == b || f->bounds.low <= 0) continue;
        // r = f*high + small with 0 <= small < f: the small part decides nothing.
        Term single{};
        const Node* high = constant(in, 0);
        const Node* small = constant(in, constant_part(r));
        for (const Term& term : terms_of(r, single)) {
            const Node* part =
                factor.node == nullptr
                    ? (term.coef % factor.coef == 0 ? scale(in, term.node, term.coef / factor.coef)
                                                    : nullptr)
                    : exact(in, term, {1, factor.node});
            if (part != nullptr) {
                high = add(in, high, part);
            } else {
                small = add(in, small, term.node, term.coef);
            }
        }
        if (high->is_constant() || !is_below(in, small, f)) continue;
        const Node* rest_of_b = constant(in, 1);
        if (factor.node == nullptr) {
            rest_of_b = scale(in, by.node, 1);
        } else {
            rest_of_b = exact(in, by, {1, factor.node});
        }
        return quotient(in, high, rest_of_b);
    }
    return nullptr;
}

}  // namespace

const Node* quotient(Interner& in, const Node* a, const Node* b) {
    if (b->is_constant()) {
        if (b->value == 0) return quotient_atom(in, a, b);
        if (a->is_constant()) return constant(in, floor_divide(a->value, b->value));
        if (b->value < 0) return quotient(in, scale(in, a, -1), scale(in, b, -1));
        return b->value == 1 ? a : quotient_by_number(in, a, b->value);
    }
    if (b->bounds.high < 0) return quotient(in, scale(in, a, -1), scale(in, b, -1));
    if (b->bounds.low <= 0) return quotient_atom(in, a, b);
    const auto [whole, rest] = split_whole(in, a, b);
    if (is_below(in, rest, b)) return whole;
    if (is_below(in, add(in, rest, b), b)) return add(in, whole, constant(in, -1));
    if (!is_one_term(b)) return quotient_atom(in, a, b);
    if (rest != a) return add(in, whole, quotient(in, rest, b));
    if (const Node* simpler = without_common_factor(in, a, b)) return simpler;
    return quotient_atom(in, a, b);
}

const Node* remainder(Interner& in, const Node* a, const Node* b) {
    if (b->is_constant()) {
        if (b->value == 0) return remainder_atom(in, a, b);
        if (a->is_constant()) return constant(in, floor_remainder(a->value, b->value));
        if (b->value < 0) return scale(in, remainder(in, scale(in, a, -1), scale(in, b, -1)), -1);
        return b->value == 1 ? constant(in, 0) : remainder_by_number(in, a, b->value);
    }
    if (b->bounds.high < 0) return scale(in, remainder(in, scale(in, a, -1), scale(in, b, -1)), -1);
    if (b->bounds.low <= 0) return remainder_atom(in, a, b);
    const auto [whole, rest] = split_whole(in, a, b);
    if (is_below(in, rest, b)) return rest;
    if (is_below(in, add(in, rest, b), b)) return add(in, rest, b);
    if (is_one_term(b) && rest != a) return remainder(in, rest, b);
    return remainder_atom(in, a, b);
}

}  // namespace lazuli::symbolic
