#pragma once

// Loops and conditions at run time: their bodies are planned once, and run step by step on the
// backend that runs the program around them.

#include "lazuli/backend.h"

namespace lazuli::runtime {

/// Whether the op has bodies of its own.
bool is_control(const OpDef& op);

/// Plans the bodies of a loop or condition: what cannot be planned says so before anything runs.
void plan_bodies(const Operation& operation, Device device);

/// Runs a loop or condition, into the bundle of its results.
void run_control(Backend& backend, const EvalArgs& args);

/// Drops the plans of bodies.
void clear_body_plans();

}  // namespace lazuli::runtime
