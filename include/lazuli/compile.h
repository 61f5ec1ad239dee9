#pragma once

/// @file
/// When kernels are compiled: before they first run, or behind them.

namespace lazuli {

/// Whether a new kernel that is soon interpreted runs so at once, while its machine code is made
/// behind it; then the code takes over, with the same bits. It is on unless LAZULI_QUICK_START=0.
bool quick_start();
/// Switches it for the whole process. Off: a kernel is compiled before it first runs.
void set_quick_start(bool on);
/// Returns when all machine code that was asked for is there.
void finish_compiling();

}  // namespace lazuli
