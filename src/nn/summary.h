#pragma once

// The table that shows what a module holds.

#include <string>

#include "lazuli/nn/module.h"

namespace lazuli::nn {

std::string summary_of(Module& module);

}  // namespace lazuli::nn
