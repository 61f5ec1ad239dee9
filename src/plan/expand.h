#pragma once

// Composites become the ops they are built out of, unless the backend takes them whole.

#include <functional>

#include "lazuli/backend.h"
#include "lazuli/program.h"

namespace lazuli::plan {

struct ExpandOptions {
    /// Whether an operation stays as it is. Absent: only core ops do.
    std::function<bool(const OpDef& op, std::span<const TensorSpec> inputs,
                       const TensorSpec& result)>
        keeps = {};
    /// The fastest of a composite's implementations for these arguments, by index; asked under the
    /// policy `benchmark`.
    std::function<std::size_t(OpId op, const InferArgs& args,
                              std::span<const std::size_t> candidates, std::size_t cache)>
        fastest = {};
};

/// The program with composites built out of others, by the policies that hold on this thread.
Program expand(const Program& program, const ExpandOptions& options);

}  // namespace lazuli::plan
