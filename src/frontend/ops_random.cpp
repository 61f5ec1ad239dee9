// Distributions whose arguments are not simply taken in order.

#include <fmt/format.h>

#include "frontend/record.h"
#include "lazuli/error.h"
#include "lazuli/ops.h"

namespace lazuli {

using frontend::Call;
using frontend::OpRef;

Tensor random_bernoulli(const Operand& x, double p, const Shape& shape) {
    static const OpRef op("random_bernoulli");
    return Call(op).arg(x).arg(p).arg(shape).arg(DType::boolean).done();
}

Tensor random_categorical(const Operand& x, const Operand& logits, Axis axis) {
    static const OpRef op("random_categorical");
    if (logits.is_scalar() || logits.node() == nullptr)
        throw ArgumentError("random_categorical: the logits must be a tensor");
    const Shape& shape = static_cast<const ir::Node*>(logits.node())->spec.shape;
    Call call(op);
    call.arg(x).arg(logits);
    call.words().integer(ensure_axis("random_categorical", axis, shape));
    return call.done();
}

}  // namespace lazuli
