#pragma once

// A vector whose first elements lie within it: small work asks for no memory.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace lazuli {

template <class T, std::size_t Inline>
class InlineVector {
   public:
    InlineVector() = default;
    InlineVector(const InlineVector&) = delete;
    InlineVector& operator=(const InlineVector&) = delete;
    ~InlineVector() {
        clear();
        if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
    }

    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T& front() { return *data_; }
    T& back() { return data_[size_ - 1]; }
    const T& front() const { return *data_; }

    void reserve(std::size_t wanted) {
        if (wanted <= capacity_) return;
        T* room = std::allocator<T>().allocate(wanted);
        std::uninitialized_move(begin(), end(), room);
        std::destroy(begin(), end());
        if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
        data_ = room;
        capacity_ = wanted;
    }
    template <class... Args>
    T& emplace_back(Args&&... args) {
        if (size_ == capacity_) reserve(std::max<std::size_t>(4, 2 * capacity_));
        T* made = std::construct_at(data_ + size_, std::forward<Args>(args)...);
        ++size_;
        return *made;
    }
    void push_back(T value) { emplace_back(std::move(value)); }
    /// Elements of their own value.
    void grow(std::size_t size) {
        reserve(size);
        while (size_ < size) emplace_back();
    }
    void clear() {
        std::destroy(begin(), end());
        size_ = 0;
    }

   private:
    bool is_inline() const { return data_ == reinterpret_cast<const T*>(room_); }

    alignas(T) std::byte room_[Inline * sizeof(T)];
    T* data_ = reinterpret_cast<T*>(room_);
    std::size_t size_ = 0;
    std::size_t capacity_ = Inline;
};

}  // namespace lazuli
