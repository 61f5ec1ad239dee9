#pragma once

// A column of a batch while it is filled.

#include <cstddef>
#include <vector>

#include "lazuli/backend.h"
#include "lazuli/tensor.h"

namespace lazuli::data {

/// A column: memory for its elements, row-major, and then a tensor on the default device. It is
/// filled where it will be, if the host can write there.
class Column {
   public:
    /// So many examples of that type and shape.
    Column(const TensorSpec& example, std::int64_t examples);
    /// Its elements, to be written.
    std::byte* elements() { return elements_; }
    std::size_t bytes() const { return static_cast<std::size_t>(spec_.nbytes()); }
    /// The tensor. Nothing is written after this.
    Tensor done();

   private:
    Device device_;
    TensorSpec spec_;
    BufferPtr buffer_;
    std::vector<std::byte> beside_;  // where the host cannot write the buffer
    std::byte* elements_;
};

}  // namespace lazuli::data
