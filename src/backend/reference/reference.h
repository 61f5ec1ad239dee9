#pragma once

// The reference backend: evaluates a program op by op, each as its record says, element by element.
// It defines meaning, and everything faster is compared with it.

#include <memory>

#include "lazuli/backend.h"

namespace lazuli::backend {

std::unique_ptr<Backend> make_reference();

}  // namespace lazuli::backend
