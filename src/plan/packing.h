#pragma once

// Where buffers lie in one piece of memory, each alive for a while: offsets such that no two that
// are alive together overlap, and the highest address is as low as it can be made.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lazuli::plan {

/// A buffer that is alive on [lower, upper).
struct Lifetime {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    std::int64_t size = 0;  // bytes
};

struct PackingOptions {
    std::int64_t alignment = 1;  // of offsets; sizes are rounded up to it
    double seconds = 0;          // for the search, where orders are not enough
    // So low a peak is enough; else as low as it can be made.
    std::optional<std::int64_t> capacity = {};
};

struct Packing {
    std::vector<std::int64_t> offsets;  // one a buffer
    std::int64_t peak = 0;              // the highest address
    std::int64_t bound = 0;             // the most bytes alive at once: no packing has a lower peak
    std::int64_t greedy_peak = 0;       // the best by orders alone, which stop at the capacity
    std::string_view method;            // what found it: "orders" or "search"
    double seconds = 0;                 // that it took

    /// Whether nothing better exists, by the bound.
    bool is_optimal() const { return peak == bound; }
};

/// Packs buffers. Orders are tried first, each buffer at the lowest place that is free; where their
/// best peak is above the bound, and time is given, a search goes on from there. Its memory is
/// linear in the buffers. ArgumentError where a lifetime ends before it begins, a size is negative
/// or the sum of sizes does not fit 63 bits.
Packing pack(std::span<const Lifetime> buffers, const PackingOptions& options = {});

/// The most bytes that are alive at once.
std::int64_t most_alive(std::span<const Lifetime> buffers);

}  // namespace lazuli::plan
