#pragma once

// The canonical form of an operation: one header word, operands packed two to a word, the result's
// sizes, the attributes. Capture writes it, programs keep it, hashing and comparison read it, and
// nothing else describes an operation.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "lazuli/program.h"

namespace lazuli::ir {

inline std::uint64_t header_word(OpId op, DType dtype, int rank, std::size_t inputs,
                                 std::size_t attr_words) {
    return static_cast<std::uint64_t>(op) | (static_cast<std::uint64_t>(dtype) << 16) |
           (static_cast<std::uint64_t>(rank) << 24) | (static_cast<std::uint64_t>(inputs) << 32) |
           (static_cast<std::uint64_t>(attr_words) << 48);
}

constexpr std::size_t kMaxInputs = 0xffff;

inline std::uint32_t header_op(std::uint64_t word) { return word & 0xffff; }
inline int header_rank(std::uint64_t word) { return static_cast<int>((word >> 24) & 0xff); }
inline std::size_t header_inputs(std::uint64_t word) { return (word >> 32) & 0xffff; }
inline std::size_t header_attr_words(std::uint64_t word) { return word >> 48; }
inline std::size_t input_words(std::size_t inputs) { return (inputs + 1) / 2; }

inline std::size_t operation_length(std::uint64_t header) {
    return 1 + input_words(header_inputs(header)) + static_cast<std::size_t>(header_rank(header)) +
           header_attr_words(header);
}

/// Words under construction. Unlike a vector it grows without filling, and clearing keeps the room.
class WordBuffer {
   public:
    WordBuffer() = default;
    WordBuffer(WordBuffer&& other) noexcept { swap(other); }
    WordBuffer& operator=(WordBuffer&& other) noexcept {
        swap(other);
        return *this;
    }
    /// Room for `count` more words, which the caller fills.
    std::uint64_t* append(std::size_t count) {
        if (size_ + count > capacity_) [[unlikely]]
            grow(count);
        std::uint64_t* at = words_.get() + size_;
        size_ += count;
        return at;
    }
    void clear() { size_ = 0; }
    std::size_t size() const { return size_; }
    std::span<const std::uint64_t> words() const { return {words_.get(), size_}; }

   private:
    void swap(WordBuffer& other) noexcept {
        words_.swap(other.words_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    void grow(std::size_t count) {
        const std::size_t capacity = std::max(2 * capacity_, size_ + count + 64);
        auto larger = std::make_unique_for_overwrite<std::uint64_t[]>(capacity);
        std::copy_n(words_.get(), size_, larger.get());
        words_ = std::move(larger);
        capacity_ = capacity;
    }
    std::unique_ptr<std::uint64_t[]> words_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace lazuli::ir
