#pragma once

// What a thread is doing while it records: eager scopes, graph scopes, and the flushing of pending
// work.

#include <vector>

#include "ir/arena.h"
#include "lazuli/tensor.h"

namespace lazuli::frontend {

/// What a GraphScope gathered.
struct ScopeState {
    std::vector<Tensor> nodes;
    std::uint64_t first_id = 0;
    void* outer = nullptr;
};

/// Evaluates a node that became too deep, or that was recorded while buffers grew too much. Failure
/// is not reported here: the node stays lazy, and whoever asks for its value gets the error.
void flush(ir::Arena& arena, ir::Node& node) noexcept;

/// How often `flush` evaluated something.
std::uint64_t flush_count();

}  // namespace lazuli::frontend
