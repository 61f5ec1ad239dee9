#include "ir/fitting_views.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace lazuli::ir {

ViewFitting::ViewFitting(Fitting& fitting, const Shape& operand)
    : fitting_(fitting), axes_(operand.size()) {
    Dim stride = 1;
    for (std::size_t a = axes_.size(); a-- > 0;) {
        axes_[a] = {stride, operand.dim(static_cast<int>(a))};
        stride = stride * axes_[a].size;
        has_values_ = has_values_ && !fitting.values_of(axes_[a].stride).empty() &&
                      !fitting.values_of(axes_[a].size).empty();
    }
}

std::optional<std::vector<Dim>> ViewFitting::starts(NumberValues offsets,
                                                    std::int64_t most_from_end) {
    if (!has_values_) return std::nullopt;
    std::vector<Dim> out;
    for (const Axis& axis : axes_) {
        NumberValues from_begin;
        NumberValues from_end;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            const std::int64_t length = fitting_.values_of(axis.stride)[i];
            if (offsets[i] < 0 || length < 1) return std::nullopt;
            from_begin.push_back(offsets[i] / length);
            from_end.push_back(fitting_.values_of(axis.size)[i] - from_begin.back());
            offsets[i] %= length;
        }
        if (is_constant(from_begin)) {
            out.emplace_back(from_begin[0]);
        } else if (is_constant(from_end) && from_end[0] <= most_from_end) {
            out.push_back(axis.size - from_end[0]);
        } else {
            return std::nullopt;
        }
    }
    return out;
}

std::int64_t ViewFitting::step_along(const Axis& axis, const NumberValues& strides) {
    if (!has_values_) return 0;
    const NumberValues& of = fitting_.values_of(axis.stride);
    const std::int64_t step = of[0] == 0 ? 0 : strides[0] / of[0];
    for (std::size_t i = 0; i < of.size(); ++i) {
        std::int64_t product = 0;
        if (__builtin_mul_overflow(of[i], step, &product) || product != strides[i]) return 0;
    }
    return step;
}

std::optional<std::int64_t> ViewFitting::most(const NumberValues& strides) {
    for (const Axis& axis : axes_) {
        const std::int64_t step = step_along(axis, strides);
        if (step != 0 && axis.size.is_concrete())
            return (axis.size.value() + std::abs(step) - 1) / std::abs(step);
    }
    return std::nullopt;
}

std::optional<Dim> ViewFitting::size(const NumberValues& sizes, const NumberValues& strides,
                                     const NumberValues& offsets) {
    const auto begins = starts(offsets, std::numeric_limits<std::int64_t>::max());
    if (!begins) return std::nullopt;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
        const std::int64_t step = step_along(axes_[a], strides);
        if (step == 0) continue;
        if (step == 1 || step == -1) {
            if (const auto size = fitting_.shifted(sizes, axes_[a].size)) return size;
        }
        // Backwards it may be all that a slice from the axis's begin has, or what is left from
        // here.
        const std::int64_t apart = step < 0 ? -step : step;
        const Dim left = step < 0 ? (*begins)[a] + 1 : axes_[a].size - (*begins)[a];
        for (const Dim length : {step < 0 ? axes_[a].size : left, left}) {
            const Dim size = (length + (apart - 1)) / apart;
            if (fitting_.values_of(size) == sizes) return size;
        }
    }
    return std::nullopt;
}

std::optional<Dim> ViewFitting::begin(const NumberValues& offsets, std::int64_t most_from_end) {
    const auto begins = starts(offsets, most_from_end);
    if (!begins) return std::nullopt;
    Dim out = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) out = out + (*begins)[a] * axes_[a].stride;
    return out;
}

/// How far a view reaches below along dimensions that run backwards, and as many steps along each
/// dimension as all recordings have.
Dim ViewFitting::known_part(NumberValues offsets, std::span<const Dim> sizes,
                            std::span<const Dim> strides) {
    Dim out = 0;
    const auto add = [&](Dim known) {
        const NumberValues& values = fitting_.values_of(known);
        if (values.empty()) return;
        out = out + known;
        for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= values[i];
    };
    std::vector<Dim> steps;
    for (std::size_t i = 0; i < strides.size(); ++i) {
        const bool is_backwards = strides[i].bounds().high < 0;
        if (is_backwards) add((sizes[i] - 1) * strides[i] * -1);
        const Dim step = is_backwards ? strides[i] * -1 : strides[i];
        if (!fitting_.values_of(step).empty()) steps.push_back(step);
    }
    std::ranges::sort(
        steps, [&](Dim a, Dim b) { return fitting_.values_of(a)[0] > fitting_.values_of(b)[0]; });
    for (const Dim step : steps) {
        NumberValues counts;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            const std::int64_t length = fitting_.values_of(step)[i];
            counts.push_back(length == 0 ? 0 : offsets[i] / length);
        }
        if (is_constant(counts) && counts[0] != 0) add(step * counts[0]);
    }
    return out;
}

std::optional<Dim> ViewFitting::offset(const NumberValues& offsets, std::span<const Dim> sizes,
                                       std::span<const Dim> strides, std::span<const Dim> near,
                                       bool is_first) {
    // Several may have been meant. A slice begins at a number or at the end, most likely.
    std::optional<Dim> out = is_first ? begin(offsets, 1) : std::nullopt;
    if (out) return out;
    const Dim known = known_part(offsets, sizes, strides);
    const NumberValues& parts = fitting_.values_of(known);
    if (parts.empty()) return std::nullopt;
    if (parts == offsets) return known;
    out = fitting_.simply(offsets, near);
    if (!out && is_first) out = begin(offsets, std::numeric_limits<std::int64_t>::max());
    if (out) return out;
    NumberValues rest = offsets;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= parts[i];
    out = fitting_.anyhow(rest, near);
    return out ? std::optional(*out + known) : std::nullopt;
}

}  // namespace lazuli::ir
