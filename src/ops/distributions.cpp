// Distributions made of random bits, beyond the uniform and the normal one in random.cpp.

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "ops/build.h"
#include "ops/eval.h"
#include "ops/table.h"
#include "ops/threefry.h"

namespace lazuli::ops {

namespace {

void check_key(const InferArgs& args) {
    const TensorSpec& key = *args.inputs[0];
    if (key.dtype == u64 && key.shape.rank() == 0) return;
    const std::string text =
        fmt::format("{}: a key is one number, u64[], not {}", args.op.name, key.str());
    if (key.dtype != u64) throw DTypeError(text);
    if (key.shape.rank() != 0) throw ShapeError(text, "u64[]", key.str());
}

// ---- truth values

TensorSpec infer_bernoulli(const InferArgs& args) {
    check_key(args);
    const double p = args.attrs.real(0);
    if (!(p >= 0 && p <= 1))
        throw ArgumentError(
            fmt::format("random_bernoulli: {} is not a probability, from 0 to 1", p));
    if (args.wanted->dtype != DType::boolean)
        throw DTypeError(fmt::format("random_bernoulli: makes bool, not {}", args.wanted->str()));
    return *args.wanted;
}

Value build_bernoulli(ProgramBuilder&, Inputs in, const InferArgs& args) {
    // A fraction of 53 bits is below p exactly as often as it should be.
    const Value uniform = random_uniform(in[0], args.wanted->shape, f64);
    return lt(uniform, constant_like(uniform, args.attrs.real(0)));
}

// ---- Gumbel's distribution, and choices

TensorSpec infer_gumbel(const InferArgs& args) {
    check_key(args);
    if (!kFloating.contains(args.wanted->dtype))
        throw DTypeError(fmt::format("random_gumbel: does not make {}", args.wanted->str()));
    return *args.wanted;
}

/// In f64, whatever the result's type: there the ends of the range are far out.
Value gumbel(const Value& key, const Shape& shape) {
    const Value uniform = random_uniform(key, shape, f64);
    // 0 would become -inf: half the next smallest fraction takes its place.
    const Value inside = maximum(uniform, constant_like(uniform, 0x1p-54));
    return -log(-log(inside));
}

Value build_gumbel(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const Value out = gumbel(in[0], args.wanted->shape);
    return args.wanted->dtype == f64 ? out : cast(out, args.wanted->dtype);
}

TensorSpec infer_categorical(const InferArgs& args) {
    check_key(args);
    const TensorSpec& logits = *args.inputs[1];
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("random_categorical: axis {} is negative", axis));
    (void)ensure_axis("random_categorical", axis, logits.shape);
    TensorSpec out{i64, {}};
    for (int i = 0; i < logits.shape.rank(); ++i) {
        if (i != axis) out.shape.push_back(logits.shape.dim(i));
    }
    const bool chooses = at_least(logits.shape.dim(static_cast<int>(axis)), 1) == Truth::yes;
    if (!chooses && at_least(0, out.shape.count()) != Truth::yes)
        throw ShapeError(fmt::format("random_categorical: nothing to choose from along axis {} of "
                                     "{}",
                                     axis, logits.str()),
                         "at least one element", logits.shape.str());
    return out;
}

Value build_categorical(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    if (is_empty(args, args.wanted->shape.count())) return builder.constant(0, *args.wanted);
    // The largest of the logits with Gumbel noise added is at a position with the wanted
    // probability.
    const Value logits = in[1].dtype() == f64 ? in[1] : cast(in[1], f64);
    return argmax(logits + gumbel(in[0], logits.shape()), Axes(args.attrs.integer(0)));
}

// ---- orders

TensorSpec infer_permutation(const InferArgs& args) {
    check_key(args);
    const Dim n = args.attrs.size(0);
    if (at_least(n, 0) != Truth::yes)
        throw ArgumentError(
            fmt::format("random_permutation: {} is not a number of elements", n.str()));
    return {i64, {n}};
}

/// bits * n / 2^64, rounded down: a number below n.
std::int64_t scaled_to(std::uint64_t bits, std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>((static_cast<Wide>(bits) * n) >> 64);
}

void evaluate_permutation(const EvalArgs& args) {
    const std::uint64_t key = *args.inputs[0].as<std::uint64_t>();
    const std::int64_t n = args.spec->shape[0];
    auto* out = args.result<std::int64_t>();
    std::iota(out, out + n, 0);
    // Fisher and Yates: each place gets one of those not yet placed.
    for (std::int64_t i = 0; i + 1 < n; ++i) {
        const std::uint64_t bits = threefry(key, static_cast<std::uint64_t>(i));
        std::swap(out[i], out[i + scaled_to(bits, static_cast<std::uint64_t>(n - i))]);
    }
}

}  // namespace

std::vector<OpDef> distributions() {
    constexpr Trait drawn = Trait::random | Trait::keep_if_held;
    return {
        {
            .name = "random_bernoulli",
            .doc = "Truth values, each true with probability `p`.",
            .edge = "True where a uniform number of 53 bits is below p: never for 0, always for 1. "
                    "A p outside of [0, 1], or NaN, is an error.",
            .traits = drawn | Trait::shaped,
            .dtypes = {u64},
            .attrs = {{"p", AttrKind::real}},
            .infer = infer_bernoulli,
            .implementations = {{.name = "uniform", .build = build_bernoulli}},
            .cases = {{{{}}, {0.25}, Shape{100}},
                      {{{}}, {0.5}, Shape{3, 5}},
                      {{{}}, {0.0}, Shape{20}},
                      {{{}}, {1.0}, Shape{20}},
                      {{{}}, {0.75}, Shape{}},
                      {{{}}, {0.5}, Shape{0, 4}}},
        },
        {
            .name = "random_gumbel",
            .doc = "Numbers of the standard Gumbel distribution: -log(-log(u)) for u uniform in "
                   "(0, 1).",
            .edge = "Computed in f64 from 53 bits: from -3.7 to 36.8; never inf or NaN.",
            .traits = drawn | Trait::shaped,
            .dtypes = {u64},
            .infer = infer_gumbel,
            .implementations = {{.name = "uniform", .build = build_gumbel}},
            .tolerance = {.ulps = 16, .absolute = 1e-6},
            .cases = {{{{}}, {}, Shape{100}},
                      {{{}}, {}, Shape{3, 5}},
                      {{{}}, {}, Shape{}},
                      {{{}}, {}, Shape{0, 4}}},
        },
        {
            .name = "random_categorical",
            .doc = "Positions along an axis, as i64, each drawn with a probability that is the "
                   "softmax of the logits along that axis.",
            .edge =
                "A logit of -inf is never chosen, unless all are: then position 0 is. The "
                "first inf is chosen, and the first NaN before it. Over an empty axis an error.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = drawn,
            .dtypes = kFloating,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_categorical,
            .implementations = {{.name = "gumbel", .build = build_categorical}},
            .cases = {{{{}, {3, 5}}, {std::int64_t{1}}},
                      {{{}, {4, 3, 2}}, {std::int64_t{1}}},
                      {{{}, {6}}, {std::int64_t{0}}},
                      {{{}, {0, 4}}, {std::int64_t{1}}}},
        },
        {
            .name = "random_permutation",
            .doc = "The integers from 0 to below n in random order, as i64; all orders are equally "
                   "likely.",
            .edge =
                "A shuffle in order of position, drawn from the key alone: the same everywhere. "
                "The probabilities of a place differ by at most n / 2^64. n below 0 is an "
                "error; of 0 the result is empty.",
            .traits = drawn,
            .dtypes = {u64},
            .attrs = {{"n", AttrKind::integer}},
            .infer = infer_permutation,
            .evaluate = evaluate_permutation,
            .cases = {{{{}}, {std::int64_t{100}}},
                      {{{}}, {std::int64_t{1}}},
                      {{{}}, {std::int64_t{0}}},
                      {{{}}, {std::int64_t{7}}}},
        },
    };
}

}  // namespace lazuli::ops
