#include "view/view.h"

#include <fmt/format.h>

#include "lazuli/error.h"

namespace lazuli {

View View::contiguous(std::span<const Dim> shape) {
    View view;
    views::make_contiguous(view, shape);
    return view;
}

bool View::is_contiguous() const {
    if (!mask.empty() || offset != Dim(0)) return false;
    Dim stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == Dim(0)) return true;
        if (shape[i] == Dim(1)) continue;
        if (strides[i] != stride) return false;
        stride = stride * shape[i];
    }
    return true;
}

Dim View::numel() const {
    Dim out = 1;
    for (const Dim size : shape) out = out * size;
    return out;
}

namespace views {

void make_contiguous(View& view, std::span<const Dim> shape) {
    view.shape.assign(shape);
    view.strides.resize(shape.size());
    view.offset = 0;
    view.mask.clear();
    Dim stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        view.strides[i] = shape[i] == Dim(1) ? Dim(0) : stride;
        stride = stride * shape[i];
    }
    if (stride == Dim(0)) normalize(view);
}

void hide_all(View& view) {
    view.strides = Dims(view.shape.size(), Dim(0));
    view.offset = 0;
    view.mask = DimRanges(view.shape.size(), DimRange{0, 0});
}

void normalize(View& view) {
    const std::size_t rank = view.shape.size();
    for (const Dim size : view.shape) {
        if (size != Dim(0)) continue;
        view.strides = Dims(rank, Dim(0));
        view.offset = 0;
        view.mask.clear();
        return;
    }
    bool hides = false;
    for (std::size_t i = 0; i < view.mask.size(); ++i) {
        const DimRange& range = view.mask[i];
        if (at_least(range.begin, range.end) == Truth::yes) return hide_all(view);
        if (range.begin == Dim(0) && range.end == view.shape[i]) continue;
        hides = true;
        if (range.end - range.begin == Dim(1)) {
            view.offset = view.offset + range.begin * view.strides[i];
            view.strides[i] = 0;
        }
    }
    if (!hides) view.mask.clear();
    for (std::size_t i = 0; i < rank; ++i) {
        if (view.shape[i] == Dim(1)) view.strides[i] = 0;
    }
}

DimRange valid_range(const View& view, std::size_t dimension) {
    return view.mask.empty() ? DimRange{0, view.shape[dimension]} : view.mask[dimension];
}

std::pair<Dim, Dim> reach(const DimRange& range, Dim stride) {
    const Dim first = range.begin * stride;
    const Dim last = (range.end - 1) * stride;
    // The sign of a stride is easier to tell than which of two products is the larger.
    if (sure(at_least(stride, 0))) return {first, last};
    if (sure(at_least(0, stride))) return {last, first};
    return {min(first, last), max(first, last)};
}

DimRange intersect(const DimRange& a, const DimRange& b) {
    return {max(a.begin, b.begin), min(a.end, b.end)};
}

void ensure_fits(const char* op, const View& view, std::span<const Dim> base) {
    Dim elements = 1;
    for (const Dim size : base) elements = elements * size;
    Dim low = view.offset;
    Dim high = view.offset;
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        const DimRange range = valid_range(view, i);
        if (!sure(at_least(view.shape[i], 0)) || !sure(at_least(range.begin, 0)) ||
            !sure(at_least(range.end, range.begin)) || !sure(at_least(view.shape[i], range.end))) {
            throw ArgumentError(fmt::format("{}: {}:{} is no range of dimension {} of {}", op,
                                            range.begin.str(), range.end.str(), i,
                                            text(view.shape)));
        }
        if (sure(equal(range.begin, range.end))) return;  // no position is valid
        const auto [least, most] = reach(range, view.strides[i]);
        low = low + least;
        high = high + most;
    }
    if (sure(at_least(low, 0)) && sure(less(high, elements))) return;
    throw ShapeError(fmt::format("{}: {} with strides {} from {} reaches {} to {}, outside {}", op,
                                 text(view.shape), text(view.strides), view.offset.str(), low.str(),
                                 high.str(), text(base)),
                     text(base), text(view.shape));
}

bool hides_all(const View& view) {
    return !view.mask.empty() && at_least(view.mask[0].begin, view.mask[0].end) == Truth::yes;
}

}  // namespace views

}  // namespace lazuli
