#include "ir/fitting.h"

#include <algorithm>
#include <functional>

#include "lazuli/error.h"

namespace lazuli::ir {

namespace {

/// a - b, which may wrap: differences are compared.
std::int64_t minus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// None where a product leaves 64 bits.
NumberValues product_of(const NumberValues& a, const NumberValues& b) {
    NumberValues out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (__builtin_mul_overflow(a[i], b[i], &out[i])) return {};
    }
    return out;
}

}  // namespace

bool is_constant(const NumberValues& values) {
    return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

void Fitting::add_variable(Dim variable, const NumberValues& values) {
    variables_.push_back(variable);
    for (std::size_t i = 0; i < values.size(); ++i)
        bindings_[i].emplace_back(variable.str(), values[i]);
}

const NumberValues& Fitting::values_of(Dim size) {
    const auto [found, is_new] = known_.try_emplace(size.raw());
    if (is_new) {
        try {
            for (const auto& values : bindings_) found->second.push_back(size.evaluate(values));
        } catch (const ArgumentError&) {
            found->second.clear();
        }
    }
    return found->second;
}

// ---- functions of one term

Dim Fitting::Term::size() const {
    Dim out = factors[0];
    for (std::size_t i = 1; i < factors.size(); ++i) out = out * factors[i];
    return out;
}

std::optional<Dim> Fitting::multiple(const NumberValues& values, const Term& term) {
    const NumberValues& of = term.values;
    if (of[0] == 0 || values[0] % of[0] != 0) return std::nullopt;
    const std::int64_t factor = values[0] / of[0];
    if (product_of(of, NumberValues(of.size(), factor)) != values) return std::nullopt;
    return term.size() * factor;
}

std::optional<Dim> Fitting::shifted(const NumberValues& values, const Term& term) {
    const std::int64_t first = minus(values[0], term.values[0]);
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (minus(values[i], term.values[i]) != first) return std::nullopt;
    }
    return term.size() + first;
}

/// factor * term + something, growing with it.
std::optional<Dim> Fitting::shifted_multiple(const NumberValues& values, const Term& term) {
    const NumberValues& of = term.values;
    const auto other = std::ranges::find_if(of, [&](std::int64_t value) { return value != of[0]; });
    if (other == of.end()) return std::nullopt;
    std::int64_t run = minus(*other, of[0]);
    std::int64_t rise = minus(values[static_cast<std::size_t>(other - of.begin())], values[0]);
    if (run < 0) {
        run = minus(0, run);
        rise = minus(0, rise);
    }
    if (run < 1 || rise % run != 0) return std::nullopt;
    const std::int64_t factor = rise / run;
    const NumberValues multiples = product_of(of, NumberValues(of.size(), factor));
    if (factor < 1 || multiples.empty()) return std::nullopt;
    const std::int64_t first = minus(values[0], multiples[0]);
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (minus(values[i], multiples[i]) != first) return std::nullopt;
    }
    return term.size() * factor + first;
}

/// (term + something) / divisor + something, as the sizes of slices with steps are.
std::optional<Dim> Fitting::quotient(const NumberValues& values, const Term& term) {
    constexpr std::int64_t kMostDivisor = 4;
    constexpr std::int64_t kMostValue = std::int64_t{1} << 62;
    const auto is_usual = [](std::int64_t value) { return value >= 0 && value < kMostValue; };
    if (!std::ranges::all_of(term.values, is_usual) || !std::ranges::all_of(values, is_usual))
        return std::nullopt;
    for (std::int64_t divisor = 2; divisor <= kMostDivisor; ++divisor) {
        for (std::int64_t less = 0; less < divisor; ++less) {
            const std::int64_t first = rounds_up_ ? divisor - 1 - less : less;
            const std::int64_t last = values[0] - (term.values[0] + first) / divisor;
            bool same = last >= -kMostDivisor && last <= kMostDivisor;
            for (std::size_t i = 0; i < values.size() && same; ++i)
                same = (term.values[i] + first) / divisor + last == values[i];
            if (!same) continue;
            took_quotient_ = true;
            return (term.size() + first) / divisor + last;
        }
    }
    return std::nullopt;
}

std::optional<Dim> Fitting::shifted(const NumberValues& values, Dim base) {
    const Term term{{base}, values_of(base)};
    return term.values.empty() ? std::nullopt : shifted(values, term);
}

// ---- functions of some

namespace {

/// The first of some terms with which `fit` finds something.
template <class Terms, class Fit>
std::optional<Dim> first_of(const Terms& terms, const Fit& fit) {
    for (const auto& term : terms) {
        if (const std::optional<Dim> size = fit(term)) return size;
    }
    return std::nullopt;
}

}  // namespace

std::vector<Fitting::Term> Fitting::terms(std::span<const Dim> near) {
    constexpr std::size_t kMost = 16;
    std::vector<Term> out;
    const auto add = [&](Dim size) {
        const bool is_known =
            std::ranges::any_of(out, [&](const Term& term) { return term.factors[0] == size; });
        if (size.is_concrete() || is_known || out.size() == kMost) return;
        Term term{{size}, values_of(size)};
        if (!term.values.empty()) out.push_back(std::move(term));
    };
    std::ranges::for_each(near, add);
    std::ranges::for_each(variables_, add);
    return out;
}

std::vector<Fitting::Term> Fitting::products(std::span<const Term> left,
                                             std::span<const Term> right) {
    std::vector<Term> out;
    for (std::size_t i = 0; i < left.size(); ++i) {
        // Of a list with itself each pair once.
        for (std::size_t k = left.data() == right.data() ? i : 0; k < right.size(); ++k) {
            Term term{left[i].factors, product_of(left[i].values, right[k].values)};
            term.factors.insert(term.factors.end(), right[k].factors.begin(),
                                right[k].factors.end());
            if (!term.values.empty()) out.push_back(std::move(term));
        }
    }
    return out;
}

std::optional<Dim> Fitting::simply(const NumberValues& values, std::span<const Dim> near) {
    if (is_constant(values)) return Dim(values[0]);
    const std::vector<Term> sizes = terms(near);
    const auto same = [&](const Term& term) {
        return term.values == values ? std::optional(term.size()) : std::nullopt;
    };
    const auto times = [&](const Term& term) { return multiple(values, term); };
    if (const auto size = first_of(sizes, same)) return size;
    if (const auto size = first_of(sizes, times)) return size;
    if (const auto size = first_of(products(sizes, sizes), times)) return size;
    return first_of(sizes, [&](const Term& term) { return shifted(values, term); });
}

std::optional<Dim> Fitting::anyhow(const NumberValues& values, std::span<const Dim> near) {
    if (const auto size = simply(values, near)) return size;
    const std::vector<Term> sizes = terms(near);
    for (const Term& a : sizes) {
        NumberValues rest = values;
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = minus(rest[i], a.values[i]);
        for (const Term& b : sizes) {
            if (b.values == rest) return a.size() + b.size();
        }
    }
    const std::vector<Term> pairs = products(sizes, sizes);
    const auto any = [&](const Term& term) { return shifted_multiple(values, term); };
    const auto times = [&](const Term& term) { return multiple(values, term); };
    const auto part = [&](const Term& term) { return quotient(values, term); };
    std::optional<Dim> out = first_of(sizes, any);
    if (!out) out = first_of(pairs, any);
    if (!out) out = first_of(products(pairs, sizes), times);
    if (!out) out = first_of(sizes, part);
    if (!out) out = first_of(pairs, part);
    return out;
}

}  // namespace lazuli::ir
