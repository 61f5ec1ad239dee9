#pragma once

// What the files of this folder share.

#include "lazuli/view.h"

namespace lazuli::views {

/// Brings a view into its one form.
void normalize(View& view);
/// Makes the view a row-major one of this shape.
void make_contiguous(View& view, std::span<const Dim> shape);
/// Makes no position valid.
void hide_all(View& view);
/// Whether no position is valid.
bool hides_all(const View& view);
/// What the positions of a range add to the index, first the least and then the most. Ranges of
/// expressions count as ones that have a position: where none is valid, none is read.
std::pair<Dim, Dim> reach(const DimRange& range, Dim stride);
/// The valid positions of a dimension.
DimRange valid_range(const View& view, std::size_t dimension);
DimRange intersect(const DimRange& a, const DimRange& b);

/// A size to divide by: at least 1. Positions of a dimension without any are never asked for.
inline Dim divisor(Dim size) {
    if (size.is_concrete()) return size.value() > 0 ? size : Dim(1);
    return size.bounds().low > 0 ? size : max(size, 1);
}

inline bool sure(Truth truth) { return truth == Truth::yes; }

std::string text(std::span<const Dim> dims);

/// Throws ShapeError where a valid position of the view lies outside a row-major array of these
/// sizes, or ArgumentError where its mask is no part of its shape.
void ensure_fits(const char* op, const View& view, std::span<const Dim> base);

}  // namespace lazuli::views
