#pragma once

#include <atomic>

#include "lazuli/op.h"
#include "ops/positions.h"

namespace lazuli::backend::host {

/// The first of all positions that lie outside, whichever thread finds it.
class FirstOutside {
   public:
    void found(std::int64_t i) {
        std::int64_t known = first_.load(std::memory_order_relaxed);
        while (i < known && !first_.compare_exchange_weak(known, i, std::memory_order_relaxed)) {
        }
    }
    /// Throws if there is one.
    void check(const EvalArgs& args, const HostArray& positions, std::int64_t axis) const {
        const std::int64_t first = first_.load(std::memory_order_relaxed);
        if (first != INT64_MAX) ops::throw_outside(args, positions, first, axis);
    }

   private:
    std::atomic<std::int64_t> first_{INT64_MAX};
};

/// The kernel of scatter.
void scatter(const EvalArgs& args);

}  // namespace lazuli::backend::host
