#pragma once

// Examples that are rows: of tensors, and of .npy files.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/open_file.h"
#include "frontend/npy_header.h"
#include "lazuli/backend.h"
#include "lazuli/data.h"

namespace lazuli::data {

/// Rows of a tensor, dense in memory that the host can read.
struct TensorRows {
    explicit TensorRows(const Tensor& tensor);
    const TensorSpec& spec() const { return tensor.spec(); }
    /// Rows that follow each other, from `first` on, to `out`.
    void read(std::int64_t first, std::byte* out, std::size_t bytes) const;

    Tensor tensor;  // held lest its memory be given to a result
    BufferPtr buffer;
    std::size_t offset = 0;
};

/// Rows of a .npy file.
struct NpyRows {
    explicit NpyRows(const std::string& path);
    const TensorSpec& spec() const { return header.spec; }
    /// Rows that follow each other, from `first` on, to `out`.
    void read(std::int64_t first, std::byte* out, std::size_t bytes) const;

    std::shared_ptr<const OpenFile> file;
    frontend::NpyHeader header;
};

/// Some rows of columns that have equally many.
class Rows {
   public:
    static Rows of_tensors(const std::vector<Tensor>& tensors);
    static Rows of_files(const std::vector<std::string>& paths);

    std::int64_t size() const { return count_; }
    std::vector<TensorSpec> specs() const;
    Batch batch(std::span<const std::int64_t> examples) const;
    /// The first `fraction` of them, and the rest.
    std::pair<Rows, Rows> split(double fraction) const;

   private:
    using Source = std::variant<TensorRows, NpyRows>;
    explicit Rows(std::vector<Source> columns);
    std::shared_ptr<const std::vector<Source>> columns_;
    std::int64_t first_ = 0;
    std::int64_t count_ = 0;
};

}  // namespace lazuli::data
