#pragma once

// Elements as unsigned integers whose order is the order of sorting.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/convert.h"

namespace lazuli::backend::host {

template <std::size_t Bytes>
using Unsigned = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
using KeyOf = Unsigned<sizeof(T)>;

/// The bits above which a float is NaN, its sign aside.
template <class T>
constexpr KeyOf<T> infinity_bits() {
    if constexpr (std::is_same_v<T, Half>) return 0x7c00;
    if constexpr (std::is_same_v<T, BFloat16>) return 0x7f80;
    if constexpr (std::is_same_v<T, float>) return 0x7f800000;
    if constexpr (std::is_same_v<T, double>) return 0x7ff0000000000000;
    return 0;
}

/// Keys of type T. In descending order they are complements; NaN is larger than every number.
template <class T>
struct Keys {
    using Key = KeyOf<T>;
    static constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);
    static constexpr Key kAll = static_cast<Key>(~Key{0});

    Key turned;  // all bits where the order is descending, else none

    explicit Keys(bool descending) : turned(descending ? kAll : Key{0}) {}

    /// `zeros`: 0 and -0 have one key.
    template <bool Zeros>
    Key encode(T v) const {
        auto bits = std::bit_cast<Key>(v);
        if constexpr (is_real_float_v<T>) {
            const Key size = bits & static_cast<Key>(~kSign);
            if (Zeros && size == 0) bits = 0;
            const Key negative = static_cast<Key>(Key{0} - (bits >> (8 * sizeof(T) - 1)));
            bits = size > infinity_bits<T>() ? kAll : static_cast<Key>(bits ^ (negative | kSign));
        } else if constexpr (std::is_signed_v<T>) {
            bits ^= kSign;
        }
        return bits ^ turned;
    }
    T decode(Key key) const {
        key ^= turned;
        if constexpr (is_real_float_v<T>) {
            key ^= (key & kSign) != 0 ? kSign : kAll;
        } else if constexpr (std::is_signed_v<T>) {
            key ^= kSign;
        }
        return std::bit_cast<T>(key);
    }
};

}  // namespace lazuli::backend::host
