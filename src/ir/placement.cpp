// A view's words: a header, the fill, each view but the last with its shape, and the last without:
// its shape is the result's.

#include "ir/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_table.h"
#include "ir/text.h"
#include "lazuli/error.h"

namespace lazuli {

namespace ir {

namespace {

/// Reads words that are known to be there.
class Reader {
   public:
    explicit Reader(const std::uint64_t* at) : at_(at) {}
    std::uint64_t word() { return *at_++; }
    Dim dim() { return Dim::from_raw(static_cast<std::int64_t>(*at_++)); }
    Dims dims(std::size_t count) {
        Dims out(count, Dim(0));
        for (Dim& value : out) value = dim();
        return out;
    }
    DimRanges ranges(std::size_t count) {
        DimRanges out(count, DimRange{});
        for (DimRange& range : out) {
            range.begin = dim();
            range.end = dim();
        }
        return out;
    }

   private:
    const std::uint64_t* at_;
};

}  // namespace

bool is_masked(const ShapeTracker& tracker) {
    return !tracker.top().mask.empty() ||
           std::any_of(tracker.below().begin(), tracker.below().end(),
                       [](const View& view) { return !view.mask.empty(); });
}

Dims dims_of(const Shape& shape) {
    Dims out;
    for (const std::int64_t slot : shape.raw()) out.push_back(Dim::from_raw(slot));
    return out;
}

Shape shape_of(std::span<const Dim> dims) { return Shape(dims); }

std::vector<ViewWords> views_in(std::span<const std::uint64_t> words) {
    const std::uint64_t header = words[0];
    std::size_t at = 1 + ((header & kFilled) != 0 ? kFillWords : 0);
    std::vector<ViewWords> out;
    for (std::size_t left = (header >> kViewsShift & 0xff) - 1; left > 0; --left) {
        const std::uint64_t view_header = words[at++];
        const std::size_t rank = view_header & 0xff;
        out.push_back({.rank = rank, .shape = at, .strides = at + rank, .offset = at + 2 * rank});
        at += 2 * rank + 1 + ((view_header & 0x100) != 0 ? 2 * rank : 0);
    }
    out.push_back({.rank = header >> kRankShift & 0xff, .strides = at + 1, .offset = at});
    return out;
}

Placement placement_of(std::span<const std::uint64_t> words, const Shape& result) {
    const std::uint64_t header = words[0];
    Reader read(words.data() + 1);
    std::optional<Scalar> fill;
    if ((header & kFilled) != 0) {
        const std::uint64_t kind = read.word();
        const std::uint64_t a = read.word();
        fill = Scalar::from_bits(static_cast<Kind>(kind & 0xff), (kind >> 8) != 0, a, read.word());
    }
    std::vector<View> below;
    for (std::size_t i = 1; i < (header >> kViewsShift & 0xff); ++i) {
        const std::uint64_t view_header = read.word();
        const std::size_t rank = view_header & 0xff;
        View view;
        view.shape = read.dims(rank);
        view.strides = read.dims(rank);
        view.offset = read.dim();
        if ((view_header & 0x100) != 0) view.mask = read.ranges(rank);
        below.push_back(std::move(view));
    }
    View top;
    top.shape = dims_of(result);
    top.offset = read.dim();
    top.strides = read.dims(top.shape.size());
    if ((header & kMasked) != 0) top.mask = read.ranges(top.shape.size());
    if (below.empty()) return {ShapeTracker(std::move(top)), fill};
    below.push_back(std::move(top));
    return {ShapeTracker::of_views(std::move(below)), fill};
}

void check_placement_words(std::string_view op, std::span<const std::uint64_t> words) {
    const auto refuse = [&](const char* why) {
        throw ArgumentError(fmt::format("{}: its view {}", op, why));
    };
    const std::uint64_t header = words[0];
    std::size_t at = 1;
    const auto take = [&](std::size_t count) {
        if (count > words.size() - at) refuse("is cut off");
        at += count;
    };
    const auto take_sizes = [&](std::size_t count) {
        take(count);
        for (std::size_t i = at - count; i < at; ++i) {
            const auto raw = static_cast<std::int64_t>(words[i]);
            if (!Dim::from_raw(raw).is_concrete() && !detail::is_expression(raw))
                refuse("has a number that is none");
        }
    };
    if ((header >> 34) != 0) refuse("is of no known form");
    if ((header & kFilled) != 0) {
        take(kFillWords);
        if ((words[1] & 0xff) > 3 || words[1] > 0x1ff) refuse("is filled with no number");
    }
    const std::size_t views = header >> kViewsShift & 0xff;
    if (views == 0) refuse("is of no known form");
    for (std::size_t i = 1; i < views; ++i) {
        take(1);
        const std::uint64_t view_header = words[at - 1];
        const std::size_t rank = view_header & 0xff;
        if (view_header > 0x1ff || rank > Shape::kMaxRank) refuse("is of no known form");
        take_sizes(2 * rank + 1 + ((view_header & 0x100) != 0 ? 2 * rank : 0));
    }
    const std::size_t rank = header >> kRankShift & 0xff;
    if (rank > Shape::kMaxRank) refuse("has too many dimensions");
    take_sizes(1 + rank + ((header & kMasked) != 0 ? 2 * rank : 0));
    if (at != words.size()) refuse("has words beyond its end");
}

std::string placement_text(const Placement& placement, const Shape& base) {
    const std::string movements = describe(placement.tracker, dims_of(base));
    return is_masked(placement.tracker) ? movements + " filled " + placement.fill.value_or(0).str()
                                        : movements;
}

Placement parse_placement(std::string_view text, const Shape& base,
                          std::span<const Dim> variables) {
    constexpr std::string_view kFilledWord = " filled ";
    const std::size_t at = text.find(kFilledWord);
    Placement out{parse_movements(text.substr(0, at), dims_of(base), variables)};
    if (!is_masked(out.tracker)) {
        if (at != std::string_view::npos)
            throw ArgumentError(fmt::format("'{}': a view without padding is not filled", text));
        return out;
    }
    if (at == std::string_view::npos)
        throw ArgumentError(fmt::format("'{}': what fills the padding is not said", text));
    const auto fill = parse_scalar(text.substr(at + kFilledWord.size()));
    if (!fill) throw ArgumentError(fmt::format("'{}': padding is not filled with a number", text));
    out.fill = *fill;
    return out;
}

}  // namespace ir

Placement Attrs::placement(int index, const Shape& result) const {
    const std::uint64_t* at = word(index);
    const std::size_t length = ir::attr_length(
        AttrKind::view, at, words_.size() - static_cast<std::size_t>(at - words_.data()));
    if (length == 0 || static_cast<int>(at[0] >> ir::kRankShift & 0xff) != result.rank())
        throw ArgumentError(
            fmt::format("{}: the view's rank is not that of {}", def_->name, result.str()));
    return ir::placement_of({at, length}, result);
}

namespace {

/// A view put together by hand may lack parts.
void ensure_whole(const View& view) {
    const std::size_t rank = view.shape.size();
    const bool whole = rank <= Shape::kMaxRank && view.strides.size() == rank &&
                       (view.mask.empty() || view.mask.size() == rank);
    if (!whole) throw ArgumentError("view: one size, stride and range a dimension is needed");
}

}  // namespace

void AttrWords::placement(const Placement& v) {
    const ShapeTracker& tracker = v.tracker;
    for (const View& view : tracker.below()) ensure_whole(view);
    ensure_whole(tracker.top());
    const bool filled = ir::is_masked(tracker);
    const int start = count_;
    push(0);
    if (filled) scalar(v.fill.value_or(0));
    const auto dims = [&](const Dims& list) {
        for (const Dim dim : list) push(static_cast<std::uint64_t>(dim.raw()));
    };
    const auto ranges = [&](const DimRanges& list) {
        for (const DimRange& range : list) {
            push(static_cast<std::uint64_t>(range.begin.raw()));
            push(static_cast<std::uint64_t>(range.end.raw()));
        }
    };
    for (const View& view : tracker.below()) {
        push(view.shape.size() | (view.mask.empty() ? 0U : 0x100U));
        dims(view.shape);
        dims(view.strides);
        push(static_cast<std::uint64_t>(view.offset.raw()));
        ranges(view.mask);
    }
    push(static_cast<std::uint64_t>(tracker.top().offset.raw()));
    dims(tracker.top().strides);
    ranges(tracker.top().mask);
    words_[start] = static_cast<std::uint64_t>(count_ - start - 1) |
                    tracker.size() << ir::kViewsShift | tracker.rank() << ir::kRankShift |
                    (tracker.top().mask.empty() ? 0 : ir::kMasked) | (filled ? ir::kFilled : 0);
}

}  // namespace lazuli
