#pragma once

/// @file
/// Element types: their names, sizes, C++ counterparts, and the rule by which two of them promote.

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lazuli {

/// The element type of a tensor.
enum class DType : std::uint8_t {
    boolean,  ///< One byte, 0 or 1; prints as `bool`.
    i8,       ///< Signed, 8 bits.
    i16,      ///< Signed, 16 bits.
    i32,      ///< Signed, 32 bits.
    i64,      ///< Signed, 64 bits.
    u8,       ///< Unsigned, 8 bits.
    u16,      ///< Unsigned, 16 bits.
    u32,      ///< Unsigned, 32 bits.
    u64,      ///< Unsigned, 64 bits.
    f16,      ///< IEEE 754 half precision.
    bf16,     ///< The upper half of an f32.
    f32,      ///< IEEE 754 single precision; the default floating-point type.
    f64,      ///< IEEE 754 double precision.
    c64,      ///< Complex number of two f32.
    c128,     ///< Complex number of two f64.
};

inline constexpr int kDTypeCount = 15;     ///< How many element types there are.
inline constexpr auto f16 = DType::f16;    ///< Short for DType::f16.
inline constexpr auto bf16 = DType::bf16;  ///< Short for DType::bf16.
inline constexpr auto f32 = DType::f32;    ///< Short for DType::f32.
inline constexpr auto f64 = DType::f64;    ///< Short for DType::f64.
inline constexpr auto i8 = DType::i8;      ///< Short for DType::i8.
inline constexpr auto i16 = DType::i16;    ///< Short for DType::i16.
inline constexpr auto i32 = DType::i32;    ///< Short for DType::i32.
inline constexpr auto i64 = DType::i64;    ///< Short for DType::i64.
inline constexpr auto u8 = DType::u8;      ///< Short for DType::u8.
inline constexpr auto u16 = DType::u16;    ///< Short for DType::u16.
inline constexpr auto u32 = DType::u32;    ///< Short for DType::u32.
inline constexpr auto u64 = DType::u64;    ///< Short for DType::u64.
inline constexpr auto c64 = DType::c64;    ///< Short for DType::c64.
inline constexpr auto c128 = DType::c128;  ///< Short for DType::c128.

/// The families promotion distinguishes, in ascending order.
enum class Kind : std::uint8_t {
    boolean,   ///< `bool`.
    integer,   ///< Signed and unsigned integers.
    floating,  ///< f16, bf16, f32, f64.
    complex,   ///< c64, c128.
};

/// What is known about an element type.
struct DTypeInfo {
    std::string_view name;  ///< As printed and parsed: `f32`.
    std::uint8_t size;      ///< Bytes an element.
    Kind kind;              ///< Its family.
    bool is_signed;         ///< Whether negative values exist.
};

/// The table of element types, in the order of the enumeration.
inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{{
    {"bool", 1, Kind::boolean, false},
    {"i8", 1, Kind::integer, true},
    {"i16", 2, Kind::integer, true},
    {"i32", 4, Kind::integer, true},
    {"i64", 8, Kind::integer, true},
    {"u8", 1, Kind::integer, false},
    {"u16", 2, Kind::integer, false},
    {"u32", 4, Kind::integer, false},
    {"u64", 8, Kind::integer, false},
    {"f16", 2, Kind::floating, true},
    {"bf16", 2, Kind::floating, true},
    {"f32", 4, Kind::floating, true},
    {"f64", 8, Kind::floating, true},
    {"c64", 8, Kind::complex, true},
    {"c128", 16, Kind::complex, true},
}};

/// The table's row for `dtype`.
constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
/// The name as printed: `f32`.
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
/// Bytes an element.
constexpr std::size_t size_of(DType dtype) { return info(dtype).size; }
/// The family of `dtype`.
constexpr Kind kind(DType dtype) { return info(dtype).kind; }
/// True for f16, bf16, f32 and f64.
constexpr bool is_floating(DType dtype) { return kind(dtype) == Kind::floating; }
/// True for signed and unsigned integers, not for bool.
constexpr bool is_integer(DType dtype) { return kind(dtype) == Kind::integer; }
/// True for c64 and c128.
constexpr bool is_complex(DType dtype) { return kind(dtype) == Kind::complex; }
/// The element type of that name, or none.
std::optional<DType> parse_dtype(std::string_view name);

/// A set of element types.
class DTypeSet {
   public:
    /// The empty set.
    constexpr DTypeSet() = default;
    /// The set of the given types.
    constexpr DTypeSet(std::initializer_list<DType> types) {
        for (DType t : types) bits |= bit(t);
    }
    /// Whether `dtype` is in the set.
    constexpr bool contains(DType dtype) const { return (bits & bit(dtype)) != 0; }
    /// The union of two sets.
    constexpr DTypeSet operator|(DTypeSet other) const { return DTypeSet(bits | other.bits); }
    /// Whether both sets hold the same types.
    constexpr bool operator==(const DTypeSet&) const = default;

    std::uint32_t bits = 0;  ///< One bit a type. Public so that a set can be a template argument.

   private:
    constexpr explicit DTypeSet(std::uint32_t b) : bits(b) {}
    static constexpr std::uint32_t bit(DType t) { return 1U << static_cast<unsigned>(t); }
};

inline constexpr DTypeSet kFloating{f16, bf16, f32, f64};   ///< The real floating-point types.
inline constexpr DTypeSet kSigned{i8, i16, i32, i64};       ///< The signed integers.
inline constexpr DTypeSet kUnsigned{u8, u16, u32, u64};     ///< The unsigned integers.
inline constexpr DTypeSet kIntegers = kSigned | kUnsigned;  ///< All integers.
inline constexpr DTypeSet kComplex{c64, c128};              ///< The complex types.
inline constexpr DTypeSet kReal = kIntegers | kFloating;    ///< Integers and reals.
inline constexpr DTypeSet kNumeric = kReal | kComplex;      ///< All but bool.
inline constexpr DTypeSet kAllTypes = kNumeric | DTypeSet{DType::boolean};  ///< Every element type.

/// The type both operands are brought to, by the table of the Python array API standard. Where the
/// standard is silent: bool goes to the other type, an integer meeting a float or complex takes
/// that type, f16 with bf16 gives f32. None where no type holds both (u64 with a signed integer).
std::optional<DType> promote(DType a, DType b);

/// The real type of a complex type's parts; any other type is returned as it is.
constexpr DType real_part(DType t) { return t == c64 ? f32 : t == c128 ? f64 : t; }

/// IEEE half precision as 16 bits. Arithmetic happens in float or double; this type only converts,
/// rounding to even.
struct Half {
    std::uint16_t bits = 0;  ///< Sign, 5 bits of exponent, 10 of fraction.
    Half() = default;
    /// Rounds to the nearest half, ties to even; overflow gives infinity.
    explicit Half(double value);
    /// Exact.
    explicit operator float() const;
    /// Exact.
    explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

/// The upper 16 bits of an f32. Arithmetic happens in float or double; this type only converts,
/// rounding to even.
struct BFloat16 {
    std::uint16_t bits = 0;  ///< Sign, 8 bits of exponent, 7 of fraction.
    BFloat16() = default;
    /// Rounds to the nearest bfloat16, ties to even; denormals are kept, a NaN stays a NaN.
    explicit BFloat16(double value);
    /// Exact.
    explicit operator float() const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
    /// Exact.
    explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

namespace detail {
template <class T>
inline constexpr int dtype_index = -1;
template <>
inline constexpr int dtype_index<bool> = static_cast<int>(DType::boolean);
template <>
inline constexpr int dtype_index<std::int8_t> = static_cast<int>(DType::i8);
template <>
inline constexpr int dtype_index<std::int16_t> = static_cast<int>(DType::i16);
template <>
inline constexpr int dtype_index<std::int32_t> = static_cast<int>(DType::i32);
template <>
inline constexpr int dtype_index<std::int64_t> = static_cast<int>(DType::i64);
template <>
inline constexpr int dtype_index<long long> = static_cast<int>(DType::i64);
template <>
inline constexpr int dtype_index<std::uint8_t> = static_cast<int>(DType::u8);
template <>
inline constexpr int dtype_index<std::uint16_t> = static_cast<int>(DType::u16);
template <>
inline constexpr int dtype_index<std::uint32_t> = static_cast<int>(DType::u32);
template <>
inline constexpr int dtype_index<std::uint64_t> = static_cast<int>(DType::u64);
template <>
inline constexpr int dtype_index<unsigned long long> = static_cast<int>(DType::u64);
template <>
inline constexpr int dtype_index<Half> = static_cast<int>(DType::f16);
template <>
inline constexpr int dtype_index<BFloat16> = static_cast<int>(DType::bf16);
template <>
inline constexpr int dtype_index<float> = static_cast<int>(DType::f32);
template <>
inline constexpr int dtype_index<double> = static_cast<int>(DType::f64);
template <>
inline constexpr int dtype_index<std::complex<float>> = static_cast<int>(DType::c64);
template <>
inline constexpr int dtype_index<std::complex<double>> = static_cast<int>(DType::c128);
}  // namespace detail

/// A C++ type that has an element type.
template <class T>
concept Element = detail::dtype_index<T> >= 0;

/// The element type of the C++ type `T`.
template <Element T>
constexpr DType dtype_of() {
    return static_cast<DType>(detail::dtype_index<T>);
}

}  // namespace lazuli
