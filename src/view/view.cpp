#include "view/view.h"

namespace lazuli {

View View::contiguous(std::span<const Dim> shape) {
    View view;
    view.shape.assign(shape);
    view.strides.resize(shape.size());
    Dim stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        view.strides[i] = shape[i] == Dim(1) ? Dim(0) : stride;
        stride = stride * shape[i];
    }
    if (stride == Dim(0)) views::normalize(view);
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

DimRange intersect(const DimRange& a, const DimRange& b) {
    return {max(a.begin, b.begin), min(a.end, b.end)};
}

bool hides_all(const View& view) {
    return !view.mask.empty() && at_least(view.mask[0].begin, view.mask[0].end) == Truth::yes;
}

}  // namespace views

}  // namespace lazuli
