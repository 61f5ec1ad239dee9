// Functions of single elements that networks put between their products, built out of others.

#include <fmt/format.h>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

Value build_silu(ProgramBuilder&, Inputs in, const InferArgs&) { return in[0] * sigmoid(in[0]); }

/// log(1 + e^x), without the exponential of a large number.
Value soft_plus(const Value& x) { return maximum(x, constant_like(x, 0)) + log1p(exp(-abs(x))); }

Value build_softplus(ProgramBuilder&, Inputs in, const InferArgs&) { return soft_plus(in[0]); }

Value build_mish(ProgramBuilder&, Inputs in, const InferArgs&) {
    return in[0] * tanh(soft_plus(in[0]));
}

Value build_elu(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value& x = in[0];
    return select(gt(x, constant_like(x, 0)), x, expm1(x) * args.attrs.real(0));
}

/// Not by the formula: the exponential of a large number, which is not chosen, is infinite.
Gradients elu_gradient(const GradientArgs& g) {
    const Value above = gt(g[0], constant_like(g[0], 0));
    return {select(above, g.cotangent(), g.cotangent() * (g.result + g.call.attrs.real(0)))};
}

Value build_leaky_relu(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value& x = in[0];
    return select(lt(x, constant_like(x, 0)), x * args.attrs.real(0), x);
}

/// At 0 it is the slope, so that a slope of 0 is relu.
Gradients leaky_relu_gradient(const GradientArgs& g) {
    const Value& flow = g.cotangent();
    return {select(gt(g[0], constant_like(g[0], 0)), flow, flow * g.call.attrs.real(0))};
}

Value build_squared_relu(ProgramBuilder&, Inputs in, const InferArgs&) {
    const Value positive = relu(in[0]);
    return positive * positive;
}

Value build_swiglu(ProgramBuilder&, Inputs in, const InferArgs&) {
    return in[0] * sigmoid(in[0]) * in[1];
}

TensorSpec infer_glu(const InferArgs& args) {
    const int axis = axis_of(args);
    TensorSpec out = *args.inputs[0];
    const Dim size = out.shape.dim(axis);
    if (equal(size % 2, 0) != Truth::yes) {
        throw ShapeError(
            fmt::format("glu: axis {} of {} has {} elements, which {} two halves", axis, out.str(),
                        size.str(), size.is_concrete() ? "are not" : "need not be"),
            "an even size", size.str());
    }
    out.shape.set(axis, size / 2);
    return out;
}

Value build_glu(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const int axis = axis_of(args);
    const Dim half = in[0].shape().dim(axis) / 2;
    return part_of_axis(in[0], axis, 0, half) * sigmoid(part_of_axis(in[0], axis, half, half));
}

Value build_affine(ProgramBuilder&, Inputs in, const InferArgs&) { return in[0] * in[1] + in[2]; }

Value build_lerp(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const bool reversed = args.attrs.boolean(0);
    const Value& from = in[reversed ? 1 : 0];
    const Value& to = in[reversed ? 0 : 1];
    return from + in[2] * (to - from);
}

Value build_blend(ProgramBuilder&, Inputs in, const InferArgs&) {
    return in[0] * in[2] + in[1] * (constant_like(in[2], 1) - in[2]);
}

Value build_add_activate(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const auto f = [&](int i) { return static_cast<Activation>(args.attrs.integer(i)); };
    return activate(activate(in[0], f(0)) + activate(in[1], f(1)), f(2));
}

std::vector<Case> unary_cases(double parameter) {
    return {{{{3, 4}}, {parameter}}, {{{}}, {parameter}}, {{{0, 2}}, {-2.0}}, {{{40}}, {0.25}}};
}

std::vector<Attribute> activations(const char* x, const char* y, const char* result) {
    return {std::string(x), std::string(y), std::string(result)};
}

constexpr Tolerance kClose = {.ulps = 16, .absolute = 1e-6};

}  // namespace

std::vector<OpDef> activations() {
    return {
        {
            .name = "silu",
            .doc = "Each element times its sigmoid.",
            .edge = "silu(inf) is inf; silu(-inf) is NaN, as the formula says.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "formula", .build = build_silu}},
            .tolerance = kClose,
        },
        {
            .name = "softplus",
            .doc = "log(1 + exp(x)) of each element; exact far from 0 as well.",
            .edge = "softplus(inf) is inf, softplus(-inf) is 0.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "stable", .build = build_softplus}},
            .tolerance = kClose,
        },
        {
            .name = "mish",
            .doc = "Each element times the hyperbolic tangent of its softplus.",
            .edge = "mish(inf) is inf; mish(-inf) is NaN, as the formula says.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "formula", .build = build_mish}},
            .tolerance = kClose,
        },
        {
            .name = "elu",
            .doc = "Each element above 0 as it is, else alpha * (exp(x) - 1).",
            .edge = "elu(-inf) is -alpha; NaN stays NaN.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .attrs = {{"alpha", AttrKind::real}},
            .implementations = {{.name = "formula", .build = build_elu}},
            .gradient = elu_gradient,
            .tolerance = kClose,
            .cases = unary_cases(1.0),
        },
        {
            .name = "leaky_relu",
            .doc = "Each element, times a slope where it is below 0.",
            .edge = "NaN stays NaN, -0 stays -0; of -inf and a slope of 0 comes NaN.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .attrs = {{"slope", AttrKind::real}},
            .implementations = {{.name = "select", .build = build_leaky_relu}},
            .gradient = leaky_relu_gradient,
            .tolerance = kClose,
            .cases = unary_cases(0.01),
        },
        {
            .name = "squared_relu",
            .doc = "The larger of each element and 0, squared.",
            .edge = "NaN stays NaN; integers wrap.",
            .traits = Trait::elementwise | Trait::same_type | Trait::promotes,
            .dtypes = kReal,
            .implementations = {{.name = "formula", .build = build_squared_relu}},
            .tolerance = {.ulps = 1},
        },
        {
            .name = "glu",
            .doc = "The first half along an axis times the sigmoid of the second half.",
            .edge = "inf times a sigmoid of 0 is NaN. An axis of an odd size is an error; an empty "
                    "one gives an empty result.",
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_glu,
            .implementations = {{.name = "halves", .build = build_glu}},
            .tolerance = kClose,
            .cases = {{{{3, 6}}, {std::int64_t{1}}},
                      {{{4, 3, 2}}, {std::int64_t{0}}},
                      {{{2}}, {std::int64_t{0}}},
                      {{{3, 0}}, {std::int64_t{1}}}},
        },
        {
            .name = "swiglu",
            .doc = "The first element times its sigmoid, times the second element.",
            .edge = "As silu and mul.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "formula", .build = build_swiglu}},
            .tolerance = kClose,
        },
        {
            .name = "affine",
            .doc = "The first element times the second, plus the third.",
            .edge = "As mul and add: the product is rounded before the sum, so it may overflow "
                    "where the sum would not. Integers wrap.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::elementwise | Trait::same_type | Trait::promotes,
            .dtypes = kNumeric,
            .implementations = {{.name = "mul_add", .build = build_affine}},
            .tolerance = {.ulps = 4, .absolute = 1e-5},
        },
        {
            .name = "lerp",
            .doc = "From the first element to the second by a share, the third: x + t * (y - x); "
                   "from the second to the first where `reversed`.",
            .edge = "At 0 it is where it starts; at 1 it may miss the end by a rounding. Infinite "
                    "ends give NaN or inf as the formula says; a difference may overflow.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .attrs = {{"reversed", AttrKind::boolean}},
            .implementations = {{.name = "formula", .build = build_lerp}},
            .tolerance = {.ulps = 16, .absolute = 1e-5},
            .cases = {{{{3, 4}, {3, 4}, {3, 4}}, {false}},
                      {{{2, 3, 1}, {4}, {}}, {true}},
                      {{{}, {}, {}}, {false}},
                      {{{0, 3}, {1, 3}, {3}}, {true}}},
        },
        {
            .name = "blend",
            .doc = "Two elements weighted by a share f, the third, and its rest: x * f + y * (1 - "
                   "f).",
            .edge = "An infinite element of weight 0 gives NaN; products may overflow.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .implementations = {{.name = "formula", .build = build_blend}},
            .tolerance = {.ulps = 16, .absolute = 1e-5},
        },
        {
            .name = "add_activate",
            .doc = "Sum of two tensors, each through an activation first and the sum through a "
                   "third: none, relu, sigmoid, tanh or gelu.",
            .edge = "As add and the activations.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kFloatMath,
            .dtypes = kFloating,
            .attrs = {{"first", AttrKind::choice, kActivationNames},
                      {"second", AttrKind::choice, kActivationNames},
                      {"result", AttrKind::choice, kActivationNames}},
            .implementations = {{.name = "formula", .build = build_add_activate}},
            .tolerance = {.ulps = 32, .absolute = 1e-5},
            .cases = {{{{3, 4}, {3, 4}}, activations("none", "none", "relu")},
                      {{{2, 3, 1}, {4}}, activations("tanh", "sigmoid", "none")},
                      {{{}, {}}, activations("none", "gelu", "tanh")},
                      {{{0, 3}, {1, 3}}, activations("relu", "relu", "sigmoid")}},
        },
    };
}

}  // namespace lazuli::ops
