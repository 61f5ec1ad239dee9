#pragma once

// Rules as data: a pattern of operations, what stands for it instead, and what that does to
// floating-point results.

#include <array>
#include <string_view>

#include "optimize/rewrite.h"

namespace lazuli::optimize {

/// What a rule does to the bits of floating-point results.
enum class Fp : std::uint8_t {
    exact,         // nothing: the only ones that run unless asked for
    reassociates,  // the order of sums or products
    special,       // NaN, or the sign of zero
};

/// What an operation may look like: any value, a number, or an op on such.
class Pattern {
   public:
    /// Anything; the same letter twice must be the same value.
    static Pattern any(int letter) { return Pattern(Kind::any, letter); }
    /// A constant of this value.
    static Pattern number(double value) {
        Pattern p(Kind::number, -1);
        p.value_ = value;
        return p;
    }
    /// An op; where it commutes, its operands in either order.
    static Pattern op(std::string_view name, std::vector<Pattern> operands, bool commutes = false) {
        Pattern p(Kind::op, -1);
        p.name_ = name;
        p.operands_ = std::move(operands);
        p.commutes_ = commutes;
        return p;
    }
    /// The same, and the letter stands for it.
    Pattern as(int letter) const {
        Pattern p = *this;
        p.letter_ = letter;
        return p;
    }
    std::string_view root() const { return name_; }

    /// The values of the letters where the candidate looks like this.
    using Letters = std::array<std::optional<Value>, 3>;
    bool matches(const Rewriter& rewriter, const Candidate& candidate, Letters& letters) const;

   private:
    enum class Kind : std::uint8_t { any, number, op };
    Pattern(Kind kind, int letter) : kind_(kind), letter_(letter) {}
    bool matches_value(const Rewriter& rewriter, const Value& value, Letters& letters) const;

    Kind kind_;
    int letter_;
    double value_ = 0;
    std::string_view name_;
    std::vector<Pattern> operands_;
    bool commutes_ = false;
};

/// One rule. The replacement is the value of a letter; types and shapes decide whether it fits.
struct Rule {
    std::string_view name;
    Pattern lhs;
    int rhs;  // the letter whose value it is
    Fp fp = Fp::exact;
    bool integers_only = false;  // exact for integers, not for floats
};

/// The rules of algebra, with letters 0, 1, 2.
std::span<const Rule> algebra_rules();

}  // namespace lazuli::optimize
