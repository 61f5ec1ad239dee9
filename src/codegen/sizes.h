#pragma once

// Sizes that are known when something runs, evaluated many at a time.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lazuli/symbolic.h"

namespace lazuli::codegen {

/// Expressions over some variables as one list of instructions, in which what several of them need
/// stands once. It holds no expression: any thread evaluates it, without a lock, in about a
/// nanosecond an instruction.
class SizeTable {
   public:
    /// Of these variables, which are told apart by their names.
    explicit SizeTable(std::span<const Expr> variables);

    /// Takes an expression, of any context, and says which number of the results it is: equal ones
    /// are one. Throws ArgumentError where it has another variable.
    std::size_t add(Expr expr);
    std::size_t add(Dim size) { return add(size.expr()); }

    /// Whether no result is 0 where the variables have these values: that all conditions hold.
    bool all_hold(std::span<const std::int64_t> values) const;

    std::size_t variables() const { return names_.size(); }
    /// How many results there are.
    std::size_t size() const { return results_.size(); }
    std::size_t instructions() const { return code_.size(); }

    /// The results where the variables have these values. Throws ArgumentError for a division by
    /// zero and for a number, on the way too, that leaves 64 bits.
    void evaluate(std::span<const std::int64_t> values, std::span<std::int64_t> results) const;

   private:
    enum class Action : std::uint8_t {
        number,        // constant
        multiply_add,  // a + constant * b
        multiply,      // a * b
        quotient,      // a / b, rounded down
        remainder,     // what that leaves
        minimum,
        maximum,
        not_negative,  // 1 where a >= 0, else 0
        both,          // 1 where neither a nor b is 0
    };
    struct Instruction {
        Action action;
        std::uint32_t a = 0;  // values: first the variables, then what each instruction computes
        std::uint32_t b = 0;
        std::int64_t constant = 0;
    };
    using Key = std::tuple<Action, std::uint32_t, std::uint32_t, std::int64_t>;

    std::uint32_t place_of(const symbolic::Node* node);
    std::uint32_t place_of(const Instruction& instruction);

    std::vector<std::string> names_;
    std::vector<Instruction> code_;
    std::vector<std::uint32_t> results_;
    std::map<Key, std::uint32_t> known_;
};

}  // namespace lazuli::codegen
