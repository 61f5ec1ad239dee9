#pragma once

// A vector of plain values whose first `Inline` elements need no heap.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace lazuli::detail {

template <class T, std::uint32_t Inline>
class SmallVector {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    SmallVector() {}
    SmallVector(std::initializer_list<T> from)
        : SmallVector(std::span(from.begin(), from.size())) {}
    explicit SmallVector(std::span<const T> from) { assign(from); }
    SmallVector(std::size_t count, T value) {
        reserve(count);
        std::fill_n(data_, count, value);
        size_ = static_cast<std::uint32_t>(count);
    }
    SmallVector(const SmallVector& other) { copy(other); }
    SmallVector(SmallVector&& other) noexcept { take(other); }
    SmallVector& operator=(const SmallVector& other) {
        if (this != &other) copy(other);
        return *this;
    }
    SmallVector& operator=(SmallVector&& other) noexcept {
        if (this != &other) {
            drop();
            take(other);
        }
        return *this;
    }
    ~SmallVector() { drop(); }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }

    void clear() { size_ = 0; }
    void push_back(T value) {
        if (size_ == capacity_) reserve(2 * std::size_t{capacity_});
        data_[size_++] = value;
    }
    void pop_back() { --size_; }
    void resize(std::size_t count, T value = T{}) {
        reserve(count);
        if (count > size_) std::fill(data_ + size_, data_ + count, value);
        size_ = static_cast<std::uint32_t>(count);
    }
    void insert(std::size_t at, T value) {
        push_back(value);
        std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    }
    void erase(std::size_t at) {
        std::copy(data_ + at + 1, data_ + size_, data_ + at);
        --size_;
    }
    void assign(std::span<const T> from) {
        reserve(from.size());
        std::copy(from.begin(), from.end(), data_);
        size_ = static_cast<std::uint32_t>(from.size());
    }
    bool operator==(const SmallVector& other) const {
        return std::equal(begin(), end(), other.begin(), other.end());
    }

   private:
    void reserve(std::size_t count) {
        if (count <= capacity_) return;
        T* larger = new T[count];
        std::copy(data_, data_ + size_, larger);
        drop();
        data_ = larger;
        capacity_ = static_cast<std::uint32_t>(count);
    }
    void drop() {
        if (data_ != inline_) delete[] data_;
    }
    // All inline elements, used or not: a copy of fixed size is a few vector moves, one of variable
    // size a call.
    void copy_inline(const SmallVector& other) {
        // Written out: g++ makes a call of the loop.
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((inline_[I] = other.inline_[I]), ...);
        }(std::make_index_sequence<Inline>{});
    }
    void copy(const SmallVector& other) {
        if (data_ == inline_ && other.data_ == other.inline_) {
            size_ = other.size_;
            copy_inline(other);
        } else {
            assign(other);
        }
    }
    void take(SmallVector& other) noexcept {
        size_ = other.size_;
        if (other.data_ == other.inline_) {
            data_ = inline_;
            capacity_ = Inline;
            copy_inline(other);
            return;
        }
        data_ = other.data_;
        capacity_ = other.capacity_;
        other.data_ = other.inline_;
        other.capacity_ = Inline;
        other.size_ = 0;
    }

    T* data_ = inline_;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = Inline;
    T inline_[Inline] = {};
};

}  // namespace lazuli::detail
