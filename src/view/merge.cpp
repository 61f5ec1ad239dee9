// Two views as one.
//
// An index of the outer view is a row-major position of the inner one: a number whose digits, in
// the mixed radix of the inner sizes, are the inner position. The two are one view where each digit
// is an affine function of the outer position: then no step carries from one digit to the next. The
// digits at two neighbouring points give the slope along a dimension; if the digits that follow
// from the slopes stay within their radix at the corners, they do everywhere, and are the digits.

#include "view/view.h"

namespace lazuli {

namespace {

using views::sure;

/// A dimension of the inner view, or several that act as one.
struct Digit {
    Dim size;
    Dim stride;
    DimRange valid;
    Dim weight;  // of a step along it in the row-major number
};

/// The inner view's dimensions, adjacent ones joined where a step along the outer is as far as a
/// run along the inner. `offset` is the index of position 0.
struct Digits {
    detail::SmallVector<Digit, 6> all;
    Dim offset;
};

Digits digits_of(const View& view) {
    Digits out{{}, view.offset};
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        const Digit next{view.shape[i], view.strides[i], views::valid_range(view, i), 1};
        if (next.size == Dim(1) && next.valid == DimRange{0, 1}) continue;
        if (!out.all.empty()) {
            Digit& last = out.all.back();
            const bool next_full = next.valid == DimRange{0, next.size};
            const bool last_single = last.valid.end - last.valid.begin == Dim(1);
            if (last_single) {
                // Only one step along `last` counts, so its stride is whatever suits.
                const Dim at = last.valid.begin;
                out.offset = out.offset + at * (last.stride - next.stride * next.size);
                last = {last.size * next.size,
                        next.stride,
                        {at * next.size + next.valid.begin, at * next.size + next.valid.end},
                        1};
                continue;
            }
            if (next_full && last.stride == next.stride * next.size) {
                last = {last.size * next.size,
                        next.stride,
                        {last.valid.begin * next.size, last.valid.end * next.size},
                        1};
                continue;
            }
        }
        out.all.push_back(next);
    }
    Dim weight = 1;
    for (std::size_t k = out.all.size(); k-- > 0;) {
        out.all[k].weight = weight;
        weight = weight * out.all[k].size;
    }
    return out;
}

/// A digit over the outer box: at its first corner, and along each dimension.
struct Line {
    Dim base;
    std::span<const Dim> slopes;
};

/// Writes the digits of a row-major number, the first without bound.
void unravel(const Digits& digits, Dim number, Dims& out) {
    out.resize(digits.all.size());
    for (std::size_t k = out.size(); k-- > 1;) {
        const Dim size = views::divisor(digits.all[k].size);
        const Dim rest = number / size;
        out[k] = number - rest * size;
        number = rest;
    }
    if (!out.empty()) out[0] = number;
}

Dim length(const DimRange& range) { return range.end - range.begin; }

/// The lowest and highest value of a line over the box.
struct Extent {
    Dim low;
    Dim high;
};

std::optional<Extent> extent(const Line& line, const DimRanges& box, std::size_t without) {
    Extent out{line.base, line.base};
    for (std::size_t d = 0; d < box.size(); ++d) {
        if (d == without || line.slopes[d] == Dim(0)) continue;
        const Dim reach = line.slopes[d] * (length(box[d]) - 1);
        if (sure(at_least(line.slopes[d], 0))) {
            out.high = out.high + reach;
        } else if (sure(at_least(0, line.slopes[d]))) {
            out.low = out.low + reach;
        } else {
            return std::nullopt;
        }
    }
    return out;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

Dim ceil_div(Dim a, Dim b) { return Dim(0) - (Dim(0) - a) / b; }

/// Narrows the box to where the line is at least `low` (or below `end`). False where those
/// positions are no box.
bool keep_from(const Line& line, Dim low, DimRanges& box) {
    const auto whole = extent(line, box, kNone);
    if (!whole) return false;
    if (sure(at_least(whole->low, low))) return true;
    if (sure(less(whole->high, low))) {
        box[0].end = box[0].begin;
        return true;
    }
    for (std::size_t d = 0; d < box.size(); ++d) {
        const Dim slope = line.slopes[d];
        const bool rises = sure(at_least(slope, 1));
        if (!rises && !sure(less(slope, 0))) continue;
        const auto rest = extent(line, box, d);
        if (!rest) continue;
        if (rises) {
            // The first step x with slope*x + rest >= low for the lowest rest; one step before, it
            // must be out of reach for the highest.
            const Dim x = ceil_div(low - rest->low, slope);
            if (rest->low != rest->high && !sure(less(slope * (x - 1) + rest->high, low))) continue;
            box[d].begin = max(box[d].begin, box[d].begin + x);
        } else {
            const Dim x = (rest->low - low) / (Dim(0) - slope);  // the last step
            if (rest->low != rest->high && !sure(less(slope * (x + 1) + rest->high, low))) continue;
            box[d].end = min(box[d].end, box[d].begin + x + 1);
        }
        return true;
    }
    return false;
}

/// The line as seen from a box that starts elsewhere.
Line moved(Line line, const DimRanges& from, const DimRanges& to) {
    for (std::size_t d = 0; d < from.size(); ++d)
        line.base = line.base + line.slopes[d] * (to[d].begin - from[d].begin);
    return line;
}

/// Takes positions away whose number lies before the first or behind the last valid one of the
/// inner view: what is known of them without looking at digits.
void narrow(const Digits& digits, const View& outer, DimRanges& box) {
    Dim first = 0;
    Dim last = 0;
    for (const Digit& d : digits.all) {
        first = first + d.valid.begin * d.weight;
        last = last + (d.valid.end - 1) * d.weight;
    }
    for (std::size_t d = 0; d < box.size(); ++d) {
        const Dim stride = outer.strides[d];
        if (!stride.is_concrete() || stride == Dim(0)) continue;
        Line line{outer.offset, outer.strides};
        for (std::size_t k = 0; k < box.size(); ++k)
            line.base = line.base + outer.strides[k] * box[k].begin;
        const auto rest = extent(line, box, d);
        if (!rest) return;
        // first <= stride*x + rest <= last for some rest
        const Dim steps = stride.value() > 0 ? stride : Dim(0) - stride;
        const Dim least = stride.value() > 0 ? ceil_div(first - rest->high, steps)
                                             : ceil_div(rest->low - last, steps);
        const Dim most =
            stride.value() > 0 ? (last - rest->low) / steps : (rest->high - first) / steps;
        const DimRange range = box[d];
        if (!sure(at_least(0, least))) box[d].begin = max(range.begin, range.begin + least);
        if (!sure(at_least(most, length(range) - 1)))
            box[d].end = min(range.end, range.begin + most + 1);
        if (sure(at_least(box[d].begin, box[d].end))) return;
    }
}

bool is_empty(const DimRanges& box) {
    for (const DimRange& range : box) {
        if (sure(at_least(range.begin, range.end))) return true;
    }
    return false;
}

}  // namespace

std::optional<View> merge(const View& inner, const View& outer) {
    if (inner.is_contiguous()) return outer;
    const std::size_t rank = outer.shape.size();
    for (const Dim size : outer.shape) {
        if (size == Dim(0)) return outer;
    }
    if (rank == 0) {
        // As a vector of one. There is no mask of rank 0: a position in padding stays two views.
        const auto merged = merge(inner, View{{Dim(1)}, {Dim(0)}, outer.offset, {}});
        if (!merged || !merged->mask.empty()) return std::nullopt;
        return View{{}, {}, merged->offset, {}};
    }
    const auto nothing = [&] {
        View out = outer;
        views::hide_all(out);
        return out;
    };
    if (views::hides_all(inner) || views::hides_all(outer)) return nothing();
    const Digits digits = digits_of(inner);
    DimRanges box;
    for (std::size_t d = 0; d < rank; ++d) box.push_back(views::valid_range(outer, d));
    if (!inner.mask.empty()) narrow(digits, outer, box);
    if (is_empty(box)) return nothing();
    Dim number = outer.offset;
    for (std::size_t d = 0; d < rank; ++d) number = number + outer.strides[d] * box[d].begin;

    const std::size_t count = digits.all.size();
    Dims base;
    unravel(digits, number, base);
    Dims next;
    detail::SmallVector<Dim, 16> slopes(count * rank, Dim(0));  // a row a digit
    for (std::size_t d = 0; d < rank; ++d) {
        const Dim steps = length(box[d]) - 1;
        if (outer.strides[d] == Dim(0) || steps == Dim(0)) continue;
        unravel(digits, number + outer.strides[d], next);
        for (std::size_t k = 0; k < count; ++k) {
            Dim digit = next[k];
            // Where there is only one position the slope does not count.
            if (!digit.is_concrete())
                digit = Dim(digit.expr().assuming(at_least(steps.expr(), Dim(1).expr())));
            const Dim slope = digit - base[k];
            const Dim reach = slope * steps;
            const Dim size = digits.all[k].size;
            if (at_least(reach, size) == Truth::yes || at_least(Dim(0) - reach, size) == Truth::yes)
                return std::nullopt;
            slopes[k * rank + d] = slope;
        }
    }

    View out{outer.shape, Dims(rank, Dim(0)), digits.offset, {}};
    for (std::size_t k = 0; k < count; ++k) {
        const Digit& inside = digits.all[k];
        const Line line{base[k], {slopes.data() + k * rank, rank}};
        const auto reach = extent(line, box, kNone);
        if (!reach || !sure(at_least(reach->low, 0)) || !sure(less(reach->high, inside.size)))
            return std::nullopt;
        out.offset = out.offset + inside.stride * line.base;
        for (std::size_t d = 0; d < rank; ++d)
            out.strides[d] = out.strides[d] + inside.stride * line.slopes[d];
    }
    for (std::size_t d = 0; d < rank; ++d) out.offset = out.offset - out.strides[d] * box[d].begin;

    DimRanges kept = box;
    for (std::size_t k = 0; k < count && !is_empty(kept); ++k) {
        const DimRange valid = digits.all[k].valid;
        if (valid == DimRange{0, digits.all[k].size}) continue;
        const std::span<const Dim> row(slopes.data() + k * rank, rank);
        if (!keep_from(moved({base[k], row}, box, kept), valid.begin, kept)) return std::nullopt;
        if (is_empty(kept)) break;
        Dims opposite(row);
        for (Dim& slope : opposite) slope = Dim(0) - slope;
        const Line falling = moved({Dim(0) - base[k], opposite}, box, kept);
        if (!keep_from(falling, Dim(1) - valid.end, kept)) return std::nullopt;
    }
    out.mask = std::move(kept);
    views::normalize(out);
    return out;
}

}  // namespace lazuli
