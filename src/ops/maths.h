#pragma once

// Functions of elements as polynomials, for f32. Each returns nothing for other types, which are
// computed by the C library's function.

#include <optional>
#include <span>

#include "lazuli/terms.h"

namespace lazuli::ops {

std::optional<Term> expand_exp(std::span<const Term> operands);
std::optional<Term> expand_log(std::span<const Term> operands);
std::optional<Term> expand_tanh(std::span<const Term> operands);
std::optional<Term> expand_erf(std::span<const Term> operands);

}  // namespace lazuli::ops
