#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <map>

#include "symbolic/build.h"
#include "symbolic/interval.h"
#include "symbolic/variables.h"

namespace lazuli {

namespace {

using symbolic::Guard;
using symbolic::Interner;
using symbolic::Node;

/// Where the expressions of sizes live, for as long as the process does.
Interner& dims() {
    static Interner& interner = *[] {
        auto* made = new Interner;
        made->lock = new std::recursive_mutex;
        return made;
    }();
    return interner;
}

// A size that is an expression holds its node's address, counted from the lowest number.
std::int64_t raw_of(const Node* node) { return INT64_MIN + reinterpret_cast<std::intptr_t>(node); }
const Node* node_of(Dim dim) {
    return reinterpret_cast<const Node*>(static_cast<std::intptr_t>(dim.raw() - INT64_MIN));
}

[[noreturn]] void overflow(Dim a, const char* sign, Dim b) {
    throw ShapeError(fmt::format("{} {} {} does not fit 64 bits", a.str(), sign, b.str()), a.str(),
                     b.str());
}

const Node* in_dims(Dim dim) {
    return dim.is_concrete() ? symbolic::constant(dims(), dim.raw()) : node_of(dim);
}

template <class Make>
Dim combine(Dim a, Dim b, const Make& make) {
    const Guard guard(dims());
    const Node* node = make(dims(), in_dims(a), in_dims(b));
    return node->is_constant() ? Dim(node->value) : Dim::from_raw(raw_of(node));
}

using detail::are_numbers;

void refuse_zero(Dim a, const char* sign, Dim b) {
    if (b == Dim(0)) throw ArgumentError(fmt::format("{} {} 0: division by zero", a.str(), sign));
}

}  // namespace

Dim::Dim(Expr expr) {
    const Guard guard(dims());
    if (const auto value = expr.constant()) {
        *this = Dim(*value);
        return;
    }
    raw_ = raw_of(symbolic::import_into(dims(), expr.node()));
}

void Dim::refuse(std::int64_t value) { throw ArgumentError(fmt::format("{} is no size", value)); }

void Dim::refuse_symbolic() const {
    throw ShapeError(fmt::format("the size {} has no value yet", str()), "a number", str());
}

Expr Dim::expr() const {
    const Guard guard(dims());
    return Expr(in_dims(*this));
}

Bounds Dim::bounds() const { return is_concrete() ? Bounds{raw_, raw_} : node_of(*this)->bounds; }

std::string Dim::str() const {
    return is_concrete() ? fmt::format("{}", raw_) : Expr(node_of(*this)).str();
}

std::int64_t Dim::evaluate(std::span<const SizeBinding> bindings) const {
    if (is_concrete()) return raw_;
    return expr().evaluate([&](Expr variable) {
        for (const auto& [name, value] : bindings) {
            if (name != variable.name()) continue;
            const Bounds bounds = variable.bounds();
            if (value < bounds.low || value > bounds.high) {
                throw ArgumentError(fmt::format("{} = {} is not between {} and {}", name, value,
                                                bounds.low, bounds.high));
            }
            return value;
        }
        throw ArgumentError(fmt::format("{}: {} has no value", str(), variable.name()));
    });
}

Dim dim(std::string_view name, std::int64_t low, std::int64_t high) {
    symbolic::check_variable_name(name);
    if (low > high) {
        throw ArgumentError(
            fmt::format("dim {}: no number lies between {} and {}", name, low, high));
    }
    const Guard guard(dims());
    // Programs that were read may have a variable of this name with bounds of their own: that is
    // another one.
    static std::map<std::string, Bounds, std::less<>>& asked =
        *new std::map<std::string, Bounds, std::less<>>;
    const auto [same, is_new] = asked.try_emplace(std::string(name), Bounds{low, high});
    const Bounds before = same->second;
    if (before != Bounds{low, high}) {
        throw ArgumentError(fmt::format("dim {}: lies between {} and {}, not {} and {}", name,
                                        before.low, before.high, low, high));
    }
    const Node* node = symbolic::variable(dims(), name, {low, high}, nullptr);
    return node->is_constant() ? Dim(node->value) : Dim::from_raw(raw_of(node));
}

Dim any_dim() {
    static std::atomic<std::uint64_t> made{0};
    constexpr std::int64_t kHighest = std::int64_t{1} << 31;
    return dim(fmt::format("_{}", ++made), 1, kHighest);
}

namespace detail {

bool is_expression(std::int64_t raw) {
    if (Dim::from_raw(raw).is_concrete()) return false;
    const Guard guard(dims());
    return dims().holds(node_of(Dim::from_raw(raw)));
}

Dim add(Dim a, Dim b) {
    if (are_numbers(a, b)) overflow(a, "+", b);
    return combine(
        a, b, [](Interner& in, const Node* x, const Node* y) { return symbolic::add(in, x, y); });
}

Dim subtract(Dim a, Dim b) {
    if (are_numbers(a, b)) overflow(a, "-", b);
    return combine(a, b, [](Interner& in, const Node* x, const Node* y) {
        return symbolic::add(in, x, y, -1);
    });
}

Dim multiply(Dim a, Dim b) {
    if (are_numbers(a, b)) overflow(a, "*", b);
    return combine(a, b, symbolic::multiply);
}

Dim divide(Dim a, Dim b) {
    refuse_zero(a, "/", b);
    if (are_numbers(a, b)) return symbolic::floor_divide(a.raw(), b.raw());
    return combine(a, b, symbolic::quotient);
}

Dim remainder(Dim a, Dim b) {
    refuse_zero(a, "%", b);
    if (are_numbers(a, b)) return symbolic::floor_remainder(a.raw(), b.raw());
    return combine(a, b, symbolic::remainder);
}

Dim smaller(Dim a, Dim b) {
    return combine(a, b, [](Interner& in, const Node* x, const Node* y) {
        return symbolic::extreme(in, symbolic::Kind::minimum, x, y);
    });
}

Dim larger(Dim a, Dim b) {
    return combine(a, b, [](Interner& in, const Node* x, const Node* y) {
        return symbolic::extreme(in, symbolic::Kind::maximum, x, y);
    });
}

Truth not_below(Dim a, Dim b) {
    const Guard guard(dims());
    return symbolic::sign_of_size(dims(), symbolic::add(dims(), in_dims(a), in_dims(b), -1));
}

}  // namespace detail

}  // namespace lazuli
