#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

enum : int { kScale, kCausal };

Dim last(const Shape& shape, int from_end) { return shape.dim(shape.rank() - from_end); }

bool same(Dim a, Dim b) { return equal(a, b) == Truth::yes; }

/// Throws where the mask is not one of the queries' type that broadcasts to the scores.
void check_mask(const InferArgs& args, const Shape& batch) {
    const TensorSpec& q = *args.inputs[0];
    const TensorSpec& k = *args.inputs[1];
    const TensorSpec& mask = *args.inputs[3];
    if (mask.dtype != q.dtype)
        throw DTypeError(fmt::format("attention: the mask {} is not of the queries' type, {}",
                                     mask.str(), q.str()));
    Shape scores = batch;
    scores.push_back(last(q.shape, 2));
    scores.push_back(last(k.shape, 2));
    if (broadcasts_to(mask.shape, scores)) return;
    throw ShapeError(
        fmt::format("attention: the mask {} does not broadcast to the scores {} (queries {}, keys "
                    "{})",
                    mask.shape.str(), scores.str(), q.shape.str(), k.shape.str()),
        scores.str(), mask.shape.str());
}

TensorSpec infer_attention(const InferArgs& args) {
    const TensorSpec& q = *args.inputs[0];
    const TensorSpec& k = *args.inputs[1];
    const TensorSpec& v = *args.inputs[2];
    for (const TensorSpec* operand : args.inputs.first(3)) {
        if (operand->dtype != q.dtype) {
            throw DTypeError(fmt::format("attention: operands have different types: {}, {} and {}",
                                         q.str(), k.str(), v.str()));
        }
        if (operand->shape.rank() < 2) {
            throw ShapeError(
                fmt::format("attention: needs at least two dimensions each: {}, {} and {}",
                            q.shape.str(), k.shape.str(), v.shape.str()),
                "rank >= 2", operand->shape.str());
        }
    }
    if (!same(last(q.shape, 1), last(k.shape, 1))) {
        throw ShapeError(fmt::format("attention: queries and keys differ in length: {} and {} "
                                     "({} vs {})",
                                     q.shape.str(), k.shape.str(), last(q.shape, 1).str(),
                                     last(k.shape, 1).str()),
                         q.shape.str(), k.shape.str());
    }
    if (!same(last(k.shape, 2), last(v.shape, 2))) {
        throw ShapeError(fmt::format("attention: there are not as many values as keys: {} and {} "
                                     "({} vs {})",
                                     k.shape.str(), v.shape.str(), last(k.shape, 2).str(),
                                     last(v.shape, 2).str()),
                         k.shape.str(), v.shape.str());
    }
    const Shape* shapes[] = {&q.shape, &k.shape, &v.shape};
    const Shape batch = joined_batches("attention", shapes);
    if (args.inputs.size() == 4) check_mask(args, batch);
    TensorSpec out{q.dtype, batch};
    out.shape.push_back(last(q.shape, 2));
    out.shape.push_back(last(v.shape, 1));
    return out;
}

Value build_attention(ProgramBuilder& builder, std::span<const Value> in, const InferArgs& args) {
    const DType dtype = in[0].dtype();
    const Value q = widened(in[0]);
    const Value k = widened(in[1]);
    const Value v = widened(in[2]);
    Ints turned;
    for (int i = 0; i < k.shape().rank(); ++i) turned.push_back(i);
    swap(turned[turned.rank() - 1], turned[turned.rank() - 2]);
    const Dim length = last(q.shape(), 1);
    const Value products = matmul(q, permute(k, Axes(turned)));
    Value scores = products * attention_scale(products, args.attrs.real(kScale), length);
    if (in.size() == 4) scores = scores + widened(in[3]);
    if (args.attrs.boolean(kCausal)) {
        const Dim queries = last(scores.shape(), 2);
        const Dim keys = last(scores.shape(), 1);
        const Shape grid{queries, keys};
        const auto along = [&](std::int64_t axis) { return positions(builder, grid, axis, i64); };
        // The last query sees every key.
        const Value column = along(1);
        const Value seen = le(column, along(0) + distance_of(builder, keys, queries));
        scores =
            select(seen, scores, constant_like(scores, -std::numeric_limits<double>::infinity()));
    }
    const Value out = matmul(softmax(scores, -1), v);
    return narrowed(out, dtype);
}

}  // namespace

double attention_scale(double given, std::int64_t length) {
    if (given != 0) return given;
    return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(length, 1)));
}

Value attention_scale(const Value& scores, double given, Dim length) {
    if (given != 0 || length.is_concrete())
        return constant_like(scores, attention_scale(given, given != 0 ? 1 : length.value()));
    const Value wide = number_of(scores.builder(), max(length, 1), f64);
    return narrowed(1.0 / sqrt(wide), scores.dtype());
}

Value distance_of(ProgramBuilder& builder, Dim keys, Dim queries) {
    const Dim distance = keys - queries;
    if (distance.is_concrete()) return builder.constant(distance.value(), {i64, {}});
    return number_of(builder, keys, i64) - number_of(builder, queries, i64);
}

std::vector<OpDef> attention() {
    const auto attributes = [](double scale, bool causal) {
        return std::vector<Attribute>{scale, causal};
    };
    return {
        {
            .name = "attention",
            .doc = "Values weighted by the softmax of scaled products of queries and keys: "
                   "softmax(q @ k^T * scale + mask) @ v; a scale of 0 is 1 / sqrt(length).",
            .edge = "Where causal, a query sees the keys up to its own place, the last query all "
                    "of them. A query that sees none of the keys gives NaN; where there are no "
                    "keys, 0. f16 and bf16 are computed in "
                    "f32.",
            .min_inputs = 3,
            .max_inputs = 4,
            .traits = Trait::keep_if_held | Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .attrs = {{"scale", AttrKind::real}, {"causal", AttrKind::boolean}},
            .infer = infer_attention,
            .kernels = {"tiled"},
            .implementations = {{.name = "unfused", .build = build_attention}},
            .tolerance = {.ulps = 128, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{2, 5, 4}, {2, 7, 4}, {2, 7, 3}}, attributes(0.0, false)},
                      {{{5, 4}, {7, 4}, {7, 3}}, attributes(0.5, true)},
                      {{{2, 3, 5, 4}, {1, 3, 5, 4}, {3, 5, 4}, {5, 5}}, attributes(0.0, false)},
                      {{{2, 5, 4}, {2, 5, 4}, {2, 5, 4}, {2, 1, 5}}, attributes(0.0, true)},
                      {{{1, 4}, {1, 4}, {1, 4}}, attributes(0.0, true)},
                      {{{70, 16}, {130, 16}, {130, 20}}, attributes(0.0, true)},
                      {{{0, 4}, {3, 4}, {3, 4}}, attributes(0.0, false)}},
        },
    };
}

}  // namespace lazuli::ops
