#include <fmt/format.h>

#include <algorithm>

#include "symbolic/build.h"
#include "symbolic/interval.h"

namespace lazuli {

using symbolic::Guard;
using symbolic::Interner;
using symbolic::Kind;
using symbolic::Node;
using symbolic::Term;

namespace symbolic {

namespace {

__int128 value_of(const Node* node, const std::function<std::int64_t(Expr)>& variable) {
    const auto part = [&](std::size_t i) { return value_of((*node)[i].node, variable); };
    switch (node->kind) {
        case Kind::constant: return node->value;
        case Kind::variable: return variable(Expr(node));
        case Kind::sum: {
            __int128 out = node->value;
            for (const Term& term : *node) {
                __int128 product = 0;
                if (__builtin_mul_overflow(value_of(term.node, variable),
                                           static_cast<__int128>(term.coef), &product) ||
                    __builtin_add_overflow(out, product, &out))
                    too_large();
            }
            return out;
        }
        case Kind::product: {
            __int128 out = 1;
            for (const Term& term : *node) {
                if (__builtin_mul_overflow(out, value_of(term.node, variable), &out)) too_large();
            }
            return out;
        }
        case Kind::quotient:
        case Kind::remainder: {
            const __int128 a = part(0);
            const __int128 b = part(1);
            if (b == 0) throw ArgumentError(fmt::format("{}: division by zero", Expr(node).str()));
            const __int128 rest = a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
            return node->is(Kind::remainder) ? rest : (a - rest) / b;
        }
        case Kind::minimum:
        case Kind::maximum: {
            __int128 out = part(0);
            for (std::size_t i = 1; i < node->count; ++i) {
                out = node->is(Kind::minimum) ? std::min(out, part(i)) : std::max(out, part(i));
            }
            return out;
        }
        case Kind::nonneg: return part(0) >= 0 ? 1 : 0;
        case Kind::all: {
            for (std::size_t i = 0; i < node->count; ++i) {
                if (part(i) == 0) return 0;
            }
            return 1;
        }
    }
    __builtin_unreachable();
}

void collect_variables(const Node* node, std::vector<const Node*>& out) {
    if (node->is(Kind::variable) && std::find(out.begin(), out.end(), node) == out.end())
        out.push_back(node);
    for (const Term& term : *node) collect_variables(term.node, out);
}

/// In the first one's context, unless that is the process-wide one.
template <class Make>
Expr combine(Expr a, Expr b, const Make& make) {
    Interner& home = a.node()->home->lock == nullptr ? *a.node()->home : *b.node()->home;
    const Guard guard(home);
    return Expr(make(home, import_into(home, a.node()), import_into(home, b.node())));
}

template <class Make>
Expr combine(Expr a, std::int64_t b, const Make& make) {
    Interner& home = *a.node()->home;
    const Guard guard(home);
    return Expr(make(home, a.node(), constant(home, b)));
}

const Node* plus(Interner& in, const Node* a, const Node* b) { return add(in, a, b); }
const Node* minus(Interner& in, const Node* a, const Node* b) { return add(in, a, b, -1); }
const Node* not_below(Interner& in, const Node* a, const Node* b) {
    return nonneg(in, add(in, a, b, -1));
}

}  // namespace

const Node* import_into(Interner& in, const Node* node) {
    if (node->home == &in) return node;
    if (node->is_constant()) return constant(in, node->value);
    const Substitution::Replacement same = [&](const Node* v) {
        return variable(in, *v->name, v->bounds,
                        v->size == nullptr ? nullptr : import_into(in, v->size));
    };
    return Substitution(in, same)(node);
}

const Node* Substitution::operator()(const Node* node) {
    if (node->is_constant()) return constant(in_, node->value);
    if (const auto at = done_.find(node); at != done_.end()) return at->second;
    const Node* out = nullptr;
    const auto part = [&](std::size_t i) { return (*this)((*node)[i].node); };
    switch (node->kind) {
        case Kind::constant: break;
        case Kind::variable:
            out = replacement_(node);
            if (out == nullptr) out = node;
            break;
        case Kind::sum:
            out = constant(in_, node->value);
            for (const Term& term : *node) out = add(in_, out, (*this)(term.node), term.coef);
            break;
        case Kind::product:
            out = part(0);
            for (std::size_t i = 1; i < node->count; ++i) out = multiply(in_, out, part(i));
            break;
        case Kind::quotient: out = quotient(in_, part(0), part(1)); break;
        case Kind::remainder: out = remainder(in_, part(0), part(1)); break;
        case Kind::minimum:
        case Kind::maximum:
            out = part(0);
            for (std::size_t i = 1; i < node->count; ++i)
                out = extreme(in_, node->kind, out, part(i));
            break;
        case Kind::nonneg: out = nonneg(in_, part(0)); break;
        case Kind::all:
            out = part(0);
            for (std::size_t i = 1; i < node->count; ++i) out = all(in_, out, part(i));
            break;
    }
    done_.emplace(node, out);
    return out;
}

}  // namespace symbolic

bool Expr::is_constant() const { return node_->is_constant(); }

std::optional<std::int64_t> Expr::constant() const {
    return node_->is_constant() ? std::optional(node_->value) : std::nullopt;
}

Bounds Expr::bounds() const { return node_->bounds; }

std::vector<Expr> Expr::vars() const {
    std::vector<const Node*> nodes;
    symbolic::collect_variables(node_, nodes);
    std::sort(nodes.begin(), nodes.end(),
              [](const Node* a, const Node* b) { return a->value < b->value; });
    std::vector<Expr> out;
    for (const Node* node : nodes) out.emplace_back(node);
    return out;
}

std::string_view Expr::name() const {
    return node_->is(Kind::variable) ? std::string_view(*node_->name) : std::string_view();
}

std::int64_t Expr::evaluate(const std::function<std::int64_t(Expr)>& value_of) const {
    const __int128 value = symbolic::value_of(node_, value_of);
    if (value > INT64_MAX || value < INT64_MIN) symbolic::too_large();
    return static_cast<std::int64_t>(value);
}

Expr Expr::substitute(const std::function<std::optional<Expr>(Expr)>& replacement) const {
    Interner& in = *node_->home;
    const Guard guard(in);
    const symbolic::Substitution::Replacement replace = [&](const Node* v) -> const Node* {
        const auto found = replacement(Expr(v));
        return found ? symbolic::import_into(in, found->node()) : nullptr;
    };
    return Expr(symbolic::Substitution(in, replace)(node_));
}

Expr Expr::assuming(Expr condition) const {
    Interner& in = *node_->home;
    const Guard guard(in);
    const Node* given = symbolic::import_into(in, condition.node());
    // What the condition says of single variables.
    std::vector<std::pair<const Node*, Bounds>> known;
    const auto learn = [&](const Node* fact) {
        if (!fact->is(Kind::nonneg)) return;
        const Node* d = (*fact)[0].node;
        Term single{};
        const auto terms = symbolic::terms_of(d, single);
        if (terms.size() != 1 || !terms[0].node->is(Kind::variable) ||
            (terms[0].coef != 1 && terms[0].coef != -1))
            return;
        const std::int64_t c = symbolic::constant_part(d);
        const Node* v = terms[0].node;
        auto at = std::find_if(known.begin(), known.end(),
                               [&](const auto& entry) { return entry.first == v; });
        if (at == known.end()) at = known.insert(known.end(), {v, v->bounds});
        if (terms[0].coef == 1) {
            at->second.low = std::max(at->second.low, -c);
        } else {
            at->second.high = std::min(at->second.high, c);
        }
    };
    if (given->is(Kind::all)) {
        for (const Term& term : *given) learn(term.node);
    } else {
        learn(given);
    }
    if (known.empty()) return *this;
    std::vector<std::pair<const Node*, const Node*>> back;
    for (const auto& [v, bounds] : known) {
        if (bounds.low > bounds.high) return *this;  // the condition never holds
        const Node* narrow = symbolic::variable(in, *v->name, bounds, v->size);
        if (narrow != v) back.emplace_back(narrow, v);
    }
    const symbolic::Substitution::Replacement narrow = [&](const Node* v) -> const Node* {
        for (std::size_t i = 0; i < known.size(); ++i) {
            if (known[i].first == v)
                return symbolic::variable(in, *v->name, known[i].second, v->size);
        }
        return nullptr;
    };
    const symbolic::Substitution::Replacement widen = [&](const Node* v) -> const Node* {
        for (const auto& [from, to] : back) {
            if (from == v) return to;
        }
        return nullptr;
    };
    try {
        return Expr(symbolic::Substitution(in, widen)(symbolic::Substitution(in, narrow)(node_)));
    } catch (const ArgumentError&) {
        return *this;  // a coefficient left 64 bits on the way
    }
}

// ---- contexts

ExprContext::ExprContext() : interner_(std::make_unique<Interner>()) {}
ExprContext::~ExprContext() = default;

Expr ExprContext::constant(std::int64_t value) {
    return Expr(symbolic::constant(*interner_, value));
}

Expr ExprContext::variable(std::string_view name, std::int64_t low, std::int64_t high) {
    if (low > high) {
        throw ArgumentError(
            fmt::format("variable {}: no number lies between {} and {}", name, low, high));
    }
    return Expr(symbolic::variable(*interner_, name, {low, high}, nullptr));
}

Expr ExprContext::counter(std::string_view name, Expr size) {
    const Node* below = import(size).node();
    if (below->bounds.high < 1)
        throw ArgumentError(fmt::format("variable {}: nothing lies below {}", name, size.str()));
    const Bounds bounds{0, symbolic::add_ends(below->bounds.high, -1)};
    return Expr(
        symbolic::variable(*interner_, name, bounds, below->is_constant() ? nullptr : below));
}

Expr ExprContext::import(Expr expr) { return Expr(symbolic::import_into(*interner_, expr.node())); }

std::size_t ExprContext::size() const { return interner_->size(); }

// ---- arithmetic

Expr operator+(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::plus); }
Expr operator+(Expr a, std::int64_t b) { return symbolic::combine(a, b, symbolic::plus); }
Expr operator-(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::minus); }
Expr operator-(Expr a, std::int64_t b) { return symbolic::combine(a, b, symbolic::minus); }
Expr operator-(Expr a) { return a * -1; }
Expr operator*(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::multiply); }
Expr operator*(Expr a, std::int64_t b) { return symbolic::combine(a, b, symbolic::multiply); }
Expr floor_div(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::quotient); }
Expr floor_div(Expr a, std::int64_t b) { return symbolic::combine(a, b, symbolic::quotient); }
Expr mod(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::remainder); }
Expr mod(Expr a, std::int64_t b) { return symbolic::combine(a, b, symbolic::remainder); }

Expr min(Expr a, Expr b) {
    return symbolic::combine(a, b, [](Interner& in, const Node* x, const Node* y) {
        return symbolic::extreme(in, Kind::minimum, x, y);
    });
}

Expr max(Expr a, Expr b) {
    return symbolic::combine(a, b, [](Interner& in, const Node* x, const Node* y) {
        return symbolic::extreme(in, Kind::maximum, x, y);
    });
}

Expr at_least(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::not_below); }
Expr less(Expr a, Expr b) { return at_least(b - 1, a); }
Expr equal(Expr a, Expr b) { return both(at_least(a, b), at_least(b, a)); }
Expr both(Expr a, Expr b) { return symbolic::combine(a, b, symbolic::all); }

Expr negated(Expr condition) {
    const Node* node = condition.node();
    Interner& in = *node->home;
    const Guard guard(in);
    const Node* one = symbolic::constant(in, 1);
    if (!node->is(Kind::nonneg)) return Expr(symbolic::add(in, one, node, -1));
    const Node* d = (*node)[0].node;
    return Expr(symbolic::nonneg(in, symbolic::add(in, symbolic::constant(in, -1), d, -1)));
}

Truth prove(Expr condition) {
    const Bounds bounds = condition.bounds();
    if (bounds.low > 0 || bounds.high < 0) return Truth::yes;
    return bounds.low == 0 && bounds.high == 0 ? Truth::no : Truth::depends;
}

}  // namespace lazuli
