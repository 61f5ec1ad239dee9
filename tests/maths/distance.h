#pragma once

#include <algorithm>
#include <cmath>

namespace lazuli::tests {

/// How far a float lies from a number, in units of the last place of the float next to that.
inline double distance(float got, double exact) {
    if (std::isnan(exact) || std::isnan(got))
        return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
    const auto nearest = static_cast<float>(exact);
    if (got == nearest) return std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
    if (std::isinf(got) || std::isinf(nearest)) {
        // The largest float and inf are neighbours.
        return std::nextafter(got, nearest) == nearest ? 1 : INFINITY;
    }
    const int exponent = std::max(std::ilogb(nearest == 0 ? 0x1p-149 : exact), -126);
    return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

}  // namespace lazuli::tests
