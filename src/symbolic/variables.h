#pragma once

// The variables of sizes: which there are, and how text writes sizes over them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazuli/symbolic.h"

namespace lazuli::symbolic {

/// Variables, each once, in the order in which they came.
class Variables {
   public:
    const std::vector<Dim>& all() const { return all_; }
    /// Those of a size: a number has none.
    void add(Dim size);
    /// One that text names. Throws ArgumentError where the name stands already or is none, or where
    /// the bounds leave no choice.
    void declare(std::string_view name, std::int64_t low, std::int64_t high);
    /// A size over these, as `Dim::str` writes it. Throws ParseError with the column.
    Dim parse(std::string_view text) const;
    /// `1 <= b <= 64, 1 <= t <= 4096`.
    std::string str() const;

   private:
    std::vector<Dim> all_;
};

/// How far a size reaches that text begins with: up to a comma or bracket that is not its own.
std::size_t size_length(std::string_view text);

/// Throws ArgumentError where text cannot name a variable: letters, digits, '_' and '.', not a
/// digit first, and no word of expressions.
void check_variable_name(std::string_view name);

}  // namespace lazuli::symbolic
