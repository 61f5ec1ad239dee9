#pragma once

// What the expansions share. All of it is for f32 and f64.

#include <cstdint>
#include <limits>
#include <span>

#include "lazuli/terms.h"

namespace lazuli::ops {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLog2E = 1.4426950408889634;

/// Numbers that differ from type to type.
struct Format {
    DType bits;                ///< The integer type of the same size.
    int mantissa;              ///< Bits behind the point.
    std::int64_t one;          ///< The bits of 1.
    double rounder;            ///< Added, it leaves no bits behind the point: the nearest integer.
    double ln2, ln2_low;       ///< ln 2 is their sum.
    double smallest;           ///< The smallest normal number.
    double exp_low, exp_high;  ///< Here e^x has become 0, or infinite.
    std::span<const double> exp;  ///< (e^r - 1 - r) / r^2 for r up to ln 2 / 2.
};
const Format& format_of(DType dtype);

/// Whether it is a type that expansions are for.
inline bool is_expanded(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

/// A number as the sum of two, the second less than half a unit in the last place of the first.
struct Pair {
    Term high, low;
};
Pair two_sum(Term a, Term b);       ///< a + b, exactly.
Pair fast_two_sum(Term a, Term b);  ///< The same where |a| >= |b|, or a is 0.
Pair two_product(Term a, Term b);   ///< a * b, exactly.
Pair operator*(Pair a, Pair b);     ///< To about twice the type's precision.
Pair operator+(Pair a, Pair b);     ///< To about twice the type's precision.

/// The lesser of x and a number, and the greater; NaN stays.
Term at_most(Term x, double bound);
Term at_least(Term x, double bound);

/// 2^n for integers n within the exponents of normal numbers, where x is n plus the rounder.
Term power_of_two(Term shifted);
/// The nearest integer plus the rounder, of x * factor.
Term rounded_product(Term x, double factor);

/// x = n ln 2 + rest, n being an integer.
struct Reduced {
    Term shifted;  ///< n plus the rounder.
    Term n;
    Term first;  ///< x - n times ln 2 rounded: exact.
    Term rest;
};
Reduced reduce_ln2(Term x);
/// (e^r - 1 - r) / r^2 for r up to ln 2 / 2.
Term expm1_rest(Term r);
/// e^x between exp_low and exp_high.
Term exp_within(Term x);
/// e^(x + low), times 2^-halvings, for x up to 1000 whatever the result.
Term exp_of(Term x, Term low, int halvings = 0);
/// e^x - 1, times 2^-halvings, where x is not far above exp_high.
Term expm1_within(Term x, int halvings = 0);

/// log(1 + f) - f, for f from sqrt(1/2) - 1 to sqrt(2) - 1.
Term log1p_rest(Term f);
/// log(1 + f) + e ln 2, for f from sqrt(1/2) - 1 to sqrt(2) - 1.
Term log_of_parts(Term f, Term e);
/// A positive number as (1 + f) 2^e.
struct Logarithmic {
    Term f, e;
};
Logarithmic split(Term x);
/// log(1 + x) for x above -1, below infinity, and the same plus a number of times log(2).
Term log1p_within(Term x);
Term log1p_within(Term x, Term doublings);
/// A function of doubles as one of floats: nearly always the float nearest to the result.
template <class F>
Term by_double(Term x, const F& f) {
    return x.dtype == DType::f64 ? f(x) : cast(f(cast(x, DType::f64)), x.dtype);
}
/// Puts right a logarithm of 0, of what is below it, of inf and of NaN.
Term with_edges_of_log(Term x, Term log);

}  // namespace lazuli::ops
