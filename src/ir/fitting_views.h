#pragma once

// What a view's numbers are functions of: it mostly is a slice, whose beginning and sizes follow
// from its operand's sizes.

#include <optional>
#include <span>
#include <vector>

#include "ir/fitting.h"
#include "lazuli/shape.h"

namespace lazuli::ir {

class ViewFitting {
   public:
    /// Of views of a dense operand of this shape.
    ViewFitting(Fitting& fitting, const Shape& operand);

    /// A size of a view with these strides along that axis and these offsets, where it takes all
    /// positions from where it begins, or all but as many as in every recording.
    std::optional<Dim> size(const NumberValues& sizes, const NumberValues& strides,
                            const NumberValues& offsets);
    /// The most positions that a view with these strides can have along that axis; none where that
    /// is no number.
    std::optional<std::int64_t> most(const NumberValues& strides);
    /// Where a view of these sizes and strides begins. `is_first`: it is of the operand itself.
    std::optional<Dim> offset(const NumberValues& offsets, std::span<const Dim> sizes,
                              std::span<const Dim> strides, std::span<const Dim> near,
                              bool is_first);

   private:
    struct Axis {
        Dim stride;
        Dim size;
    };
    /// How many positions of an axis each step of these strides takes: as many in all recordings,
    /// or 0.
    std::int64_t step_along(const Axis& axis, const NumberValues& strides);
    /// The positions along each axis at which something begins: as far from an axis's begin, or
    /// from its end and then at most so far, as in every recording.
    std::optional<std::vector<Dim>> starts(NumberValues offsets, std::int64_t most_from_end);
    std::optional<Dim> begin(const NumberValues& offsets, std::int64_t most_from_end);
    Dim known_part(NumberValues offsets, std::span<const Dim> sizes, std::span<const Dim> strides);

    Fitting& fitting_;
    std::vector<Axis> axes_;
    bool has_values_ = true;  // all strides and sizes do, within 64 bits
};

}  // namespace lazuli::ir
