#pragma once

// Programs whose sizes are expressions, and the numbers that these become.

#include <utility>
#include <vector>

#include "lazuli/program.h"

namespace lazuli::ir {

/// The variables of a program's sizes, found by looking at all of it.
std::vector<Dim> find_variables(const Program& program);

/// A value for each variable.
class SizeValues {
   public:
    /// Throws ArgumentError naming `who` where a variable has no value or one out of its bounds, or
    /// where a value has no variable.
    SizeValues(std::string_view who, std::span<const Dim> variables,
               std::span<const SizeBinding> values);
    /// The number that a slot of a shape becomes.
    std::int64_t at(std::int64_t raw);
    TensorSpec at(const TensorSpec& spec);

   private:
    std::vector<SizeBinding> values_;
    std::vector<std::pair<std::int64_t, std::int64_t>> known_;  // expressions' bits, numbers
};

}  // namespace lazuli::ir
