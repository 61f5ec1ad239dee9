#pragma once

// Numbers of several recordings, as functions of the sizes that differ between them.

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lazuli/symbolic.h"

namespace lazuli::ir {

using NumberValues = std::vector<std::int64_t>;  // of a number, one a recording

bool is_constant(const NumberValues& values);

/// Variables with a value a recording, and functions of them that have given values. What is found
/// is a guess: other functions have the same values.
class Fitting {
   public:
    explicit Fitting(std::size_t recordings) : bindings_(recordings) {}

    void add_variable(Dim variable, const NumberValues& values);
    /// None where one of them leaves 64 bits.
    const NumberValues& values_of(Dim size);

    /// A size that is near, or a variable: itself, times something, times another one, or with
    /// something added.
    std::optional<Dim> simply(const NumberValues& values, std::span<const Dim> near);
    /// The same, or what is less simple: sums, sums of multiples, quotients.
    std::optional<Dim> anyhow(const NumberValues& values, std::span<const Dim> near);
    /// base + something.
    std::optional<Dim> shifted(const NumberValues& values, Dim base);

    /// Which quotients are tried first: of the sizes that were seen, they may be the same rounded
    /// either way.
    void round_up(bool up) { rounds_up_ = up; }
    /// Whether a quotient was found since this was last asked.
    bool took_quotient() { return std::exchange(took_quotient_, false); }

   private:
    /// A size, or a product of some. It is made when it is needed: expressions are kept for ever.
    struct Term {
        std::vector<Dim> factors;
        NumberValues values;
        Dim size() const;
    };
    std::vector<Term> terms(std::span<const Dim> near);
    static std::vector<Term> products(std::span<const Term> left, std::span<const Term> right);

    static std::optional<Dim> multiple(const NumberValues& values, const Term& term);
    static std::optional<Dim> shifted(const NumberValues& values, const Term& term);
    static std::optional<Dim> shifted_multiple(const NumberValues& values, const Term& term);
    std::optional<Dim> quotient(const NumberValues& values, const Term& term);

    std::vector<Dim> variables_;
    std::vector<std::vector<SizeBinding>> bindings_;
    std::unordered_map<std::int64_t, NumberValues> known_;
    bool rounds_up_ = true;
    bool took_quotient_ = false;
};

}  // namespace lazuli::ir
