#pragma once

#include <string>

#include "codegen/lower.h"
#include "lazuli/program.h"

namespace lazuli::plan {

/// What becomes of a program: its kernels, what is fused in each and why no more, and the bytes
/// that each reads and writes. With `kernels`, their code as well.
std::string explain(const Program& program, bool kernels = false);

/// The operations of a group in order, equal neighbours counted, and what they give:
/// `dot_general, add x2 -> %4 f32[2, 3]`.
std::string group_text(const Program& program, const codegen::Group& group);
/// A number of bytes with its unit.
std::string bytes_text(std::int64_t bytes);

}  // namespace lazuli::plan
