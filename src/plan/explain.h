#pragma once

#include <string>

#include "codegen/lower.h"
#include "ir/text.h"
#include "lazuli/explanation.h"
#include "lazuli/prepared.h"
#include "lazuli/program.h"
#include "plan/steps.h"

namespace lazuli::plan {

using ir::bytes_text;

/// What became of a program, as figures; its kernels' code is appended to `code` where that is
/// given.
Explanation explanation(const Steps& steps, std::string* code = nullptr);
/// The same of what a backend prepared.
Explanation explanation(const PreparedInfo& info);
/// What became of a program: its kernels, what is fused in each and why no more, and the bytes
/// that each reads and writes. With `kernels`, their code as well.
std::string explain(const Steps& steps, bool kernels = false);

/// The operations of a group in order, equal neighbours counted, and what they give:
/// `dot_general, add x2 -> %4 f32[2, 3]`.
std::string group_text(const Program& program, const codegen::Group& group);

}  // namespace lazuli::plan
