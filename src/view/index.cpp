// The index function of a tracker, as expressions and at single positions.

#include <fmt/format.h>

#include "lazuli/error.h"
#include "view/view.h"

namespace lazuli {

namespace {

Expr in_context(ExprContext& context, Dim dim) {
    return dim.is_concrete() ? context.constant(dim.raw()) : context.import(dim.expr());
}

/// The index of a position in one view; adds what makes it valid.
Expr step(ExprContext& context, const View& view, std::span<const Expr> position, Expr& valid) {
    Expr index = in_context(context, view.offset);
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        if (!view.mask.empty()) {
            const DimRange& range = view.mask[i];
            if (range.begin != Dim(0))
                valid = both(valid, at_least(position[i], in_context(context, range.begin)));
            if (range.end != view.shape[i])
                valid = both(valid, less(position[i], in_context(context, range.end)));
        }
        if (view.strides[i] != Dim(0))
            index = index + position[i] * in_context(context, view.strides[i]);
    }
    return index;
}

/// The position whose row-major number is `number`.
std::vector<Expr> unravelled(ExprContext& context, const Dims& shape, Expr number) {
    std::vector<Expr> out(shape.size(), context.constant(0));
    Expr rest = number;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == Dim(1)) continue;
        // Where a size is 0 nothing is valid, but what says so may be asked after the division.
        const Expr size = in_context(context, views::divisor(shape[i]));
        // The number lies within the shape, so what is left at the first dimension is below its
        // size.
        bool first = true;
        for (std::size_t k = 0; k < i; ++k) first = first && shape[k] == Dim(1);
        out[i] = first ? rest : mod(rest, size);
        rest = floor_div(rest, size);
    }
    return out;
}

bool has_zero(const Dims& shape) {
    for (const Dim size : shape) {
        if (size == Dim(0)) return true;
    }
    return false;
}

}  // namespace

IndexExpr ShapeTracker::index_expr(ExprContext& context, std::span<const Expr> position) const {
    if (position.size() != rank()) {
        throw ArgumentError(fmt::format("index_expr: {} positions given for {}", position.size(),
                                        views::text(shape())));
    }
    if (has_zero(shape())) return {context.constant(0), context.constant(0)};
    Expr valid = context.constant(1);
    Expr index = step(context, top_, position, valid);
    for (std::size_t v = below_.size(); v-- > 0;) {
        index = index.assuming(valid);
        const std::vector<Expr> inner = unravelled(context, below_[v].shape, index);
        index = step(context, below_[v], inner, valid);
    }
    return {index.assuming(valid), valid};
}

IndexExpr ShapeTracker::index_expr(ExprContext& context) const {
    std::vector<Expr> position;
    for (std::size_t i = 0; i < rank(); ++i) {
        position.push_back(shape()[i] == Dim(0) ? context.constant(0)
                                                : context.counter(fmt::format("i{}", i),
                                                                  in_context(context, shape()[i])));
    }
    return index_expr(context, position);
}

std::optional<std::int64_t> ShapeTracker::at(std::span<const std::int64_t> position) const {
    std::vector<std::int64_t> where(position.begin(), position.end());
    const auto step_at = [&](const View& view) -> std::optional<std::int64_t> {
        std::int64_t index = view.offset.value();
        for (std::size_t i = 0; i < view.shape.size(); ++i) {
            const DimRange range = views::valid_range(view, i);
            if (where[i] < range.begin.value() || where[i] >= range.end.value())
                return std::nullopt;
            index += where[i] * view.strides[i].value();
        }
        return index;
    };
    auto index = step_at(top_);
    for (std::size_t v = below_.size(); v-- > 0 && index;) {
        const Dims& shape = below_[v].shape;
        where.assign(shape.size(), 0);
        for (std::size_t i = shape.size(); i-- > 0;) {
            where[i] = *index % shape[i].value();
            *index /= shape[i].value();
        }
        index = step_at(below_[v]);
    }
    return index;
}

std::vector<std::optional<Dim>> ShapeTracker::real_strides() const {
    std::vector<std::optional<Dim>> out(rank());
    if (const auto one = to_view()) {
        for (std::size_t i = 0; i < rank(); ++i) out[i] = one->strides[i];
        return out;
    }
    ExprContext context;
    std::vector<Expr> position;
    for (std::size_t i = 0; i < rank(); ++i)
        position.push_back(context.counter(fmt::format("i{}", i), in_context(context, shape()[i])));
    const Expr index = index_expr(context, position).index;
    for (std::size_t i = 0; i < rank(); ++i) {
        // The step along the dimension, wherever one stands: a number if it is one everywhere.
        const Expr step = index.substitute([&](Expr v) {
            return v == position[i] ? std::optional(v + 1) : std::nullopt;
        }) - index;
        bool elsewhere = false;
        for (const Expr& variable : step.vars()) {
            for (const Expr& p : position) elsewhere = elsewhere || variable == p;
        }
        if (!elsewhere) out[i] = Dim(step);
    }
    return out;
}

}  // namespace lazuli
