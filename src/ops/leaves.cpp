// Values that come from outside a program, and the constants that stand in one.

#include <fmt/format.h>

#include <cstring>

#include "lazuli/error.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec as_wanted(const InferArgs& args) { return *args.wanted; }

void evaluate_constant(const EvalArgs& args) {
    const std::int64_t count = args.spec->shape.numel();
    const std::size_t size = size_of(args.spec->dtype);
    unsigned char element[16];
    store_scalar(args.attrs.scalar(0), args.spec->dtype, element);
    auto* out = static_cast<unsigned char*>(args.out);
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(out + static_cast<std::size_t>(i) * size, element, size);
}

TensorSpec infer_constant(const InferArgs& args) {
    const Scalar value = args.attrs.scalar(0);
    if (!(value.as(args.wanted->dtype) == value)) {
        throw DTypeError(fmt::format("constant: {} is not a value of type {}", value.str(),
                                     name(args.wanted->dtype)));
    }
    return *args.wanted;
}

}  // namespace

std::vector<OpDef> leaves() {
    return {
        {
            .name = "data",
            .doc = "A tensor whose values are there already.",
            .min_inputs = 0,
            .max_inputs = 0,
            .traits = Trait::leaf | Trait::shaped,
            .infer = as_wanted,
        },
        {
            .name = "scalar",
            .doc = "A number that is passed to programs as a parameter, so that changing it never "
                   "plans anew.",
            .min_inputs = 0,
            .max_inputs = 0,
            .traits = Trait::leaf | Trait::shaped,
            .attrs = {{"value", AttrKind::scalar}},
            .infer = infer_constant,
        },
        {
            .name = "constant",
            .doc = "A tensor whose elements all have one value, which rules may use.",
            .edge = "The value is of the result's type.",
            .min_inputs = 0,
            .max_inputs = 0,
            .traits = Trait::shaped,
            .attrs = {{"value", AttrKind::scalar}},
            .infer = infer_constant,
            .evaluate = evaluate_constant,
            .lowering = Lowering::constant,
        },
    };
}

}  // namespace lazuli::ops
