#pragma once

// Conversion of one element to another type: the meaning of `cast`, used by constants and by the
// reference backend.

#include <cmath>
#include <limits>
#include <type_traits>

#include "lazuli/dtype.h"

namespace lazuli {

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;
template <class T>
inline constexpr bool is_small_float_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_real_float_v = std::is_floating_point_v<T> || is_small_float_v<T>;

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
    switch (dtype) {
        case DType::boolean: return f.template operator()<bool>();
        case DType::i8: return f.template operator()<std::int8_t>();
        case DType::i16: return f.template operator()<std::int16_t>();
        case DType::i32: return f.template operator()<std::int32_t>();
        case DType::i64: return f.template operator()<std::int64_t>();
        case DType::u8: return f.template operator()<std::uint8_t>();
        case DType::u16: return f.template operator()<std::uint16_t>();
        case DType::u32: return f.template operator()<std::uint32_t>();
        case DType::u64: return f.template operator()<std::uint64_t>();
        case DType::f16: return f.template operator()<Half>();
        case DType::bf16: return f.template operator()<BFloat16>();
        case DType::f32: return f.template operator()<float>();
        case DType::f64: return f.template operator()<double>();
        case DType::c64: return f.template operator()<std::complex<float>>();
        case DType::c128: return f.template operator()<std::complex<double>>();
    }
    __builtin_unreachable();
}

/// A real number to an integer type: truncated towards zero, saturated at the type's range, NaN to
/// 0.
template <class To>
To saturate(double v) {
    if (std::isnan(v)) return 0;
    // Both bounds are powers of two (or zero) and exact in double.
    constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (v >= high) return std::numeric_limits<To>::max();
    if (v <= low) return std::numeric_limits<To>::min();
    return static_cast<To>(v);
}

/// The value of `v` as an element of type `To`.
template <class To, class From>
To convert(From v) {
    if constexpr (std::is_same_v<To, From>) {
        return v;
    } else if constexpr (is_complex_v<From>) {
        if constexpr (std::is_same_v<To, bool>) {
            return v != From{};
        } else if constexpr (is_complex_v<To>) {
            return To(v);
        } else {
            return convert<To>(v.real());
        }
    } else if constexpr (is_small_float_v<From>) {
        return convert<To>(static_cast<double>(v));
    } else if constexpr (std::is_same_v<To, bool>) {
        return v != From{};
    } else if constexpr (is_complex_v<To>) {
        using Part = typename To::value_type;
        return To(static_cast<Part>(v), Part{});
    } else if constexpr (is_small_float_v<To>) {
        // An integer of 64 bits is rounded to odd on its way through double, so that rounding
        // happens once.
        if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
            const bool negative = v < From{};
            auto magnitude =
                negative ? ~static_cast<std::uint64_t>(v) + 1 : static_cast<std::uint64_t>(v);
            if (magnitude >> 53 != 0)
                magnitude =
                    (magnitude & ~std::uint64_t{0xfff}) | ((magnitude & 0xfff) != 0 ? 0x800U : 0U);
            const auto wide = static_cast<double>(magnitude);
            return To(negative ? -wide : wide);
        } else {
            return To(static_cast<double>(v));
        }
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        return saturate<To>(static_cast<double>(v));
    } else {
        return static_cast<To>(v);  // integers wrap; floats round to even
    }
}

}  // namespace lazuli
