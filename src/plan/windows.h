#pragma once

#include <cstdint>

namespace lazuli::plan {

/// How the windows of a convolution lie over an image in memory: up to three dimensions behind the
/// channels, the first of size 1 where there are fewer. Strides in elements.
struct Windows {
    static constexpr int kDims = 3;
    std::int64_t channel_stride = 0;
    std::int64_t strides[kDims] = {};
    std::int64_t sizes[kDims] = {1, 1, 1};     // of the image
    std::int64_t places[kDims] = {1, 1, 1};    // of the window
    std::int64_t window[kDims] = {1, 1, 1};    // its size
    std::int64_t steps[kDims] = {1, 1, 1};     // from one place to the next
    std::int64_t dilation[kDims] = {1, 1, 1};  // from one of its elements to the next
    std::int64_t before[kDims] = {};           // padding
};

}  // namespace lazuli::plan
