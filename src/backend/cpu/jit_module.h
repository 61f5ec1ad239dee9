#pragma once

// The compiler of kernels: a module that is found beside the program, and opened when it is first
// asked for.

#include <string>
#include <vector>

namespace lazuli::cpu {

/// Whether there is a compiler.
bool has_compiler();
/// Whether its code converts f16.
bool converts_halves();
/// What decides, beside the kernel, what code is made: the compiler, the processor, the width.
std::string target_text();
/// The object file of a kernel, given as text. Throws InternalError where it cannot be compiled.
std::vector<char> compiled_object(const std::string& kernel);
/// The assembly of a kernel, given as text.
std::string compiled_assembly(const std::string& kernel);

}  // namespace lazuli::cpu
