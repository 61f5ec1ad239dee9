#pragma once

// The passes. Each takes a program and gives one that computes the same, to the bit.

#include "optimize/rewrite.h"

namespace lazuli::optimize {

/// Movements become views, views of views one view, and views that change nothing go; casts to the
/// type that is there go.
Program canonicalize(const Program& program, Fuel& fuel);
/// Operations on constants are computed.
Program fold(const Program& program, Fuel& fuel);
/// Rules of algebra.
Program algebra(const Program& program, Fuel& fuel);
/// Equal operations become one, and what no result needs goes.
Program merge_equal(const Program& program, Fuel& fuel);
/// A loop of which another gives the same results, and more, is that one.
Program merge_loops(const Program& program, Fuel& fuel);
/// What was kept apart to be computed anew is what it is of: nothing is made equal behind this.
Program open_anew(const Program& program, Fuel& fuel);

}  // namespace lazuli::optimize
