#pragma once

/// @file
/// Shapes: the sizes of a tensor's dimensions, and shape plus element type. A size is a number, or
/// an expression over named sizes (`dim`): then it has no value yet, and reading it as a number is
/// an error that names it.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lazuli/detail/size_slot.h"
#include "lazuli/dtype.h"
#include "lazuli/symbolic.h"

namespace lazuli {

/// The sizes of a tensor's dimensions, outermost first. Up to six sizes are kept inline: no heap
/// allocation.
class Shape {
   public:
    static constexpr int kInline = 6;    ///< Ranks up to this one allocate nothing.
    static constexpr int kMaxRank = 64;  ///< The largest rank there may be.

    /// Rank 0: one element.
    Shape() = default;
    /// The given sizes.
    Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
    /// The given sizes: numbers, or `dim("batch", 1, 64)`.
    Shape(std::initializer_list<Dim> dims) : Shape(std::span(dims.begin(), dims.size())) {}
    /// The given sizes.
    explicit Shape(std::span<const Dim> dims) {
        resize(dims.size() > kMaxRank ? kMaxRank + 1 : static_cast<int>(dims.size()));
        for (std::size_t i = 0; i < dims.size(); ++i) slots()[i] = dims[i].raw();
    }
    /// The given sizes.
    explicit Shape(std::span<const std::int64_t> dims) {
        if (dims.size() > kInline) {
            assign_slow(dims);
        } else {
            rank_ = static_cast<int>(dims.size());
            for (std::size_t i = 0; i < dims.size(); ++i) inline_[i] = dims[i];
        }
    }
    /// `rank` dimensions of size `size` each.
    static Shape filled(int rank, std::int64_t size) {
        Shape shape;
        shape.resize(rank);
        for (std::int64_t& dim : shape) dim = size;
        return shape;
    }
    /// Copies the sizes.
    Shape(const Shape& other) {
        if (other.rank_ <= kInline) {
            copy_inline(other);
        } else {
            copy_slow(other);
        }
    }
    /// Takes over the sizes.
    Shape(Shape&& other) noexcept { take(other); }
    /// Copies the sizes.
    Shape& operator=(const Shape& other) {
        if (rank_ <= kInline && other.rank_ <= kInline) {
            copy_inline(other);
        } else if (this != &other) {
            copy_slow(other);
        }
        return *this;
    }
    /// Takes over the sizes.
    Shape& operator=(Shape&& other) noexcept {
        if (this != &other) {
            if (rank_ > kInline) delete[] heap_;
            take(other);
        }
        return *this;
    }
    ~Shape() {
        if (rank_ > kInline) delete[] heap_;
    }

    /// The number of dimensions.
    int rank() const { return rank_; }
    /// The number of dimensions, as a container says it.
    std::size_t size() const { return static_cast<std::size_t>(rank_); }
    /// Whether there are no dimensions.
    bool empty() const { return rank_ == 0; }
    /// Whether every size is a number.
    bool is_concrete() const {
        for (const std::int64_t slot : raw()) {
            if (!Dim::from_raw(slot).is_concrete()) return false;
        }
        return true;
    }
    /// The size of dimension `i`, from 0; ShapeError where it is no number.
    std::int64_t operator[](int i) const { return detail::read_slot(slots()[i]); }
    /// The size of dimension `i`, number or not.
    Dim dim(int i) const { return Dim::from_raw(slots()[i]); }
    /// Sets the size of dimension `i`.
    void set(int i, Dim size) { slots()[i] = size.raw(); }
    /// The size of dimension `i`, to be changed, or read as a number.
    detail::SizeSlot operator[](int i) { return detail::SizeSlot(slots() + i); }
    /// The first size.
    detail::SizeIterator begin() const { return detail::SizeIterator(slots()); }
    /// Behind the last size.
    detail::SizeIterator end() const { return detail::SizeIterator(slots() + rank_); }
    /// The first size, to be changed.
    std::int64_t* begin() { return slots(); }
    /// Behind the last size.
    std::int64_t* end() { return slots() + rank_; }
    /// The sizes as a span; ShapeError where one is no number.
    std::span<const std::int64_t> dims() const {
        for (const std::int64_t slot : raw()) (void)detail::read_slot(slot);
        return raw();
    }
    /// What `Dim::raw` gives for each size: equal exactly where the sizes are.
    std::span<const std::int64_t> raw() const { return {slots(), size()}; }
    /// The sizes, to be changed, as `raw` has them.
    std::int64_t* data() { return slots(); }
    /// Appends a dimension.
    void push_back(std::int64_t dim) {
        resize(rank_ + 1);
        slots()[rank_ - 1] = dim;
    }
    /// Appends a dimension.
    void push_back(int dim) { push_back(std::int64_t{dim}); }
    /// Appends a dimension.
    void push_back(Dim dim) { push_back(dim.raw()); }
    /// Changes the rank; new sizes are 0, sizes that stay keep their value.
    void resize(int rank);

    /// Whether the sizes are the same.
    bool operator==(const Shape& other) const {
        if (rank_ != other.rank_) return false;
        const std::int64_t* a = slots();
        const std::int64_t* b = other.slots();
        for (int i = 0; i < rank_; ++i) {
            if (a[i] != b[i]) return false;
        }
        return true;
    }
    /// The number of elements; 1 for rank 0. Throws ShapeError where it exceeds 2^63 - 1, or where
    /// a size is no number.
    std::int64_t numel() const;
    /// The number of elements, number or not.
    Dim count() const;
    /// As text: `[2, 3]`, `[batch, 4*t]`.
    std::string str() const;

   private:
    const std::int64_t* slots() const { return rank_ > kInline ? heap_ : inline_; }
    std::int64_t* slots() { return rank_ > kInline ? heap_ : inline_; }
    // All six sizes, used or not: a copy of fixed size is a few vector moves, one of variable size
    // a call.
    void copy_inline(const Shape& other) noexcept {
        rank_ = other.rank_;
        // Written out: g++ 12 makes a loop of the loop, and `rep movs` of a memcpy.
        static_assert(kInline == 6);
        inline_[0] = other.inline_[0];
        inline_[1] = other.inline_[1];
        inline_[2] = other.inline_[2];
        inline_[3] = other.inline_[3];
        inline_[4] = other.inline_[4];
        inline_[5] = other.inline_[5];
    }
    void take(Shape& other) noexcept {
        copy_inline(other);  // the heap pointer lies where the first size does
        if (rank_ > kInline) other.rank_ = 0;
    }
    void copy_slow(const Shape& other);
    void assign_slow(std::span<const std::int64_t> dims);
    void resize_slow(int rank);

    std::int32_t rank_ = 0;
    union {
        std::int64_t inline_[kInline] = {};
        std::int64_t* heap_;
    };
};

inline void Shape::resize(int rank) {
    if (rank <= kInline && rank_ <= kInline) {
        for (int i = rank_; i < rank; ++i) inline_[i] = 0;
        rank_ = rank;
    } else {
        resize_slow(rank);
    }
}

/// A list of axes or of sizes; small ones allocate nothing.
using Ints = Shape;

/// Shape and element type: what is known of a tensor without computing it.
struct TensorSpec {
    DType dtype = DType::f32;  ///< The element type.
    Shape shape;               ///< The sizes.
    /// Whether type and sizes are the same.
    bool operator==(const TensorSpec&) const = default;
    /// The bytes of a dense tensor of this spec. Throws ShapeError where it exceeds 2^63 - 1.
    std::int64_t nbytes() const;
    /// As text: `f32[2, 3]`.
    std::string str() const;
};

/// Strides of a dense row-major tensor, in elements.
Ints dense_strides(const Shape& shape);
/// The shape both operands broadcast to, by numpy's rule; ShapeError naming `op` where they do not
/// fit. Only the number 1 is broadcast: a size that is no number must be the other's, by proof.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

}  // namespace lazuli
