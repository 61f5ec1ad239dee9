#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"
#include "view/view.h"

namespace lazuli {

using views::sure;

namespace views {

std::string text(std::span<const Dim> dims) {
    std::string out = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) out += (i == 0 ? "" : ", ") + dims[i].str();
    return out + "]";
}

}  // namespace views

namespace {

void ensure_count(const char* op, std::size_t given, const Dims& shape) {
    if (given == shape.size()) return;
    throw ArgumentError(fmt::format("{}: {} given for the {} dimensions of {}", op, given,
                                    shape.size(), views::text(shape)));
}

void flip_dimension(View& view, std::size_t d) {
    const Dim size = view.shape[d];
    view.offset = view.offset + (size - 1) * view.strides[d];
    view.strides[d] = Dim(0) - view.strides[d];
    if (!view.mask.empty()) view.mask[d] = {size - view.mask[d].end, size - view.mask[d].begin};
}

/// The range as seen from a dimension that starts at `begin` and has `size` positions.
DimRange moved(const DimRange& range, Dim begin, Dim size) {
    return {min(max(range.begin - begin, 0), size), min(max(range.end - begin, 0), size)};
}

}  // namespace

ShapeTracker ShapeTracker::of_views(std::vector<View> views) {
    if (views.empty()) throw ArgumentError("a tracker has at least one view");
    for (View& view : views) views::normalize(view);
    ShapeTracker out(std::move(views.back()));
    views.pop_back();
    out.below_ = std::move(views);
    return out;
}

/// After a change of the top. Views that were two become one only where positions were taken away.
void ShapeTracker::settle_after(bool fewer_positions) {
    views::normalize(top_);
    if (below_.empty()) return;
    const bool none = std::find(top_.shape.begin(), top_.shape.end(), Dim(0)) != top_.shape.end();
    if (fewer_positions || none) settle();
}

/// Merges the top into the views below as far as that goes.
void ShapeTracker::settle() {
    while (!below_.empty()) {
        auto merged = merge(below_.back(), top_);
        if (!merged) return;
        top_ = *std::move(merged);
        below_.pop_back();
    }
}

ShapeTracker ShapeTracker::simplify() const {
    ShapeTracker out(below_.empty() ? top_ : below_[0]);
    for (std::size_t i = 1; i < size(); ++i) {
        out.below_.push_back(std::move(out.top_));
        out.top_ = i < below_.size() ? below_[i] : top_;
        out.settle();
    }
    return out;
}

void ShapeTracker::reshape_to(std::span<const Dim> shape) {
    const Dim before = top_.numel();
    Dim after = 1;
    bool negative = false;
    for (const Dim size : shape) {
        after = after * size;
        negative = negative || !sure(at_least(size, 0));
    }
    const Truth same = equal(before, after);
    if (same != Truth::yes || negative) {
        const std::string why =
            negative ? "a size may be negative"
                     : fmt::format("{} vs {} elements{}", before.str(), after.str(),
                                   same == Truth::no ? "" : ", which need not be equal");
        throw ShapeError(fmt::format("reshape: cannot make {} of {} ({})", views::text(shape),
                                     views::text(top_.shape), why),
                         views::text(shape), views::text(top_.shape));
    }
    if (!below_.empty() || !top_.is_contiguous()) return put_on_top(View::contiguous(shape));
    views::make_contiguous(top_, shape);
}

void ShapeTracker::put_on_top(View view) {
    views::normalize(view);
    // A row-major top says nothing: its positions are its indices.
    if (top_.is_contiguous()) {
        top_ = std::move(view);
        settle();
    } else if (auto merged = merge(top_, view)) {
        top_ = *std::move(merged);
        settle();
    } else {
        below_.push_back(std::move(top_));
        top_ = std::move(view);
    }
}

void ShapeTracker::permute_by(std::span<const int> axes) {
    ensure_count("permute", axes.size(), top_.shape);
    std::uint64_t seen = 0;
    for (const int axis : axes) {
        const bool inside = axis >= 0 && static_cast<std::size_t>(axis) < rank();
        if (!inside || (seen >> axis & 1) != 0) {
            throw IndexError(fmt::format("permute: axis {} {} for {}", axis,
                                         inside ? "twice" : "out of range",
                                         views::text(top_.shape)));
        }
        seen |= std::uint64_t{1} << axis;
    }
    const auto reorder = [&](auto& list) {
        const auto before = list;
        for (std::size_t i = 0; i < list.size(); ++i)
            list[i] = before[static_cast<std::size_t>(axes[i])];
    };
    reorder(top_.shape);
    reorder(top_.strides);
    if (!top_.mask.empty()) reorder(top_.mask);
}

void ShapeTracker::expand_to(std::span<const Dim> shape) {
    ensure_count("expand", shape.size(), top_.shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (sure(equal(shape[i], top_.shape[i]))) continue;
        if (top_.shape[i] != Dim(1) || !sure(at_least(shape[i], 0))) {
            throw ShapeError(
                fmt::format("expand: {} does not expand to {} (dimension {}: {} vs {})",
                            views::text(top_.shape), views::text(shape), i, top_.shape[i].str(),
                            shape[i].str()),
                views::text(shape), views::text(top_.shape));
        }
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (sure(equal(shape[i], top_.shape[i]))) continue;
        top_.shape[i] = shape[i];
        top_.strides[i] = 0;
        // The one position is valid or not, and so are all that repeat it.
        if (!top_.mask.empty())
            top_.mask[i] = {top_.mask[i].begin * shape[i], top_.mask[i].end * shape[i]};
    }
    settle_after(false);
}

void ShapeTracker::pad_by(std::span<const DimRange> before_and_after) {
    ensure_count("pad", before_and_after.size(), top_.shape);
    bool fewer = false;
    for (std::size_t i = 0; i < rank(); ++i) {
        const auto [before, after] = before_and_after[i];
        // What is taken away must be there: neither side alone may take more than all.
        if (!sure(at_least(top_.shape[i] + before + after, 0)) ||
            !sure(at_least(top_.shape[i] + before, 0)) ||
            !sure(at_least(top_.shape[i] + after, 0))) {
            throw ShapeError(fmt::format("pad: ({}, {}) takes more than all of dimension {} of {}",
                                         before.str(), after.str(), i, views::text(top_.shape)),
                             "sizes >= 0", views::text(top_.shape));
        }
        fewer = fewer || !sure(at_least(before, 0)) || !sure(at_least(after, 0));
    }
    if (top_.mask.empty()) {
        for (const Dim size : top_.shape) top_.mask.push_back({0, size});
    }
    for (std::size_t i = 0; i < rank(); ++i) {
        const auto [before, after] = before_and_after[i];
        top_.shape[i] = top_.shape[i] + before + after;
        top_.offset = top_.offset - before * top_.strides[i];
        top_.mask[i] = moved(top_.mask[i], Dim(0) - before, top_.shape[i]);
    }
    settle_after(fewer);
}

void ShapeTracker::shrink_to(std::span<const DimRange> ranges) {
    ensure_count("shrink", ranges.size(), top_.shape);
    for (std::size_t i = 0; i < rank(); ++i) {
        const auto [begin, end] = ranges[i];
        if (!sure(at_least(begin, 0)) || !sure(at_least(end, begin)) ||
            !sure(at_least(top_.shape[i], end))) {
            throw IndexError(fmt::format("shrink: {}:{} is no range of dimension {} of {}",
                                         begin.str(), end.str(), i, views::text(top_.shape)));
        }
    }
    for (std::size_t i = 0; i < rank(); ++i) {
        const auto [begin, end] = ranges[i];
        top_.shape[i] = end - begin;
        top_.offset = top_.offset + begin * top_.strides[i];
        if (!top_.mask.empty()) top_.mask[i] = moved(top_.mask[i], begin, top_.shape[i]);
    }
    settle_after(true);
}

void ShapeTracker::flip_along(std::span<const int> axes) {
    for (const int axis : axes) {
        if (axis < 0 || static_cast<std::size_t>(axis) >= rank()) {
            throw IndexError(
                fmt::format("flip: axis {} out of range for {}", axis, views::text(top_.shape)));
        }
    }
    for (const int axis : axes) flip_dimension(top_, static_cast<std::size_t>(axis));
    settle_after(false);
}

void ShapeTracker::stride_by(std::span<const std::int64_t> steps) {
    ensure_count("stride", steps.size(), top_.shape);
    for (std::size_t i = 0; i < rank(); ++i) {
        if (steps[i] != 0 && steps[i] != INT64_MIN) continue;
        throw ArgumentError(fmt::format("stride: step {} along dimension {} of {}", steps[i], i,
                                        views::text(top_.shape)));
    }
    for (std::size_t i = 0; i < rank(); ++i) {
        if (steps[i] < 0) flip_dimension(top_, i);
        const Dim step = steps[i] < 0 ? -steps[i] : steps[i];
        if (step == Dim(1)) continue;
        const auto rounded_up = [&](Dim a) { return Dim(0) - (Dim(0) - a) / step; };
        top_.shape[i] = rounded_up(top_.shape[i]);
        top_.strides[i] = top_.strides[i] * step;
        if (!top_.mask.empty())
            top_.mask[i] = {rounded_up(top_.mask[i].begin), rounded_up(top_.mask[i].end)};
    }
    settle_after(true);
}

ShapeTracker ShapeTracker::compose(const ShapeTracker& next) const {
    const View& first = next.below_.empty() ? next.top_ : next.below_[0];
    if (!sure(at_least(top_.numel(), next.size_needed()))) {
        throw ShapeError(fmt::format("compose: a view of {} elements on top of {}",
                                     next.size_needed().str(), views::text(top_.shape)),
                         views::text(first.shape), views::text(top_.shape));
    }
    ShapeTracker out = *this;
    for (const View& view : next.below_) out.put_on_top(view);
    out.put_on_top(next.top_);
    return out;
}

void ShapeTracker::ensure_fits(const char* op, std::span<const Dim> base) const {
    for (const View& view : below_) {
        views::ensure_fits(op, view, base);
        base = view.shape;
    }
    views::ensure_fits(op, top_, base);
}

bool ShapeTracker::is_concrete() const {
    const auto concrete = [](const View& view) {
        const auto is_number = [](Dim dim) { return dim.is_concrete(); };
        return std::all_of(view.shape.begin(), view.shape.end(), is_number) &&
               std::all_of(view.strides.begin(), view.strides.end(), is_number) &&
               view.offset.is_concrete() &&
               std::all_of(view.mask.begin(), view.mask.end(), [](const DimRange& range) {
                   return range.begin.is_concrete() && range.end.is_concrete();
               });
    };
    return concrete(top_) && std::all_of(below_.begin(), below_.end(), concrete);
}

std::optional<View> ShapeTracker::to_view() const {
    const ShapeTracker simple = below_.empty() ? *this : simplify();
    return simple.below_.empty() ? std::optional(simple.top_) : std::nullopt;
}

namespace {

template <class Do>
void for_each_dim(const View& view, const Do& act) {
    for (const Dim dim : view.shape) act(dim);
    for (const Dim dim : view.strides) act(dim);
    act(view.offset);
    for (const DimRange& range : view.mask) {
        act(range.begin);
        act(range.end);
    }
}

}  // namespace

std::vector<std::string> ShapeTracker::vars() const {
    std::vector<std::string> out;
    const auto collect = [&](Dim dim) {
        if (dim.is_concrete()) return;
        for (const Expr& variable : dim.expr().vars()) out.emplace_back(variable.name());
    };
    for (const View& view : below_) for_each_dim(view, collect);
    for_each_dim(top_, collect);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

ShapeTracker ShapeTracker::bind_vars(
    std::span<const std::pair<std::string, std::int64_t>> bindings) const {
    const auto bound = [&](View view) {
        const auto bind = [&](Dim& dim) { dim = dim.evaluate(bindings); };
        for (Dim& dim : view.shape) bind(dim);
        for (Dim& dim : view.strides) bind(dim);
        bind(view.offset);
        for (DimRange& range : view.mask) {
            bind(range.begin);
            bind(range.end);
        }
        return view;
    };
    std::vector<View> views;
    for (const View& view : below_) views.push_back(bound(view));
    views.push_back(bound(top_));
    return of_views(std::move(views)).simplify();
}

Dim ShapeTracker::size_needed() const {
    const View& view = below_.empty() ? top_ : below_[0];
    Dim last = view.offset;
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        const DimRange range = views::valid_range(view, i);
        if (sure(at_least(range.begin, range.end))) return 0;
        last = last + views::reach(range, view.strides[i]).second;
    }
    return last + 1;
}

}  // namespace lazuli
