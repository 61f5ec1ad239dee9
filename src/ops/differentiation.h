#pragma once

// What functions with gradients of their own take, for those who record them.

namespace lazuli::ops {

struct CustomGradientAttr {
    enum : int { function, backward, arguments };
};

}  // namespace lazuli::ops
