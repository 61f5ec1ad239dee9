#pragma once

#include <cstdint>
#include <string>
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

/// The code of a phase. There is always the usual one; where sizes are known when it runs only,
/// some runs are better served by others, which give the same bits.
enum class Form : std::uint8_t {
    usual,
    large,   // what it writes, or reads, is larger than caches
    turned,  // vectors run along the other loops: those of the usual form are too short
    flat,    // all loops inside have one step
};
constexpr Form kForms[] = {Form::usual, Form::large, Form::turned, Form::flat};
/// What the function of a phase is called in machine code.
std::string function_name(std::size_t phase, Form form);

/// How many results of reductions may pass from phase to phase of one kernel.
constexpr std::size_t kPassedValues = 64;

/// Whether a loop that holds loops is vectorised along its own variable, and not they along theirs:
/// elements that lie side by side in memory are then computed side by side.
bool vectorizes_across(const Statement& loop);

/// Whether a phase is vectorised along loops that some run may find short, and may be vectorised
/// along others: across its own loop and not along those inside, or the other way round.
bool may_be_turned(const Kernel& kernel, const Phase& phase);
/// At most so many steps of loops inside are few.
constexpr std::int64_t kShortSteps = 16;

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

/// Whether what lanes of a reduction begin with leaves others as they are when it is combined with
/// them.
bool begins_with_nothing(const Accumulator& accumulator);

/// Whether code generators know all that the kernel does: elements are real numbers, and functions
/// are primitives.
bool is_compilable(const Kernel& kernel);

}  // namespace lazuli::codegen
