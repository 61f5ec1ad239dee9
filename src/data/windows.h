#pragma once

// Examples that are windows over a row of numbers: the bytes of a file, or the characters of a
// text.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/open_file.h"
#include "lazuli/data.h"

namespace lazuli::data {

/// Numbers in as few bytes as hold all of them.
using Numbers =
    std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::int32_t>>;

/// All windows of `context` numbers that lie, with the one number behind them, in a part of the
/// row.
class Windows {
   public:
    /// Over the bytes of a file. FileError where there is no window.
    Windows(std::shared_ptr<const OpenFile> file, std::int64_t context);
    /// Over numbers that came from the characters of `path`. FileError where there is no window.
    Windows(std::shared_ptr<const Numbers> numbers, std::int64_t context, const std::string& path);

    std::int64_t size() const { return count_ > context_ ? count_ - context_ : 0; }
    std::vector<TensorSpec> specs() const;
    Batch batch(std::span<const std::int64_t> examples) const;
    /// The windows in the first `fraction` of the row, and those in the rest.
    std::pair<Windows, Windows> split(double fraction) const;

   private:
    using Source = std::variant<std::shared_ptr<const OpenFile>, std::shared_ptr<const Numbers>>;
    void read(std::int64_t from, std::span<std::int32_t> out) const;

    Source source_;
    std::int64_t first_ = 0;  // of the part
    std::int64_t count_ = 0;  // of numbers in it
    std::int64_t context_;
};

}  // namespace lazuli::data
