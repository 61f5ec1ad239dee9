#pragma once

/// @file
/// Tensors in files.

#include <string>

#include "lazuli/tensor.h"

namespace lazuli {

/// Reads a .npy file (versions 1 to 3, either byte order, C or Fortran order; two-byte void, as
/// bf16 is commonly stored, is read as bf16). FileError where it is missing, cut off or of another
/// type.
Tensor load_npy(const std::string& path);
/// Writes a .npy file, evaluating the tensor. bf16 is written as two-byte void.
void save_npy(const std::string& path, const Tensor& tensor);

}  // namespace lazuli
