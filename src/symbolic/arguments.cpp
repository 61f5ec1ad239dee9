#include "lazuli/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"

namespace lazuli {

std::int64_t ensure_axis(std::string_view op, Axis axis, const Shape& shape) {
    const std::int64_t rank = shape.rank();
    if (axis.value < -rank || axis.value >= rank) {
        throw IndexError(fmt::format("{}: axis {} is out of range for {} (rank {})", op, axis.value,
                                     shape.str(), rank));
    }
    return axis.value < 0 ? axis.value + rank : axis.value;
}

Ints ensure_axes(std::string_view op, const Axes& axes, const Shape& shape) {
    Ints out;
    if (!axes.given) {
        out.resize(shape.rank());
        for (int i = 0; i < shape.rank(); ++i) out[i] = i;
        return out;
    }
    out.resize(axes.values.rank());
    for (int i = 0; i < out.rank(); ++i) {
        out[i] = ensure_axis(op, axes.values[i], shape);
        for (int j = 0; j < i; ++j) {
            if (out[j] != out[i]) continue;
            throw IndexError(fmt::format("{}: axis {} stands twice in {} for {}", op,
                                         axes.values[i], axes.values.str(), shape.str()));
        }
    }
    return out;
}

}  // namespace lazuli
