#pragma once

/// @file
/// What evaluating a tensor would do, as figures: `Tensor::explain` is their text.

#include <cstdint>
#include <string>
#include <vector>

namespace lazuli {

/// What one kernel of an evaluation does.
struct KernelExplanation {
    std::string name;                ///< `k0`, `k1`, ...
    std::string operations;          ///< What is in it, and what it gives.
    std::int64_t bytes_read = 0;     ///< Of its operands.
    std::int64_t bytes_written = 0;  ///< Of its results.
    std::string ends;                ///< Why it ends where it does; empty at a result.
    std::string how;  ///< How it runs: as machine code, ...; empty where it was not planned yet.
};

/// What an evaluation does.
struct Explanation {
    std::string cache;            ///< `hit, ...` or `miss, ...`; empty where nothing was looked up.
    std::int64_t operations = 0;  ///< How many, after composites were built.
    std::vector<KernelExplanation> kernels;  ///< The kernels, in order; none: nothing to compute.
    std::int64_t bytes_read = 0;             ///< By all kernels.
    std::int64_t bytes_written = 0;          ///< By all kernels.
    std::int64_t arena_bytes = 0;      ///< Of memory to compute in, beside operands and results.
    std::int64_t alive_bytes = 0;      ///< Of it, alive at once: no plan of this order needs less.
    std::int64_t unplanned_bytes = 0;  ///< Of a buffer for every operation that is no movement.
    /// As a small table.
    std::string str() const;
};

}  // namespace lazuli
