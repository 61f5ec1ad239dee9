#pragma once

// Buffers that are larger than caches: what is read of them is asked for ahead, and what is written
// goes past the cache, whole lines at a time.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/phases.h"

namespace lazuli::codegen {

/// Buffers of this size are written past the cache and read ahead.
constexpr std::int64_t kStreamBytes = std::int64_t{16} << 20;
constexpr std::int64_t kLineBytes = 64;

/// The largest buffers that a phase writes, or reads where it writes none, whose size only a run
/// knows and which may be large. Where all of them are, of kStreamBytes or more, the phase has code
/// of its own. Empty where none may be.
std::vector<std::size_t> may_be_large(const Kernel& kernel, const Phase& phase);

/// A loop runs in vectors, within those around it. A store in it begins on a cache line at every
/// step of all of them if it does at the loop's first one and if these expressions, of what stands
/// outside of the loop, are multiples of a line's elements. None where no such expressions are
/// found.
std::optional<std::vector<Expr>> whole_lines(std::span<const Count> around, const Statement& loop,
                                             const Statement& store);

}  // namespace lazuli::codegen
