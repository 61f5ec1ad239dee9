#pragma once

// Arithmetic on bounds, in which the ends of 64 bits stand for infinity; and exact arithmetic that
// says where it leaves 64 bits.

#include <algorithm>
#include <cstdint>

#include "lazuli/error.h"
#include "lazuli/symbolic.h"

namespace lazuli::symbolic {

inline constexpr std::int64_t kMinusInfinity = INT64_MIN;
inline constexpr std::int64_t kInfinity = INT64_MAX;
inline constexpr Bounds kUnbounded{kMinusInfinity, kInfinity};

inline bool is_finite(std::int64_t v) { return v != kMinusInfinity && v != kInfinity; }
inline bool is_finite(const Bounds& b) { return is_finite(b.low) && is_finite(b.high); }

inline std::int64_t saturate(__int128 v) {
    return v <= kMinusInfinity ? kMinusInfinity
           : v >= kInfinity    ? kInfinity
                               : static_cast<std::int64_t>(v);
}

/// The sum of two lower or of two upper ends, of which none is the opposite infinity.
inline std::int64_t add_ends(std::int64_t a, std::int64_t b) {
    if (!is_finite(a)) return a;
    if (!is_finite(b)) return b;
    return saturate(static_cast<__int128>(a) + b);
}

inline std::int64_t multiply_ends(std::int64_t a, std::int64_t b) {
    if (a == 0 || b == 0) return 0;
    if (!is_finite(a) || !is_finite(b)) return (a < 0) == (b < 0) ? kInfinity : kMinusInfinity;
    return saturate(static_cast<__int128>(a) * b);
}

/// Bounds whose ends may have left 64 bits on the wrong side: a lower end beyond the highest number
/// is not "no bound", and must not swallow what is added to it.
inline Bounds sound(std::int64_t low, std::int64_t high) {
    return {std::min(low, kInfinity - 1), std::max(high, kMinusInfinity + 1)};
}

inline Bounds operator+(const Bounds& a, const Bounds& b) {
    return sound(add_ends(a.low, b.low), add_ends(a.high, b.high));
}

inline Bounds operator*(const Bounds& a, const Bounds& b) {
    const std::int64_t ends[] = {multiply_ends(a.low, b.low), multiply_ends(a.low, b.high),
                                 multiply_ends(a.high, b.low), multiply_ends(a.high, b.high)};
    return sound(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
}

/// Rounded down; the divisor is not 0.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    if (b == -1) return saturate(-static_cast<__int128>(a));
    const std::int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
    if (b == -1) return 0;
    const std::int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

[[noreturn]] inline void too_large() {
    throw ArgumentError("an expression has a number that does not fit 64 bits");
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (__builtin_add_overflow(a, b, &out)) too_large();
    return out;
}

inline std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out)) too_large();
    return out;
}

}  // namespace lazuli::symbolic
