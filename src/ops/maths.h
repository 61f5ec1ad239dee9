#pragma once

// Functions of elements in terms of primitives, for f32 and f64 (f16 and bf16 are computed in
// f32). Each returns nothing for other types.

#include <optional>
#include <span>

#include "lazuli/terms.h"

namespace lazuli::ops {

std::optional<Term> expand_exp(std::span<const Term> operands);
std::optional<Term> expand_exp2(std::span<const Term> operands);
std::optional<Term> expand_expm1(std::span<const Term> operands);
std::optional<Term> expand_log(std::span<const Term> operands);
std::optional<Term> expand_log2(std::span<const Term> operands);
std::optional<Term> expand_log10(std::span<const Term> operands);
std::optional<Term> expand_log1p(std::span<const Term> operands);
std::optional<Term> expand_sigmoid(std::span<const Term> operands);
std::optional<Term> expand_tanh(std::span<const Term> operands);
std::optional<Term> expand_erf(std::span<const Term> operands);
std::optional<Term> expand_sin(std::span<const Term> operands);
std::optional<Term> expand_cos(std::span<const Term> operands);
std::optional<Term> expand_tan(std::span<const Term> operands);
std::optional<Term> expand_asin(std::span<const Term> operands);
std::optional<Term> expand_acos(std::span<const Term> operands);
std::optional<Term> expand_atan(std::span<const Term> operands);
std::optional<Term> expand_atan2(std::span<const Term> operands);
std::optional<Term> expand_sinh(std::span<const Term> operands);
std::optional<Term> expand_cosh(std::span<const Term> operands);
std::optional<Term> expand_asinh(std::span<const Term> operands);
std::optional<Term> expand_acosh(std::span<const Term> operands);
std::optional<Term> expand_atanh(std::span<const Term> operands);
std::optional<Term> expand_erfc(std::span<const Term> operands);
std::optional<Term> expand_cbrt(std::span<const Term> operands);
std::optional<Term> expand_rsqrt(std::span<const Term> operands);
std::optional<Term> expand_pow(std::span<const Term> operands);
std::optional<Term> expand_erfinv(std::span<const Term> operands);
std::optional<Term> expand_lgamma(std::span<const Term> operands);
std::optional<Term> expand_hypot(std::span<const Term> operands);
std::optional<Term> expand_logaddexp(std::span<const Term> operands);
/// These of integers too.
std::optional<Term> expand_fmax(std::span<const Term> operands);
std::optional<Term> expand_fmin(std::span<const Term> operands);

}  // namespace lazuli::ops
