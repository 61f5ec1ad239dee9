// Attention with what language models add to it: heads that share keys and values, a window over
// the keys, a penalty that grows with distance, and scores that are bent below a cap.

#include <fmt/format.h>

#include <limits>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

enum : int { kScale, kCausal, kWindow, kSoftcap, kMasked };

/// Size number `from_end` of a shape, 1 being the last.
Dim last(const Shape& shape, int from_end) { return shape.dim(shape.rank() - from_end); }

bool same(Dim a, Dim b) { return equal(a, b) == Truth::yes; }

/// Mask and slopes among the operands.
struct Extras {
    int mask = -1;
    int slopes = -1;
};

Extras extras_of(const InferArgs& args) {
    const int given = static_cast<int>(args.inputs.size()) - 3;
    const bool masked = args.attrs.boolean(kMasked);
    Extras out;
    if (masked) out.mask = 3;
    if (given - (masked ? 1 : 0) == 1) out.slopes = masked ? 4 : 3;
    if (given != (out.mask > 0 ? 1 : 0) + (out.slopes > 0 ? 1 : 0)) {
        throw ArgumentError(
            fmt::format("attention_general: {} operands behind the values, {} of "
                        "them a mask: {}",
                        given, masked ? 1 : 0, operands_text(args)));
    }
    return out;
}

TensorSpec infer_general(const InferArgs& args) {
    check_one_type(args, 0, args.inputs.size());
    const Shape& q = args.inputs[0]->shape;
    const Shape& k = args.inputs[1]->shape;
    const Shape& v = args.inputs[2]->shape;
    const auto wrong = [&](const std::string& what) {
        return ShapeError(fmt::format("attention_general: {}: {}", what, operands_text(args)),
                          q.str(), k.str());
    };
    if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank())
        throw wrong("needs [..., heads, tokens, length] each, of one rank");
    for (int i = 0; i < q.rank() - 3; ++i) {
        if (!same(k.dim(i), q.dim(i)) || !same(v.dim(i), q.dim(i)))
            throw wrong("the dimensions before the heads differ");
    }
    const Dim heads = last(q, 3);
    const Dim shared = last(k, 3);
    if (!same(last(v, 3), shared) || !same(last(v, 2), last(k, 2)))
        throw wrong(fmt::format("there are not as many values as keys ({} of {} vs {} of {})",
                                last(v, 3).str(), last(v, 2).str(), shared.str(),
                                last(k, 2).str()));
    if (shared == Dim(0) ? heads != Dim(0)
                         : at_least(shared, 1) != Truth::yes || !same(heads % shared, 0))
        throw wrong(fmt::format("{} heads of keys {} divide {} heads", shared.str(),
                                detail::are_numbers(heads, shared) ? "do not" : "need not",
                                heads.str()));
    if (!same(last(q, 1), last(k, 1)))
        throw wrong(fmt::format("queries and keys differ in length ({} vs {})", last(q, 1).str(),
                                last(k, 1).str()));
    const Extras extras = extras_of(args);
    if (extras.mask > 0) {
        const Shape& mask = args.inputs[static_cast<std::size_t>(extras.mask)]->shape;
        Shape scores = q;
        scores[q.rank() - 1] = last(k, 2);
        if (!broadcasts_to(mask, scores))
            throw wrong(fmt::format("the mask {} does not broadcast to the scores {}", mask.str(),
                                    scores.str()));
    }
    if (extras.slopes > 0 &&
        !(args.inputs[static_cast<std::size_t>(extras.slopes)]->shape == Shape{heads}))
        throw wrong(fmt::format("slopes are one a head, [{}]", heads.str()));
    check_bounds(args, {{"window", args.attrs.integer(kWindow), 0}},
                 std::numeric_limits<std::int64_t>::max());
    const double cap = args.attrs.real(kSoftcap);
    if (!(cap >= 0)) {
        throw ArgumentError(fmt::format("attention_general: softcap {} must be at least 0: {}", cap,
                                        operands_text(args)));
    }
    TensorSpec out{args.inputs[0]->dtype, q};
    out.shape[q.rank() - 1] = last(v, 1);
    return out;
}

Value build_general(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const TensorSpec result = infer_general(args);
    if (is_empty(args, result.shape.count())) return builder.constant(0, result);
    const Shape q = in[0].shape();
    const Shape k = in[1].shape();
    const Shape v = in[2].shape();
    const Dim groups = last(k, 3);
    const Dim each = last(q, 3) / groups;
    const Dim queries = last(q, 2);
    const Dim keys = last(k, 2);
    // [..., heads, a, b] as [..., heads of keys, heads that share one, a, b].
    const auto grouped = [&](const Value& x, Dim sharing) {
        const Shape shape = x.shape();
        Shape out(shape.raw().first(shape.size() - 3));
        for (const Dim size : {groups, sharing, last(shape, 2), last(shape, 1)})
            out.push_back(size);
        return reshape(widened(x), out);
    };
    const int rank = q.rank() + 1;
    Ints turned;
    for (int i = 0; i < rank; ++i) turned.push_back(i);
    swap(turned[rank - 1], turned[rank - 2]);
    const Value products = matmul(grouped(in[0], each), permute(grouped(in[1], 1), Axes(turned)));
    Value scores = products * attention_scale(products, args.attrs.real(kScale), last(q, 1));
    const double cap = args.attrs.real(kSoftcap);
    if (cap > 0) scores = tanh(scores / cap) * cap;

    // A key's place less the query's; the last query stands at the last key.
    const Shape grid{queries, keys};
    const Value column = positions(builder, grid, 1, i64);
    const Value distance =
        column - (positions(builder, grid, 0, i64) + distance_of(builder, keys, queries));
    const Extras extras = extras_of(args);
    if (extras.slopes > 0) {
        const Value slopes =
            reshape(widened(in[static_cast<std::size_t>(extras.slopes)]), {groups, each, 1, 1});
        scores = scores - slopes * cast(abs(distance), scores.dtype());
    }
    if (extras.mask > 0) {
        Shape full = q;
        full[q.rank() - 1] = keys;
        scores =
            scores + grouped(broadcast_to(in[static_cast<std::size_t>(extras.mask)], full), each);
    }
    const double hidden = -std::numeric_limits<double>::infinity();
    const auto hide = [&](const Value& seen) {
        scores = select(seen, scores, constant_like(scores, hidden));
    };
    const bool causal = args.attrs.boolean(kCausal);
    const std::int64_t window = args.attrs.integer(kWindow);
    if (causal) hide(le(distance, constant_like(distance, 0)));
    if (window > 0) hide(lt(causal ? -distance : abs(distance), constant_like(distance, window)));
    const Value out = matmul(softmax(scores, -1), grouped(in[2], 1));
    return narrowed(reshape(out, result.shape), result.dtype);
}

}  // namespace

std::vector<OpDef> attention_general() {
    const auto attributes = [](double scale, bool causal, std::int64_t window, double cap,
                               bool masked) {
        return std::vector<Attribute>{scale, causal, window, cap, masked};
    };
    return {
        {
            .name = "attention_general",
            .doc = "Attention over [..., heads, tokens, length] whose keys and values may have "
                   "fewer heads, each for several of the queries': scores are scaled, bent below "
                   "`softcap`, lowered by slopes times distance, masked, and seen less than "
                   "`window` away.",
            .edge = "The last query stands at the last key; where causal, a query sees the keys up "
                    "to its own place. A softcap or window of 0 is none. A query that sees no key "
                    "gives NaN; where there are no keys, 0. f16 and bf16 are computed in f32.",
            .min_inputs = 3,
            .max_inputs = 5,
            .traits = Trait::keep_if_held | Trait::promotes | Trait::to_float,
            .dtypes = kFloating,
            .attrs = {{"scale", AttrKind::real},
                      {"causal", AttrKind::boolean},
                      {"window", AttrKind::integer},
                      {"softcap", AttrKind::real},
                      {"masked", AttrKind::boolean}},
            .infer = infer_general,
            .implementations = {{.name = "softmax", .build = build_general}},
            .tolerance = {.ulps = 128, .absolute = 1e-5},
            // The largest numbers overflow in sums of f32 and not in those of f64, and a softmax of
            // what comes out is NaN here and a number there.
            .sample = {.low = -2, .high = 2, .edges = false},
            .cases =
                {{{{4, 5, 4}, {2, 7, 4}, {2, 7, 3}}, attributes(0.0, false, 0, 0.0, false)},
                 {{{2, 4, 5, 4}, {2, 1, 5, 4}, {2, 1, 5, 3}}, attributes(0.5, true, 2, 0.0, false)},
                 {{{6, 3, 4}, {3, 6, 4}, {3, 6, 4}, {6}}, attributes(0.0, true, 0, 0.0, false)},
                 {{{2, 5, 4}, {2, 5, 4}, {2, 5, 4}}, attributes(0.0, false, 2, 1.5, false)},
                 {{{4, 5, 4}, {2, 5, 4}, {2, 5, 4}, {5, 5}}, attributes(0.0, true, 0, 0.0, true)},
                 {{{4, 3, 4}, {2, 5, 4}, {2, 5, 2}, {4, 1, 5}, {4}},
                  attributes(0.25, true, 3, 2.0, true)},
                 {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, attributes(0.0, true, 1, 0.0, false)},
                 {{{2, 0, 4}, {1, 3, 4}, {1, 3, 4}}, attributes(0.0, false, 0, 0.0, false)}},
        },
    };
}

}  // namespace lazuli::ops
