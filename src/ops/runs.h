#pragma once

// Ragged batches of the RWKV ops: the tokens of all sequences stand in one row, and each line of
// `runs` says which of them belong together: the number of their state, the first token, and how
// many there are.

#include "lazuli/op.h"

namespace lazuli::ops {

struct Run {
    std::int64_t state;
    std::int64_t first;
    std::int64_t count;
};

/// Throws where operand `at` is not of integers, [runs, 3].
void check_runs(const InferArgs& args, std::size_t at);

/// The runs in host memory; ExecutionError naming `op` where one has tokens or a state that are not
/// there, or shares them with another.
std::vector<Run> read_runs(const std::string& op, const HostArray& runs, std::int64_t tokens,
                           std::int64_t states);

}  // namespace lazuli::ops
