#pragma once

/// @file
/// A single number of any kind, as it comes from C++ code.

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>

#include "lazuli/dtype.h"

namespace lazuli {

/// A number from C++ code. It is *weak*: beside a tensor it takes the tensor's element type unless
/// its kind is higher
/// (`x_f16 * 2.0` stays f16; `x_i32 * 2.0` becomes f32).
class Scalar {
   public:
    /// Zero, an integer.
    constexpr Scalar() = default;
    /// A truth value.
    constexpr Scalar(bool v) : kind_(Kind::boolean), i_(v ? 1 : 0) {}
    /// An integer. Values above 2^63 - 1 are kept as unsigned.
    template <std::integral T>
    constexpr Scalar(T v)
        : kind_(Kind::integer),
          unsigned_(std::unsigned_integral<T> && v > INT64_MAX),
          i_(static_cast<std::int64_t>(v)) {}
    /// A real number.
    template <std::floating_point T>
    constexpr Scalar(T v) : kind_(Kind::floating), re_(static_cast<double>(v)) {}
    /// A real number.
    Scalar(Half v) : Scalar(static_cast<double>(v)) {}
    /// A real number.
    Scalar(BFloat16 v) : Scalar(static_cast<double>(v)) {}
    /// A complex number.
    template <std::floating_point T>
    constexpr Scalar(std::complex<T> v)
        : kind_(Kind::complex),
          re_(static_cast<double>(v.real())),
          im_(static_cast<double>(v.imag())) {}

    /// Its family.
    constexpr Kind kind() const { return kind_; }
    /// Whether it is an integer above 2^63 - 1; its bits are then those of a std::uint64_t.
    constexpr bool is_large_unsigned() const { return unsigned_; }
    /// The integer (two's complement bits); for bool 0 or 1; reals are truncated.
    std::int64_t to_int() const;
    /// The real value; the real part of a complex number.
    double to_double() const;
    /// The complex value.
    std::complex<double> to_complex() const { return {to_double(), im_}; }
    /// The bits of the value's parts: of an integer (or bool) and 0, or of the real and the
    /// imaginary part.
    std::pair<std::uint64_t, std::uint64_t> bits() const;
    /// The scalar whose kind and bits these are.
    static Scalar from_bits(Kind kind, bool large_unsigned, std::uint64_t a, std::uint64_t b);
    /// Same kind and same bits; NaN equals NaN, 0 and -0 differ.
    bool operator==(const Scalar& other) const;
    /// As text that parses back to the same value: `2`, `0.5`, `true`, `nan`, `(1.0+2.0j)`.
    std::string str() const;

    /// The value as it is held by an element of type `dtype`: rounded, wrapped, or with parts
    /// added. What bool, integer and real values become is what `cast` says.
    Scalar as(DType dtype) const;
    /// The element type this number takes when nothing else says: bool, i32 (i64 where it does not
    /// fit), f32, c64.
    DType default_dtype() const;

   private:
    Kind kind_ = Kind::integer;
    bool unsigned_ = false;
    union {
        std::int64_t i_ = 0;
        double re_;
    };
    double im_ = 0;
};

/// Writes `value` as one element of type `dtype` to `out`.
void store_scalar(const Scalar& value, DType dtype, void* out);
/// Reads one element of type `dtype`.
Scalar load_scalar(DType dtype, const void* in);

/// The element type of a tensor of type `tensor` combined with the weak `scalar`; ArgumentError
/// naming `op` where an integer scalar does not fit the tensor's integer type.
DType promote_weak(std::string_view op, DType tensor, const Scalar& scalar);

}  // namespace lazuli
