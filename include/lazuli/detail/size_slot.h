#pragma once

// How the sizes of a shape are read and changed one by one: as numbers, or an error that names the
// expression.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "lazuli/symbolic.h"

namespace lazuli::detail {

/// What a slot of a shape stands for, where it is below every size that is a number: the number
/// itself, or ShapeError naming the expression.
std::int64_t read_unusual_slot(std::int64_t raw);
inline std::int64_t read_slot(std::int64_t raw) {
    return Dim::from_raw(raw).is_concrete() ? raw : read_unusual_slot(raw);
}

/// A size of a shape that can be changed.
class SizeSlot {
   public:
    explicit SizeSlot(std::int64_t* at) : at_(at) {}
    SizeSlot(const SizeSlot&) = default;
    // `some ? shape[0] : 1` would be an int, and cut the size: no type is right for both now.
    template <std::integral Number>
        requires(!std::same_as<Number, std::int64_t>)
    SizeSlot(Number) = delete;
    operator std::int64_t() const { return read_slot(*at_); }
    SizeSlot& operator=(std::int64_t size) { return *at_ = size, *this; }
    SizeSlot& operator=(int size) { return *at_ = size, *this; }
    SizeSlot& operator=(Dim size) { return *at_ = size.raw(), *this; }
    SizeSlot& operator=(const SizeSlot& other) {  // the size, not the place
        *at_ = *other.at_;
        return *this;
    }
    SizeSlot& operator+=(std::int64_t n) { return *this = *this + n; }
    SizeSlot& operator-=(std::int64_t n) { return *this = *this - n; }
    SizeSlot& operator*=(std::int64_t n) { return *this = *this * n; }
    SizeSlot& operator/=(std::int64_t n) { return *this = *this / n; }
    SizeSlot& operator++() { return *this += 1; }
    SizeSlot& operator--() { return *this -= 1; }
    friend void swap(SizeSlot a, SizeSlot b) { std::swap(*a.at_, *b.at_); }

   private:
    std::int64_t* at_;
};

/// Reads the sizes of a shape one after the other.
class SizeIterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::int64_t;
    using difference_type = std::ptrdiff_t;
    using reference = std::int64_t;
    using pointer = void;

    SizeIterator() = default;
    explicit SizeIterator(const std::int64_t* at) : at_(at) {}
    std::int64_t operator*() const { return read_slot(*at_); }
    std::int64_t operator[](difference_type n) const { return read_slot(at_[n]); }
    SizeIterator& operator++() { return ++at_, *this; }
    SizeIterator operator++(int) { return SizeIterator(at_++); }
    SizeIterator& operator--() { return --at_, *this; }
    SizeIterator operator--(int) { return SizeIterator(at_--); }
    SizeIterator& operator+=(difference_type n) { return at_ += n, *this; }
    SizeIterator& operator-=(difference_type n) { return at_ -= n, *this; }
    friend SizeIterator operator+(SizeIterator a, difference_type n) { return a += n; }
    friend SizeIterator operator+(difference_type n, SizeIterator a) { return a += n; }
    friend SizeIterator operator-(SizeIterator a, difference_type n) { return a -= n; }
    friend difference_type operator-(SizeIterator a, SizeIterator b) { return a.at_ - b.at_; }
    auto operator<=>(const SizeIterator&) const = default;

   private:
    const std::int64_t* at_ = nullptr;
};

}  // namespace lazuli::detail
