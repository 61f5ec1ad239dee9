#pragma once

#include <string>

#include "lazuli/program.h"

namespace lazuli::plan {

/// What becomes of a program: its kernels, what is fused in each and why no more, and the bytes
/// that each reads and writes. With `kernels`, their code as well.
std::string explain(const Program& program, bool kernels = false);

}  // namespace lazuli::plan
