#pragma once

// Which implementation of a composite is the fastest: measured on this machine, remembered by
// types, shapes and attributes.

#include <span>

#include "lazuli/backend.h"

namespace lazuli::runtime {

/// The index of the fastest of `candidates` on `backend`. At most `cache` measurements an op are
/// remembered.
std::size_t fastest_implementation(Backend& backend, OpId op, const InferArgs& args,
                                   std::span<const std::size_t> candidates, std::size_t cache);
/// Forgets all measurements.
void clear_measurements();
/// How many measurements are remembered, and how many were made.
struct MeasurementStats {
    std::size_t remembered = 0;
    std::size_t made = 0;
};
MeasurementStats measurement_stats();

}  // namespace lazuli::runtime
