#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel.h"

namespace lazuli::codegen {

/// A part of a kernel that runs before the next one starts: a parallel loop, whose steps threads
/// share out, or statements that one thread runs.
struct Phase {
    std::size_t first;   // of the kernel's statements; its parallel loop
    std::size_t behind;  // the last
    bool parallel;
};

/// The phases of a kernel, in order. Statements that only compute belong to those that need them.
std::vector<Phase> phases_of(const Kernel& kernel);

/// How many results of reductions may pass from phase to phase of one kernel.
constexpr std::size_t kPassedValues = 64;

/// Whether a loop that holds loops is vectorised along its own variable, and not they along theirs:
/// elements that lie side by side in memory are then computed side by side.
bool vectorizes_across(const Statement& loop);

/// Whether a loop and the only loop in it are run in small squares: something is read along the
/// outer one that is written along the inner one, and what one step reads of a cache line the next
/// ones need.
bool runs_in_tiles(const Statement& loop);
constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t kTileColumns = 64;

/// How far an index moves when a counter does, in terms of other variables; none where that differs
/// from place to place.
std::optional<Expr> symbolic_step(const Expr& index, const Expr& counter);
/// The same where it is one number everywhere.
std::optional<std::int64_t> step_along(const Expr& index, const Expr& counter);

/// Whether an index moves when a counter does, whatever the sizes. Not where it may stand still, as
/// with a step that is not known to differ from 0.
bool moves_along(const Expr& index, const Expr& counter);

/// Whether code generators know all that the kernel does: elements are real numbers, and functions
/// are primitives.
bool is_compilable(const Kernel& kernel);

}  // namespace lazuli::codegen
