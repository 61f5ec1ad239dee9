#include "ops/eval.h"

namespace lazuli::ops {

Ints broadcast_strides(const Shape& shape, const Shape& out) {
    const Ints dense = dense_strides(shape);
    Ints strides = Shape::filled(out.rank(), 0);
    const int lead = out.rank() - shape.rank();
    for (int i = 0; i < shape.rank(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : dense[i];
    return strides;
}

std::vector<std::int64_t> broadcast_offsets(const Shape& shape, const Shape& out) {
    std::vector<std::int64_t> offsets;
    if (shape == out) return offsets;
    offsets.resize(static_cast<std::size_t>(out.numel()));
    for_each_offset(out, broadcast_strides(shape, out), [&](std::int64_t i, std::int64_t o) {
        offsets[static_cast<std::size_t>(i)] = o;
    });
    return offsets;
}

}  // namespace lazuli::ops
