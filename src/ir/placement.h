#pragma once

// The attribute of a view as words and as text.

#include "lazuli/op.h"

namespace lazuli::ir {

// The header of a view's words: how many words follow, how many views there are, the last one's
// rank, whether it has a mask, and whether there is a fill.
constexpr int kViewsShift = 16;
constexpr int kRankShift = 24;
constexpr std::uint64_t kMasked = std::uint64_t{1} << 32;
constexpr std::uint64_t kFilled = std::uint64_t{1} << 33;

Dims dims_of(const Shape& shape);
Shape shape_of(std::span<const Dim> dims);

/// The header of the words of one view of that rank without padding; its offset and strides follow.
constexpr std::uint64_t strided_header(int rank) {
    return static_cast<std::uint64_t>(rank + 1) | std::uint64_t{1} << kViewsShift |
           static_cast<std::uint64_t>(rank) << kRankShift;
}

/// Whether some position is padding.
bool is_masked(const ShapeTracker& tracker);

/// The placement that words say, whose last shape is `result`.
Placement placement_of(std::span<const std::uint64_t> words, const Shape& result);
/// Throws ArgumentError where the words are cut off or say what no view has.
void check_placement_words(std::string_view op, std::span<const std::uint64_t> words);

/// The movements that make it of an operand of shape `base`, and what fills padding:
/// `pad[(1,1)] filled 0.0`.
std::string placement_text(const Placement& placement, const Shape& base);
Placement parse_placement(std::string_view text, const Shape& base);

}  // namespace lazuli::ir
