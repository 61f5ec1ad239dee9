#pragma once

// How the windows of a convolution lie over its operand. One place knows which attribute is what.

#include "lazuli/op.h"

namespace lazuli::ops {

/// The attributes of a convolution, one entry a dimension behind the channels.
struct Window {
    explicit Window(const Attrs& attrs);
    Ints strides;
    Ints before;  // padding
    Ints after;
    Ints dilation;
    std::int64_t groups = 1;
};

}  // namespace lazuli::ops
