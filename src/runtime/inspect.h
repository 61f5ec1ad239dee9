#pragma once

// Evaluations that somebody looks into: operation by operation.

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "ir/sources.h"
#include "lazuli/backend.h"

namespace lazuli::runtime {

/// False where it is known that nobody does.
extern std::atomic<bool> may_inspect;
bool inspects();
/// Whether somebody does. Costs a load.
inline bool is_inspecting() { return may_inspect.load(std::memory_order_relaxed) && inspects(); }

/// What is known of an operation of a program beside what the program says.
struct Recorded {
    std::string name;
    ir::Source source;
};

/// Computes a program on a device operation by operation, and shows or checks each. `recorded`: of
/// every operation, or none. One dense buffer a result. Throws ExecutionError where one makes a NaN
/// and somebody asked for that.
std::vector<BufferPtr> run_inspected(const Program& program, Device device,
                                     std::span<const Binding> params,
                                     std::span<const Recorded> recorded);

void clear_step_plans();

}  // namespace lazuli::runtime
