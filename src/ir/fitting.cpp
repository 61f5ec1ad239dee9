#include "ir/fitting.h"

#include <algorithm>
#include <functional>

namespace lazuli::ir {

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
        for (const auto& values : bindings_) found->second.push_back(size.evaluate(values));
    }
    return found->second;
}

// ---- functions of one size

std::optional<Dim> Fitting::multiple(const NumberValues& values, Dim base) {
    const NumberValues& of = values_of(base);
    if (of[0] == 0 || values[0] % of[0] != 0) return std::nullopt;
    const std::int64_t factor = values[0] / of[0];
    for (std::size_t i = 0; i < of.size(); ++i) {
        std::int64_t product = 0;
        if (__builtin_mul_overflow(of[i], factor, &product) || product != values[i])
            return std::nullopt;
    }
    return base * factor;
}

std::optional<Dim> Fitting::shifted(const NumberValues& values, Dim base) {
    const NumberValues& of = values_of(base);
    for (std::size_t i = 1; i < of.size(); ++i) {
        if (values[i] - of[i] != values[0] - of[0]) return std::nullopt;
    }
    return base + (values[0] - of[0]);
}

/// factor * base + something, growing with it.
std::optional<Dim> Fitting::shifted_multiple(const NumberValues& values, Dim base) {
    const NumberValues& of = values_of(base);
    const auto other = std::ranges::find_if(of, [&](std::int64_t value) { return value != of[0]; });
    if (other == of.end()) return std::nullopt;
    const std::int64_t run = *other - of[0];
    const std::int64_t rise = values[static_cast<std::size_t>(other - of.begin())] - values[0];
    if (rise % run != 0 || rise / run < 1) return std::nullopt;
    const std::int64_t factor = rise / run;
    const std::int64_t first = values[0] - factor * of[0];
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (factor * of[i] + first != values[i]) return std::nullopt;
    }
    return base * factor + first;
}

/// (base + something) / divisor + something, as the sizes of slices with steps are.
std::optional<Dim> Fitting::quotient(const NumberValues& values, Dim base) {
    constexpr std::int64_t kMostDivisor = 4;
    const NumberValues& of = values_of(base);
    for (std::int64_t divisor = 2; divisor <= kMostDivisor; ++divisor) {
        for (std::int64_t less = 0; less < divisor; ++less) {
            const std::int64_t first = rounds_up_ ? divisor - 1 - less : less;
            const std::int64_t last = values[0] - (of[0] + first) / divisor;
            bool same = last >= -kMostDivisor && last <= kMostDivisor;
            for (std::size_t i = 0; i < of.size() && same; ++i)
                same = of[i] >= 0 && (of[i] + first) / divisor + last == values[i];
            if (!same) continue;
            took_quotient_ = true;
            return (base + first) / divisor + last;
        }
    }
    return std::nullopt;
}

// ---- functions of some

namespace {

/// The first of some terms with which `fit` finds something.
template <class Fit>
std::optional<Dim> first_of(std::span<const Dim> terms, const Fit& fit) {
    for (const Dim term : terms) {
        if (const std::optional<Dim> size = fit(term)) return size;
    }
    return std::nullopt;
}

std::vector<Dim> products_of(std::span<const Dim> bases) {
    std::vector<Dim> out;
    for (std::size_t i = 0; i < bases.size(); ++i) {
        for (std::size_t k = i; k < bases.size(); ++k) out.push_back(bases[i] * bases[k]);
    }
    return out;
}

}  // namespace

std::vector<Dim> Fitting::bases(std::span<const Dim> near) const {
    constexpr std::size_t kMost = 16;
    std::vector<Dim> out;
    const auto add = [&](Dim size) {
        if (!size.is_concrete() && std::ranges::find(out, size) == out.end() && out.size() < kMost)
            out.push_back(size);
    };
    std::ranges::for_each(near, add);
    std::ranges::for_each(variables_, add);
    return out;
}

std::optional<Dim> Fitting::simply(const NumberValues& values, std::span<const Dim> near) {
    if (is_constant(values)) return Dim(values[0]);
    const std::vector<Dim> sizes = bases(near);
    const auto same = [&](Dim term) {
        return values_of(term) == values ? std::optional(term) : std::nullopt;
    };
    const auto times = [&](Dim term) { return multiple(values, term); };
    if (const auto size = first_of(sizes, same)) return size;
    if (const auto size = first_of(sizes, times)) return size;
    if (const auto size = first_of(products_of(sizes), times)) return size;
    return first_of(sizes, [&](Dim term) { return shifted(values, term); });
}

std::optional<Dim> Fitting::anyhow(const NumberValues& values, std::span<const Dim> near) {
    if (const auto size = simply(values, near)) return size;
    const std::vector<Dim> sizes = bases(near);
    for (const Dim a : sizes) {
        for (const Dim b : sizes) {
            if (values_of(a + b) == values) return a + b;
        }
    }
    const std::vector<Dim> products = products_of(sizes);
    const auto any = [&](Dim term) { return shifted_multiple(values, term); };
    std::optional<Dim> out = first_of(sizes, any);
    if (!out) out = first_of(products, any);
    for (std::size_t i = 0; i < sizes.size() && !out; ++i)
        out = first_of(products, [&](Dim term) { return multiple(values, term * sizes[i]); });
    const auto part = [&](Dim term) { return quotient(values, term); };
    if (!out) out = first_of(sizes, part);
    if (!out) out = first_of(products, part);
    return out;
}

}  // namespace lazuli::ir
