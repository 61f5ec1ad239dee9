// Ops that are built out of others. A backend may take one whole; else the first implementation is
// inlined, or the one a policy names.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/build.h"
#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

Value build_relu(ProgramBuilder&, Inputs in, const InferArgs&) {
    return maximum(in[0], constant_like(in[0], 0));
}

Value build_gelu(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value& x = in[0];
    if (args.attrs.boolean(0)) {
        const Value inner = (x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi);
        return x * 0.5 * (tanh(inner) + 1.0);
    }
    return x * 0.5 * (erf(x * std::numbers::sqrt2 / 2.0) + 1.0);
}

/// At 0 nothing flows back.
Gradients relu_gradient(const GradientArgs& g) {
    const Value zero = constant_like(g[0], 0);
    return {select(gt(g[0], zero), g.cotangent(), zero)};
}

TensorSpec infer_last_axis(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    if (x.shape.rank() == 0)
        throw ShapeError(
            fmt::format("{}: needs at least one dimension, given {}", args.op.name, x.str()),
            "rank >= 1", "[]");
    check_one_type(args, 0, args.inputs.size());
    const Shape last{x.shape.dim(x.shape.rank() - 1)};
    for (std::size_t i = 1; i < args.inputs.size(); ++i) {
        const Shape& other = args.inputs[i]->shape;
        if (other == last) continue;
        throw ShapeError(
            fmt::format("{}: the {} has the size of the last axis, {}; given {} for {}",
                        args.op.name, i == 1 ? "weight" : "bias", last.str(), other.str(),
                        x.shape.str()),
            last.str(), other.str());
    }
    return x;
}

TensorSpec infer_softmax(const InferArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("softmax: axis {} is negative", axis));
    (void)ensure_axis("softmax", axis, args.inputs[0]->shape);
    return *args.inputs[0];
}

bool is_empty_axis(const InferArgs& args) {
    return is_empty(args, args.inputs[0]->shape.dim(static_cast<int>(args.attrs.integer(0))));
}

Value build_softmax(ProgramBuilder&, Inputs in, const InferArgs& args) {
    if (is_empty_axis(args)) return in[0];
    const Axes axis(args.attrs.integer(0));
    const Value x = widened(in[0]);
    const Value e = exp(x - max(x, axis, true));
    // One division a row: they cost more than all else.
    return narrowed(e * (1.0 / sum(e, axis, true)), in[0].dtype());
}

Value build_softmax_logsumexp(ProgramBuilder&, Inputs in, const InferArgs& args) {
    if (is_empty_axis(args)) return in[0];
    const Axes axis(args.attrs.integer(0));
    const Value x = widened(in[0]);
    const Value shifted = x - max(x, axis, true);
    return narrowed(exp(shifted - log(sum(exp(shifted), axis, true))), in[0].dtype());
}

Gradients softmax_gradient(const GradientArgs& g) {
    if (is_empty_axis(g.call)) return {g.cotangent()};
    const Axes axis(g.call.attrs.integer(0));
    const Value y = widened(g.result);
    const Value each = widened(g.cotangent()) * y;
    return {narrowed(each - y * sum(each, axis, true), g[0].dtype())};
}

Value build_layer_norm(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value x = widened(in[0]);
    const Value centred = x - mean(x, -1, true);
    const Value variance = mean(centred * centred, -1, true);
    const Value normal = centred * (1.0 / sqrt(variance + args.attrs.real(0)));
    return narrowed(normal * widened(in[1]) + widened(in[2]), in[0].dtype());
}

/// Mean and variance out of one reading: sums of the distances from the row's first element and of
/// their squares, which cancel little where the row's elements lie near one another.
Value build_layer_norm_one_pass(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value x = widened(in[0]);
    const int last = x.shape().rank() - 1;
    if (is_empty(args, x.shape().dim(last))) return in[0];
    const Value distance = x - part_of_axis(x, last, 0, 1);
    const Value first = mean(distance, -1, true);
    const Value second = mean(distance * distance, -1, true);
    const Value variance = maximum(second - first * first, constant_like(first, 0));
    const Value normal = (distance - first) * (1.0 / sqrt(variance + args.attrs.real(0)));
    return narrowed(normal * widened(in[1]) + widened(in[2]), in[0].dtype());
}

Value build_rms_norm(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value x = widened(in[0]);
    const Value normal = x * (1.0 / sqrt(mean(x * x, -1, true) + args.attrs.real(0)));
    return narrowed(normal * widened(in[1]), in[0].dtype());
}

// ---- matrix products

Activation activation_of(const InferArgs& args) {
    return static_cast<Activation>(args.attrs.integer(0));
}

void check_activation(const InferArgs& args) {
    const Activation f = activation_of(args);
    if (f == Activation::none) return;
    const DType dtype = args.inputs[0]->dtype;
    const bool fits = is_floating(dtype) || (is_integer(dtype) && f == Activation::relu) ||
                      (is_complex(dtype) && (f == Activation::tanh || f == Activation::sigmoid));
    if (!fits) {
        throw DTypeError(fmt::format("{}: the activation {} does not take {}", args.op.name,
                                     kActivationNames[static_cast<std::size_t>(f)],
                                     args.inputs[0]->str()));
    }
}

TensorSpec infer_product(const InferArgs& args) {
    const TensorSpec& a = *args.inputs[0];
    const TensorSpec& b = *args.inputs[1];
    if (a.dtype != b.dtype) {
        throw DTypeError(fmt::format("{}: operands have different types: {} @ {}", args.op.name,
                                     a.str(), b.str()));
    }
    const int ra = a.shape.rank();
    const int rb = b.shape.rank();
    if (ra == 0 || rb == 0) {
        throw ShapeError(fmt::format("{}: needs at least one dimension each: {} @ {}", args.op.name,
                                     a.shape.str(), b.shape.str()),
                         "rank >= 1", ra == 0 ? a.shape.str() : b.shape.str());
    }
    const Dim ka = a.shape.dim(ra - 1);
    const Dim kb = b.shape.dim(std::max(rb - 2, 0));
    if (equal(ka, kb) != Truth::yes) {
        throw ShapeError(
            fmt::format("{}: inner dimensions differ: {} @ {} ({} vs {})", args.op.name,
                        a.shape.str(), b.shape.str(), ka.str(), kb.str()),
            a.shape.str(), b.shape.str());
    }
    TensorSpec out{a.dtype, {}};
    if (ra > 2 || rb > 2) {
        const Shape* shapes[] = {&a.shape, &b.shape};
        out.shape = joined_batches(args.op.name, shapes);
    }
    if (ra > 1) out.shape.push_back(a.shape.dim(ra - 2));
    if (rb > 1) out.shape.push_back(b.shape.dim(rb - 1));
    check_activation(args);
    return out;
}

TensorSpec infer_matmul_bias(const InferArgs& args) {
    TensorSpec out = infer_product(args);
    const TensorSpec& bias = *args.inputs[2];
    if (bias.dtype != out.dtype) {
        throw DTypeError(fmt::format("{}: the bias {} is not of the product's type, {}",
                                     args.op.name, bias.str(), out.str()));
    }
    if (!broadcasts_to(bias.shape, out.shape)) {
        throw ShapeError(
            fmt::format("{}: the bias {} does not broadcast to the product {} of {} @ {}",
                        args.op.name, bias.shape.str(), out.shape.str(),
                        args.inputs[0]->shape.str(), args.inputs[1]->shape.str()),
            out.shape.str(), bias.shape.str());
    }
    return out;
}

/// The operands as [batch..., m, k] and [batch..., k, n] with equal batches.
std::pair<Value, Value> matrices(const Value& a, const Value& b) {
    Value x = a.shape().rank() == 1 ? reshape(a, {1, a.shape().dim(0)}) : a;
    Value y = b.shape().rank() == 1 ? reshape(b, {b.shape().dim(0), 1}) : b;
    const Shape batch = broadcast_shapes("matmul", batch_of(x.shape()), batch_of(y.shape()));
    const auto widened = [&](const Value& v) {
        Shape full = batch;
        full.push_back(v.shape().dim(v.shape().rank() - 2));
        full.push_back(v.shape().dim(v.shape().rank() - 1));
        return full == v.shape() ? v : broadcast_to(v, full);
    };
    return {widened(x), widened(y)};
}

Shape product_shape(const InferArgs& args) { return infer_product(args).shape; }

Value product_by_dot(Inputs in, const InferArgs& args) {
    // One matrix for all batches: their rows are the rows of one product, and what flows back to
    // the matrix is one product as well.
    if (in[0].shape().rank() > 2 && in[1].shape().rank() == 2)
        return dot_general(in[0], in[1], {in[0].shape().rank() - 1}, {0}, {}, {});
    const auto [x, y] = matrices(in[0], in[1]);
    const int rank = x.shape().rank();
    Ints batch;
    for (int i = 0; i < rank - 2; ++i) batch.push_back(i);
    const Value product = dot_general(x, y, {rank - 1}, {rank - 2}, batch, batch);
    const Shape wanted = product_shape(args);
    return product.shape() == wanted ? product : reshape(product, wanted);
}

Value product_by_sum(Inputs in, const InferArgs& args) {
    const auto [x, y] = matrices(in[0], in[1]);
    const int rank = x.shape().rank();
    Shape left = x.shape();
    left.push_back(1);
    Shape right = y.shape();
    right.resize(rank + 1);
    std::copy_backward(right.begin() + rank - 2, right.begin() + rank, right.end());
    right[rank - 2] = 1;
    const Value total = sum(reshape(x, left) * reshape(y, right), rank - 1);
    // Small integers are summed in 64 bits; the product wraps as dot_general says.
    const Value narrow = total.dtype() == x.dtype() ? total : cast(total, x.dtype());
    return reshape(narrow, product_shape(args));
}

std::optional<std::string> refuse_large(const InferArgs& args) {
    std::int64_t terms = 0;
    const Dim results = infer_product(args).shape.count();
    const Shape& a = args.inputs[0]->shape;
    const Dim inner = a.dim(a.rank() - 1);
    // Of expressions, as many as there may be.
    if (__builtin_mul_overflow(results.bounds().high, inner.bounds().high, &terms) ||
        terms > (std::int64_t{1} << 26)) {
        return fmt::format("it would hold all {} x {} products at once", results.str(),
                           inner.str());
    }
    return std::nullopt;
}

template <Value (*Product)(Inputs, const InferArgs&)>
Value build_matmul(ProgramBuilder&, Inputs in, const InferArgs& args) {
    return activate(Product(in, args), activation_of(args));
}

template <Value (*Product)(Inputs, const InferArgs&)>
Value build_matmul_bias(ProgramBuilder&, Inputs in, const InferArgs& args) {
    return activate(Product(in, args) + in[2], activation_of(args));
}

TensorSpec infer_lora(const InferArgs& args) {
    check_one_type(args, 0, 4);
    const Shape& x = args.inputs[0]->shape;
    const Shape& w = args.inputs[1]->shape;
    const Shape& a = args.inputs[2]->shape;
    const Shape& b = args.inputs[3]->shape;
    const bool matrices = x.rank() > 0 && w.rank() == 2 && a.rank() == 2 && b.rank() == 2;
    const Dim k = matrices ? x.dim(x.rank() - 1) : Dim(0);
    if (!matrices || w.dim(0) != k || a.dim(0) != k || b.dim(0) != a.dim(1) ||
        b.dim(1) != w.dim(1)) {
        throw ShapeError(fmt::format("lora: needs x of [..., k], w of [k, n], a of [k, rank] and b "
                                     "of [rank, n]: {}",
                                     operands_text(args)),
                         x.str(), w.str());
    }
    TensorSpec out = *args.inputs[0];
    out.shape.set(x.rank() - 1, w.dim(1));
    return out;
}

Value build_lora(ProgramBuilder&, Inputs in, const InferArgs& args) {
    return matmul(in[0], in[1]) + matmul(matmul(in[0], in[2]) * args.attrs.real(0), in[3]);
}

std::vector<Case> matmul_cases() {
    const std::string none = "none";
    const std::string relu = "relu";
    return {
        {{{3, 4}, {4, 5}}, {none}},
        {{{4}, {4}}, {none}},
        {{{4}, {4, 2}}, {relu}},
        {{{2, 3, 4}, {4}}, {none}},
        {{{2, 1, 3, 4}, {5, 4, 2}}, {none}},
        {{{2, 0}, {0, 3}}, {none}},
        {{{3, 4}, {4, 5}}, {relu}},
    };
}

}  // namespace

std::vector<OpDef> composites() {
    return {
        {
            .name = "relu",
            .doc = "The larger of each element and 0.",
            .edge = "NaN stays NaN; relu(-0) is 0.",
            .traits = Trait::elementwise | Trait::same_type | Trait::promotes,
            .dtypes = kReal,
            .implementations = {{.name = "maximum", .build = build_relu}},
            .gradient = relu_gradient,
        },
        {
            .name = "gelu",
            .doc = "x times the normal distribution function of x; by the tanh formula where "
                   "`approximate`.",
            .edge = "gelu(inf) is inf; gelu(-inf) is NaN, as the formula says.",
            .traits = kFloatMath,
            .dtypes = kFloating,
            .attrs = {{"approximate", AttrKind::boolean}},
            .implementations = {{.name = "formula", .build = build_gelu}},
            .tolerance = {.ulps = 16, .absolute = 1e-6},
            .cases = {{{{3, 4}}, {false}}, {{{3, 4}}, {true}}, {{{}}, {false}}, {{{0, 2}}, {true}}},
        },
        {
            .name = "softmax",
            .doc = "Exponentials along an axis, divided by their sum.",
            .edge = "The largest element is subtracted first, so that large values do not "
                    "overflow. A row with NaN or +inf is NaN, "
                    "a row of -inf alone is NaN; an empty axis gives an empty result.",
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_softmax,
            .implementations = {{.name = "stable", .build = build_softmax},
                                {.name = "logsumexp", .build = build_softmax_logsumexp}},
            .gradient = softmax_gradient,
            .tolerance = {.ulps = 32, .absolute = 1e-6},
            .cases = {{{{3, 5}}, {std::int64_t{1}}},
                      {{{3, 5, 2}}, {std::int64_t{1}}},
                      {{{1}}, {std::int64_t{0}}},
                      {{{2, 0}}, {std::int64_t{1}}}},
        },
        {
            .name = "layer_norm",
            .doc =
                "Elements of the last axis brought to mean 0 and variance 1, scaled and shifted.",
            .edge = "The variance is that of the population; eps is added to it. NaN anywhere in a "
                    "row makes the row NaN.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"eps", AttrKind::real}},
            .infer = infer_last_axis,
            .implementations = {{.name = "two_pass", .build = build_layer_norm},
                                {.name = "one_pass", .build = build_layer_norm_one_pass}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .cases = {{{{3, 5}, {5}, {5}}, {1e-5}},
                      {{{2, 1, 4}, {4}, {4}}, {1e-3}},
                      {{{0, 4}, {4}, {4}}, {1e-5}}},
        },
        {
            .name = "rms_norm",
            .doc = "Elements of the last axis divided by their root mean square, scaled.",
            .edge =
                "eps is added to the mean of the squares. NaN anywhere in a row makes the row NaN.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::to_float | Trait::promotes,
            .dtypes = kFloating,
            .attrs = {{"eps", AttrKind::real}},
            .infer = infer_last_axis,
            .implementations = {{.name = "formula", .build = build_rms_norm}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .cases = {{{{3, 5}, {5}}, {1e-5}}, {{{2, 1, 4}, {4}}, {1e-3}}, {{{0, 4}, {4}}, {1e-5}}},
        },
        {
            .name = "matmul",
            .doc = "Matrix product by numpy's rule (batches broadcast, vectors are rows or "
                   "columns), then an activation: none, relu, sigmoid, tanh or gelu.",
            .edge = "As dot_general.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held | Trait::promotes,
            .dtypes = kNumeric,
            .attrs = {{"activation", AttrKind::choice, kActivationNames}},
            .infer = infer_product,
            .implementations = {{.name = "dot", .build = build_matmul<product_by_dot>},
                                {.name = "multiply_sum",
                                 .build = build_matmul<product_by_sum>,
                                 .refuses = refuse_large}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = matmul_cases(),
        },
        {
            .name = "matmul_bias",
            .doc = "Matrix product plus a bias, then an activation: none, relu, sigmoid, tanh or "
                   "gelu.",
            .edge = "As dot_general and add.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::keep_if_held | Trait::promotes,
            .dtypes = kNumeric,
            .attrs = {{"activation", AttrKind::choice, kActivationNames}},
            .infer = infer_matmul_bias,
            .implementations = {{.name = "dot", .build = build_matmul_bias<product_by_dot>},
                                {.name = "multiply_sum",
                                 .build = build_matmul_bias<product_by_sum>,
                                 .refuses = refuse_large}},
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{3, 4}, {4, 5}, {5}}, {std::string("none")}},
                      {{{2, 3, 4}, {4, 5}, {3, 5}}, {std::string("relu")}},
                      {{{0, 4}, {4, 5}, {5}}, {std::string("none")}}},
        },
        {
            .name = "lora",
            .doc = "A matrix product and another of low rank beside it: x @ w + (x @ a) @ b * "
                   "scale.",
            .edge = "As dot_general and add.",
            .min_inputs = 4,
            .max_inputs = 4,
            .traits = Trait::keep_if_held | Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .attrs = {{"scale", AttrKind::real}},
            .infer = infer_lora,
            .implementations = {{.name = "products", .build = build_lora}},
            .tolerance = {.ulps = 128, .absolute = 1e-4},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{3, 6}, {6, 5}, {6, 2}, {2, 5}}, {0.5}},
                      {{{2, 3, 6}, {6, 5}, {6, 1}, {1, 5}}, {1.0}},
                      {{{0, 6}, {6, 5}, {6, 2}, {2, 5}}, {1.0}}},
        },
    };
}

}  // namespace lazuli::ops
