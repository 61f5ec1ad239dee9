#pragma once

#include <optional>

#include "codegen/kernel.h"

namespace lazuli::codegen {

/// The same loop without the loops inside, for runs in which each of them has one step: their
/// counters are 0, and a reduction combines what it begins with and that step. None where it holds
/// no loops, or where one of them always has more steps. `next` is a value's number that is free,
/// as all behind it are.
std::optional<Statement> flattened(const Statement& loop, ValueId next);

/// The number behind those of all values in a block.
ValueId behind_all(const Block& block);

}  // namespace lazuli::codegen
