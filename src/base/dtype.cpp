#include "lazuli/dtype.h"

#include <cmath>
#include <utility>

namespace lazuli {

std::optional<DType> parse_dtype(std::string_view text) {
    for (std::size_t i = 0; i < kDTypes.size(); ++i) {
        if (kDTypes[i].name == text) return static_cast<DType>(i);
    }
    return std::nullopt;
}

namespace {

DType signed_of_size(std::size_t size) {
    return size == 1 ? i8 : size == 2 ? i16 : size == 4 ? i32 : i64;
}

std::optional<DType> promote_integers(DType a, DType b) {
    const std::size_t size_a = size_of(a);
    const std::size_t size_b = size_of(b);
    if (info(a).is_signed == info(b).is_signed) return size_a >= size_b ? a : b;
    const std::size_t size_signed = info(a).is_signed ? size_a : size_b;
    const std::size_t size_unsigned = info(a).is_signed ? size_b : size_a;
    if (size_signed > size_unsigned) return signed_of_size(size_signed);
    if (size_unsigned == 8) return std::nullopt;  // no integer holds u64 and negative numbers
    return signed_of_size(2 * size_unsigned);
}

DType promote_floats(DType a, DType b) {
    if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
    return f32;  // f16 with bf16: neither holds the other
}

}  // namespace

std::optional<DType> promote(DType a, DType b) {
    if (a == b) return a;
    if (kind(a) < kind(b)) std::swap(a, b);  // a is of the higher kind
    if (kind(b) == Kind::boolean) return a;
    if (kind(a) == Kind::integer) return promote_integers(a, b);
    if (kind(b) == Kind::integer) return a;
    if (kind(a) == Kind::floating) return promote_floats(a, b);
    return a == c128 || b == c128 || b == f64 ? c128 : c64;
}

// Both conversions take a double and round once, so that a value computed in double is rounded to
// the narrow type directly and never by way of f32.

Half::Half(double value) {
    const std::uint64_t raw = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>((raw >> 48) & 0x8000U);
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) {
        bits = sign | 0x7e00U;
    } else if (magnitude >= 65520.0) {  // halfway between the largest half and the next step
        bits = sign | 0x7c00U;
    } else if (magnitude < 0x1p-14) {  // denormals: multiples of 2^-24
        bits = sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24));
    } else {
        int exponent = 0;
        const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
        const auto steps =
            static_cast<std::uint32_t>(std::nearbyint(fraction * 2048.0));  // in [1024, 2048]
        // steps - 1024 carries into the exponent when rounding reached 2048
        bits = sign | static_cast<std::uint16_t>((static_cast<std::uint32_t>(exponent + 14) << 10) +
                                                 (steps - 1024));
    }
}

Half::operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

BFloat16::BFloat16(double value) {
    if (std::isnan(value)) {
        bits = std::signbit(value) ? 0xffc0U : 0x7fc0U;
        return;
    }
    // Round to odd in f32 first: the sticky bit makes the second rounding equal to a single one.
    auto narrow = static_cast<float>(value);
    const auto back = static_cast<double>(narrow);
    if (std::isinf(narrow) && !std::isinf(value)) {
        bits = std::signbit(value) ? 0xff80U : 0x7f80U;
        return;
    }
    std::uint32_t raw = std::bit_cast<std::uint32_t>(narrow);
    if (back != value) {
        if (std::fabs(back) > std::fabs(value)) --raw;  // towards zero
        raw |= 1U;
    }
    bits = static_cast<std::uint16_t>((raw + 0x7fffU + ((raw >> 16) & 1U)) >> 16);
}

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

}  // namespace lazuli
