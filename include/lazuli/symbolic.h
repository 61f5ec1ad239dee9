#pragma once

/// @file
/// Integer expressions over named variables with bounds. One language serves the sizes of
/// dimensions (`Dim`) and the indices of kernels (`Expr` in a context of their own).

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lazuli {

namespace symbolic {
struct Node;
struct Interner;
}  // namespace symbolic

/// The answer to a question about an expression, over all values its variables may take.
enum class Truth : std::uint8_t {
    no,       ///< False for every value.
    yes,      ///< True for every value.
    depends,  ///< True for some and false for others, or not found out.
};

/// The values an expression may take, both ends included. An end that does not fit 64 bits is the
/// lowest or highest number there is, and means: no bound.
struct Bounds {
    std::int64_t low;   ///< The lowest.
    std::int64_t high;  ///< The highest.
    /// Whether the bounds are the same.
    bool operator==(const Bounds&) const = default;
};

class ExprContext;

/// A value for a variable, by its name.
using SizeBinding = std::pair<std::string, std::int64_t>;

/// An integer expression in its simplest known form: equal forms of one context are the same
/// object. Sums are kept multiplied out, so `a + b - a` is `b`. Division rounds down and a
/// remainder has the divisor's sign, as in Python. Conditions are expressions that are 0 or 1.
/// An expression lives as long as its context.
class Expr {
   public:
    /// The expression behind a node; for the implementation.
    explicit Expr(const symbolic::Node* node) : node_(node) {}

    /// Whether it is a number.
    bool is_constant() const;
    /// The number, where it is one.
    std::optional<std::int64_t> constant() const;
    /// The values it may take, by interval analysis.
    Bounds bounds() const;
    /// Its variables, each once, in their order.
    std::vector<Expr> vars() const;
    /// A variable's name; empty for anything else.
    std::string_view name() const;
    /// As text: `4*i + j / 3 % 5`. Parentheses stand where the order of operations needs them.
    std::string str() const;
    /// Its value where each variable has the value that `value_of` says. Throws ArgumentError for a
    /// division by zero or a value beyond 64 bits.
    std::int64_t evaluate(const std::function<std::int64_t(Expr variable)>& value_of) const;
    /// The same expression with some variables replaced, simplified again. `replacement` answers
    /// none for a variable that stays.
    Expr substitute(const std::function<std::optional<Expr>(Expr variable)>& replacement) const;
    /// A simpler expression that has the same value wherever `condition` (0 or 1) is 1.
    Expr assuming(Expr condition) const;

    /// Whether both are the same expression of the same context.
    bool operator==(const Expr&) const = default;
    /// For the implementation.
    const symbolic::Node* node() const { return node_; }

   private:
    const symbolic::Node* node_;
};

/// Where expressions live. Contexts are independent of each other; one is used by one thread at a
/// time. Expressions of different contexts mix: the result lives where the first operand does.
class ExprContext {
   public:
    /// No expressions yet.
    ExprContext();
    ~ExprContext();
    ExprContext(const ExprContext&) = delete;
    ExprContext& operator=(const ExprContext&) = delete;

    /// A number.
    Expr constant(std::int64_t value);
    /// A variable with bounds, both included. Asked for again with the same name and bounds, it is
    /// the same variable.
    Expr variable(std::string_view name, std::int64_t low, std::int64_t high);
    /// A variable that counts from 0 to below `size`, which may itself have variables.
    Expr counter(std::string_view name, Expr size);
    /// The same expression in this context.
    Expr import(Expr expr);
    /// Reads what `Expr::str` prints. `named` gives the variable of a name, or none. Throws
    /// ParseError.
    Expr parse(std::string_view text,
               const std::function<std::optional<Expr>(std::string_view)>& named);
    /// How many different expressions it holds.
    std::size_t size() const;

   private:
    std::unique_ptr<symbolic::Interner> interner_;
};

/// @name Arithmetic
/// @{
Expr operator+(Expr a, Expr b);          ///< The sum.
Expr operator+(Expr a, std::int64_t b);  ///< The sum.
Expr operator-(Expr a, Expr b);          ///< The difference.
Expr operator-(Expr a, std::int64_t b);  ///< The difference.
Expr operator-(Expr a);                  ///< The negative.
Expr operator*(Expr a, Expr b);          ///< The product.
Expr operator*(Expr a, std::int64_t b);  ///< The product.
Expr floor_div(Expr a, Expr b);          ///< The quotient, rounded down.
Expr floor_div(Expr a, std::int64_t b);  ///< The quotient, rounded down.
Expr mod(Expr a, Expr b);                ///< What floor_div leaves; it has the divisor's sign.
Expr mod(Expr a, std::int64_t b);        ///< What floor_div leaves.
Expr min(Expr a, Expr b);                ///< The smaller.
Expr max(Expr a, Expr b);                ///< The larger.
/// @}

/// @name Conditions
/// Expressions that are 1 where the condition holds and 0 where it does not.
/// @{
Expr at_least(Expr a, Expr b);  ///< a >= b.
Expr less(Expr a, Expr b);      ///< a < b.
Expr equal(Expr a, Expr b);     ///< a == b.
Expr both(Expr a, Expr b);      ///< Both conditions.
Expr negated(Expr condition);   ///< The opposite.
/// @}

/// Whether a condition always holds, never does, or depends. Never wrong; `depends` where it does
/// not find out.
Truth prove(Expr condition);

/// The size of a dimension: a number, or an expression over process-wide variables. 64 bits, cheap
/// to copy; arithmetic on numbers never looks at an expression. Throws ShapeError where a number
/// leaves 64 bits.
class Dim {
   public:
    /// 0.
    constexpr Dim() = default;
    /// A number of at least -2^62.
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    constexpr Dim(Number value) : raw_(static_cast<std::int64_t>(value)) {
        if (raw_ < kLowest || std::cmp_not_equal(raw_, value)) refuse(raw_);
    }
    /// The size that an expression says, in whatever context it lives.
    explicit Dim(Expr expr);

    /// Whether it is a number.
    constexpr bool is_concrete() const { return raw_ >= kLowest; }
    /// The number; ShapeError naming the expression where it is none.
    std::int64_t value() const {
        if (!is_concrete()) refuse_symbolic();
        return raw_;
    }
    /// The expression, in the process-wide context.
    Expr expr() const;
    /// The values it may take.
    Bounds bounds() const;
    /// As text: `4*batch + 1`.
    std::string str() const;
    /// Its value where the named variables have these values. Throws ArgumentError naming a
    /// variable that has none, or one out of its bounds.
    std::int64_t evaluate(std::span<const SizeBinding> bindings) const;
    /// Whether both are the same number or the same expression. Different expressions may still be
    /// equal; `prove(equal(a, b))` asks more.
    constexpr bool operator==(const Dim&) const = default;
    /// The bits, equal exactly where two sizes are `==`.
    constexpr std::int64_t raw() const { return raw_; }
    /// The size with these bits.
    static constexpr Dim from_raw(std::int64_t raw) {
        Dim dim;
        dim.raw_ = raw;
        return dim;
    }

   private:
    static constexpr std::int64_t kLowest = -(std::int64_t{1} << 62);
    [[noreturn]] static void refuse(std::int64_t value);
    [[noreturn]] void refuse_symbolic() const;
    std::int64_t raw_ = 0;
};

/// A variable size with bounds, both included. The same name gives the same variable; other bounds
/// for a name in use are an ArgumentError.
Dim dim(std::string_view name, std::int64_t low, std::int64_t high);

/// A variable size without a name of its own, different from all others: `_1`, `_2`, ... From 1 up
/// to what fits.
Dim any_dim();

namespace detail {
/// Whether these are the bits of a size that is an expression, and not of some number.
bool is_expression(std::int64_t raw);
Dim add(Dim a, Dim b);
Dim subtract(Dim a, Dim b);
Dim multiply(Dim a, Dim b);
Dim divide(Dim a, Dim b);
Dim remainder(Dim a, Dim b);
Dim smaller(Dim a, Dim b);
Dim larger(Dim a, Dim b);
Truth not_below(Dim a, Dim b);
inline bool are_numbers(Dim a, Dim b) { return a.is_concrete() && b.is_concrete(); }
}  // namespace detail

/// @name Arithmetic of sizes
/// @{
/// The sum.
inline Dim operator+(Dim a, Dim b) {
    std::int64_t out = 0;
    if (detail::are_numbers(a, b) && !__builtin_add_overflow(a.raw(), b.raw(), &out)) return out;
    return detail::add(a, b);
}
/// The difference.
inline Dim operator-(Dim a, Dim b) {
    std::int64_t out = 0;
    if (detail::are_numbers(a, b) && !__builtin_sub_overflow(a.raw(), b.raw(), &out)) return out;
    return detail::subtract(a, b);
}
/// The product.
inline Dim operator*(Dim a, Dim b) {
    std::int64_t out = 0;
    if (detail::are_numbers(a, b) && !__builtin_mul_overflow(a.raw(), b.raw(), &out)) return out;
    return detail::multiply(a, b);
}
/// The quotient, rounded down.
inline Dim operator/(Dim a, Dim b) {
    if (detail::are_numbers(a, b) && a.raw() >= 0 && b.raw() > 0) return a.raw() / b.raw();
    return detail::divide(a, b);
}
/// The remainder, with the divisor's sign.
inline Dim operator%(Dim a, Dim b) {
    if (detail::are_numbers(a, b) && a.raw() >= 0 && b.raw() > 0) return a.raw() % b.raw();
    return detail::remainder(a, b);
}
/// The smaller.
inline Dim min(Dim a, Dim b) {
    if (detail::are_numbers(a, b)) return a.raw() < b.raw() ? a : b;
    return detail::smaller(a, b);
}
/// The larger.
inline Dim max(Dim a, Dim b) {
    if (detail::are_numbers(a, b)) return a.raw() > b.raw() ? a : b;
    return detail::larger(a, b);
}
/// Whether a >= b.
inline Truth at_least(Dim a, Dim b) {
    if (detail::are_numbers(a, b)) return a.raw() >= b.raw() ? Truth::yes : Truth::no;
    return detail::not_below(a, b);
}
/// Whether a < b.
inline Truth less(Dim a, Dim b) {
    const Truth opposite = at_least(a, b);
    return opposite == Truth::depends ? opposite : opposite == Truth::yes ? Truth::no : Truth::yes;
}
/// Whether a == b.
inline Truth equal(Dim a, Dim b) {
    if (a == b) return Truth::yes;
    const Truth above = at_least(a, b);
    const Truth below = at_least(b, a);
    if (above == Truth::no || below == Truth::no) return Truth::no;
    return above == Truth::yes && below == Truth::yes ? Truth::yes : Truth::depends;
}
/// @}

}  // namespace lazuli
