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
constexpr std::size_t kFillWords = 3;

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

/// Where the numbers of one view are among the words of a placement.
struct ViewWords {
    std::size_t rank = 0;
    std::size_t shape = 0;  // 0: it is the result's
    std::size_t strides = 0;
    std::size_t offset = 0;
};
/// The views that (correct) words say, the last one last.
std::vector<ViewWords> views_in(std::span<const std::uint64_t> words);

/// Calls `size` with each of the (correct) words of a view that is a size, a stride, an offset or
/// an end of a range.
template <class Word, class Size>
void visit_placement(std::span<Word> words, const Size& size) {
    const std::uint64_t header = words[0];
    std::size_t at = 1 + ((header & kFilled) != 0 ? kFillWords : 0);
    for (std::size_t left = (header >> kViewsShift & 0xff) - 1; left > 0; --left) {
        const std::uint64_t view_header = words[at++];
        const std::size_t rank = view_header & 0xff;
        const std::size_t count = 2 * rank + 1 + ((view_header & 0x100) != 0 ? 2 * rank : 0);
        for (Word& word : words.subspan(at, count)) size(word);
        at += count;
    }
    for (Word& word : words.subspan(at)) size(word);
}

/// The movements that make it of an operand of shape `base`, and what fills padding:
/// `pad[(1,1)] filled 0.0`.
std::string placement_text(const Placement& placement, const Shape& base);
/// `variables` are those that the text may have besides the base's.
Placement parse_placement(std::string_view text, const Shape& base,
                          std::span<const Dim> variables = {});

}  // namespace lazuli::ir
