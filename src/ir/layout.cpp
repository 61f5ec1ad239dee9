#include "ir/layout.h"

#include <cstring>

namespace lazuli::ir {

Ints dense_byte_strides(const TensorSpec& spec) {
    Ints strides = dense_strides(spec.shape);
    for (std::int64_t& s : strides) {
        s = static_cast<std::int64_t>(static_cast<std::uint64_t>(s) * size_of(spec.dtype));
    }
    return strides;
}

void copy_dense(const void* from, const Ints& strides, const TensorSpec& spec, void* out) {
    const std::size_t size = size_of(spec.dtype);
    const auto* source = static_cast<const unsigned char*>(from);
    auto* to = static_cast<unsigned char*>(out);
    const std::int64_t count = spec.shape.numel();
    Ints position = Shape::filled(spec.shape.rank(), 0);
    std::int64_t offset = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + static_cast<std::size_t>(i) * size, source + offset, size);
        for (int d = spec.shape.rank() - 1; d >= 0; --d) {
            offset += strides[d];
            if (++position[d] < spec.shape[d]) break;
            offset -= strides[d] * spec.shape[d];
            position[d] = 0;
        }
    }
}

}  // namespace lazuli::ir
