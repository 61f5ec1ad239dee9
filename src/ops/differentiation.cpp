// Ops that change nothing but how gradients flow.

#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_same(const InferArgs& args) { return *args.inputs[0]; }
Value build_same(ProgramBuilder&, Inputs in, const InferArgs&) { return in[0]; }
Gradients same_gradient(const GradientArgs& g) { return {g.cotangent()}; }

const std::vector<Case> kCases = {{{{3, 4}}, {}}, {{{}}, {}}, {{{0, 2}}, {}}};

}  // namespace

std::vector<OpDef> differentiation() {
    return {
        {
            .name = "identity",
            .doc = "Each element as it is: a value of its own, of which gradients can be taken.",
            .edge = "Bits stay as they are.",
            .infer = infer_same,
            .implementations = {{.name = "itself", .build = build_same}},
            .gradient = same_gradient,
            .cases = kCases,
        },
        {
            .name = "stop_gradient",
            .doc = "Each element as it is; gradients take it for a number from outside.",
            .edge = "Bits stay as they are.",
            .traits = Trait::no_gradient,
            .infer = infer_same,
            .implementations = {{.name = "itself", .build = build_same}},
            .cases = kCases,
        },
    };
}

}  // namespace lazuli::ops
