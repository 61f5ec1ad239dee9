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

ShapeTracker ShapeTracker::reshape(std::span<const Dim> shape) const {
    const Dim before = top_.numel();
    View next = View::contiguous(shape);
    const Truth same = equal(before, next.numel());
    const bool negative =
        std::any_of(shape.begin(), shape.end(), [](Dim size) { return !sure(at_least(size, 0)); });
    if (same != Truth::yes || negative) {
        const std::string why =
            negative ? "a size may be negative"
                     : fmt::format("{} vs {} elements{}", before.str(), next.numel().str(),
                                   same == Truth::no ? "" : ", which need not be equal");
        throw ShapeError(fmt::format("reshape: cannot make {} of {} ({})", views::text(shape),
                                     views::text(top_.shape), why),
                         views::text(shape), views::text(top_.shape));
    }
    return strided(std::move(next));
}

ShapeTracker ShapeTracker::strided(View view) const {
    views::normalize(view);
    ShapeTracker out(std::move(view));
    // A row-major top says nothing: its positions are its indices.
    if (top_.is_contiguous()) {
        out.below_ = below_;
    } else {
        out.below_.reserve(size());
        out.below_ = below_;
        out.below_.push_back(top_);
    }
    out.settle();
    return out;
}

ShapeTracker ShapeTracker::permute(std::span<const int> axes) const {
    ensure_count("permute", axes.size(), top_.shape);
    ShapeTracker out = *this;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto from = static_cast<std::size_t>(axes[i]);
        if (axes[i] < 0 || from >= rank() || (seen >> from & 1) != 0) {
            throw IndexError(fmt::format("permute: axis {} {} for {}", axes[i],
                                         axes[i] >= 0 && from < rank() ? "twice" : "out of range",
                                         views::text(top_.shape)));
        }
        seen |= std::uint64_t{1} << from;
        out.top_.shape[i] = top_.shape[from];
        out.top_.strides[i] = top_.strides[from];
        if (!top_.mask.empty()) out.top_.mask[i] = top_.mask[from];
    }
    out.settle_after(false);
    return out;
}

ShapeTracker ShapeTracker::expand(std::span<const Dim> shape) const {
    ensure_count("expand", shape.size(), top_.shape);
    ShapeTracker out = *this;
    View& next = out.top_;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (sure(equal(shape[i], top_.shape[i]))) continue;
        if (top_.shape[i] != Dim(1) || !sure(at_least(shape[i], 0))) {
            throw ShapeError(
                fmt::format("expand: {} does not expand to {} (dimension {}: {} vs {})",
                            views::text(top_.shape), views::text(shape), i, top_.shape[i].str(),
                            shape[i].str()),
                views::text(shape), views::text(top_.shape));
        }
        next.shape[i] = shape[i];
        next.strides[i] = 0;
        // The one position is valid or not, and so are all that repeat it.
        if (!next.mask.empty())
            next.mask[i] = {next.mask[i].begin * shape[i], next.mask[i].end * shape[i]};
    }
    out.settle_after(false);
    return out;
}

ShapeTracker ShapeTracker::pad(std::span<const DimRange> before_and_after) const {
    ensure_count("pad", before_and_after.size(), top_.shape);
    ShapeTracker out = *this;
    View& next = out.top_;
    if (next.mask.empty()) {
        for (const Dim size : top_.shape) next.mask.push_back({0, size});
    }
    bool fewer = false;
    for (std::size_t i = 0; i < rank(); ++i) {
        const auto [before, after] = before_and_after[i];
        const Dim size = top_.shape[i] + before + after;
        // What is taken away must be there: neither side alone may take more than all.
        if (!sure(at_least(size, 0)) || !sure(at_least(top_.shape[i] + before, 0)) ||
            !sure(at_least(top_.shape[i] + after, 0))) {
            throw ShapeError(fmt::format("pad: ({}, {}) takes more than all of dimension {} of {}",
                                         before.str(), after.str(), i, views::text(top_.shape)),
                             "sizes >= 0", views::text(top_.shape));
        }
        fewer = fewer || !sure(at_least(before, 0)) || !sure(at_least(after, 0));
        next.shape[i] = size;
        next.offset = next.offset - before * next.strides[i];
        next.mask[i] = moved(next.mask[i], Dim(0) - before, size);
    }
    out.settle_after(fewer);
    return out;
}

ShapeTracker ShapeTracker::shrink(std::span<const DimRange> ranges) const {
    ensure_count("shrink", ranges.size(), top_.shape);
    ShapeTracker out = *this;
    View& next = out.top_;
    for (std::size_t i = 0; i < rank(); ++i) {
        const auto [begin, end] = ranges[i];
        if (!sure(at_least(begin, 0)) || !sure(at_least(end, begin)) ||
            !sure(at_least(top_.shape[i], end))) {
            throw IndexError(fmt::format("shrink: {}:{} is no range of dimension {} of {}",
                                         begin.str(), end.str(), i, views::text(top_.shape)));
        }
        next.shape[i] = end - begin;
        next.offset = next.offset + begin * next.strides[i];
        if (!next.mask.empty()) next.mask[i] = moved(next.mask[i], begin, next.shape[i]);
    }
    out.settle_after(true);
    return out;
}

ShapeTracker ShapeTracker::flip(std::span<const int> axes) const {
    ShapeTracker out = *this;
    View& next = out.top_;
    for (const int axis : axes) {
        if (axis < 0 || static_cast<std::size_t>(axis) >= rank()) {
            throw IndexError(
                fmt::format("flip: axis {} out of range for {}", axis, views::text(top_.shape)));
        }
        flip_dimension(next, static_cast<std::size_t>(axis));
    }
    out.settle_after(false);
    return out;
}

ShapeTracker ShapeTracker::stride(std::span<const std::int64_t> steps) const {
    ensure_count("stride", steps.size(), top_.shape);
    ShapeTracker out = *this;
    View& next = out.top_;
    for (std::size_t i = 0; i < rank(); ++i) {
        if (steps[i] == 0 || steps[i] == INT64_MIN) {
            throw ArgumentError(fmt::format("stride: step {} along dimension {} of {}", steps[i], i,
                                            views::text(top_.shape)));
        }
        if (steps[i] < 0) flip_dimension(next, i);
        const Dim step = steps[i] < 0 ? -steps[i] : steps[i];
        if (step == Dim(1)) continue;
        const auto rounded_up = [&](Dim a) { return Dim(0) - (Dim(0) - a) / step; };
        next.shape[i] = rounded_up(next.shape[i]);
        next.strides[i] = next.strides[i] * step;
        if (!next.mask.empty())
            next.mask[i] = {rounded_up(next.mask[i].begin), rounded_up(next.mask[i].end)};
    }
    out.settle_after(true);
    return out;
}

ShapeTracker ShapeTracker::compose(const ShapeTracker& next) const {
    const View& first = next.below_.empty() ? next.top_ : next.below_[0];
    if (!sure(at_least(top_.numel(), next.size_needed()))) {
        throw ShapeError(fmt::format("compose: a view of {} elements on top of {}",
                                     next.size_needed().str(), views::text(top_.shape)),
                         views::text(first.shape), views::text(top_.shape));
    }
    ShapeTracker out = *this;
    for (const View& view : next.below_) out = out.strided(view);
    return out.strided(next.top_);
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
        last = last + max(view.strides[i] * range.begin, view.strides[i] * (range.end - 1));
    }
    return last + 1;
}

}  // namespace lazuli
