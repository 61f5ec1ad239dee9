#include "ops/eval.h"

namespace lazuli::ops {

Ints broadcast_strides(const Shape& shape, const Shape& out) {
    const Ints dense = dense_strides(shape);
    Ints strides = Shape::filled(out.rank(), 0);
    const int lead = out.rank() - shape.rank();
    for (int i = 0; i < shape.rank(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : dense[i];
    return strides;
}

}  // namespace lazuli::ops
