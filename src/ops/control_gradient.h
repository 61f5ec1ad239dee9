#pragma once

// Gradients of loops and conditions: bodies that run backwards.

#include <vector>

#include "lazuli/program.h"

namespace lazuli::ops {

std::vector<Value> loop_gradient(const GradientArgs& g);
std::vector<Value> cond_gradient(const GradientArgs& g);
std::vector<Value> while_gradient(const GradientArgs& g);

}  // namespace lazuli::ops
