#pragma once

// Random chains of movements, and an oracle for them: an array that holds, for each position, the
// index it came from. Movements move its elements; nothing is known of strides.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lazuli/view.h"
#include "random.h"

namespace lazuli::tests {

using Bindings = std::vector<std::pair<std::string, std::int64_t>>;

/// One movement; its numbers may be expressions.
struct Movement {
    enum class Kind { reshape, permute, expand, pad, shrink, flip, stride, window };
    Kind kind;
    std::vector<Dim> first;   // sizes; axes; begins; steps
    std::vector<Dim> second;  // what pad adds behind; the ends of shrink
    std::string str() const;
};

ShapeTracker apply(const ShapeTracker& tracker, const Movement& movement);

/// The index that each position holds, -1 in padding.
struct IndexArray {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> index;

    static IndexArray counting(std::vector<std::int64_t> shape);
    std::int64_t numel() const;
    /// The array after a movement whose numbers have these values.
    IndexArray moved(const Movement& movement, const Bindings& bindings) const;
};

/// One strided view with a box for a mask that has the array's meaning, found by looking at all
/// positions; none where there is none.
bool is_one_view(const IndexArray& array);

struct DrawnChain {
    std::vector<Dim> base;
    std::vector<Movement> movements;
    std::string str() const;
};

/// Up to 8 movements of up to 5 dimensions, of at most some hundreds of elements. `symbolic` draws
/// sizes with variables.
DrawnChain draw_chain(Random& random, bool symbolic);

/// Some movements of an array of these sizes.
ShapeTracker draw_tracker(Random& random, const std::vector<Dim>& base, bool symbolic);

/// Values for the variables that symbolic chains use.
Bindings draw_bindings(Random& random);

}  // namespace lazuli::tests
