#pragma once

#include <utility>
#include <vector>

#include "codegen/kernel.h"

namespace lazuli::codegen {

/// A buffer that a kernel reads and one that it writes, by their numbers, which may be the same
/// memory: each element is written where it lay, when nobody needs it any more.
struct InPlace {
    std::size_t read = 0;
    std::size_t written = 0;
    bool operator==(const InPlace&) const = default;
};

/// All such pairs. Each is right taken alone; two of them must have neither buffer in common.
std::vector<InPlace> find_in_place(const Kernel& kernel);

}  // namespace lazuli::codegen
