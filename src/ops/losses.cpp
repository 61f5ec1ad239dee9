// Ops on numbers of classes: rows of a table, truth as a row of zeros and a one, and how far
// predictions lie from it.

#include <fmt/format.h>

#include <limits>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_embedding(const InferArgs& args) {
    const TensorSpec& table = *args.inputs[0];
    if (table.shape.rank() != 2) {
        throw ShapeError(fmt::format("embedding: the table is [rows, length], not {} (ids {})",
                                     table.str(), args.inputs[1]->str()),
                         "rank 2", table.shape.str());
    }
    TensorSpec out{table.dtype, args.inputs[1]->shape};
    out.shape.push_back(table.shape.dim(1));
    return out;
}

Value build_embedding(ProgramBuilder&, Inputs in, const InferArgs&) {
    return gather(in[0], in[1], 0);
}

TensorSpec infer_one_hot(const InferArgs& args) {
    const Shape& ids = args.inputs[0]->shape;
    const Shape& wanted = args.wanted->shape;
    if (wanted.rank() != ids.rank() + 1 || !(Shape(wanted.raw().first(ids.size())) == ids)) {
        throw ShapeError(fmt::format("one_hot: of {} come its sizes and the number of classes, not "
                                     "{}",
                                     args.inputs[0]->str(), args.wanted->str()),
                         ids.str(), wanted.str());
    }
    return *args.wanted;
}

/// Which class each id names: the classes as a new last axis.
Value is_class(ProgramBuilder& builder, const Value& ids, Dim classes) {
    // Beyond i64 lie numbers of u64 that wrap to negative ones, which are no class either.
    const Value wide = ids.dtype() == i64 ? ids : cast(ids, i64);
    const Value numbers = positions(builder, {classes}, 0, i64);
    return eq(with_axis(wide, ids.shape().rank()), numbers);
}

Value build_one_hot(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Shape& wanted = args.wanted->shape;
    return cast(is_class(builder, in[0], wanted.dim(wanted.rank() - 1)), args.wanted->dtype);
}

enum : int { kSmoothing, kIgnored };

TensorSpec infer_cross_entropy(const InferArgs& args) {
    const TensorSpec& logits = *args.inputs[0];
    const TensorSpec& targets = *args.inputs[1];
    if (!is_floating(logits.dtype)) {
        throw DTypeError(fmt::format("cross_entropy: logits are floats, not {} (targets {})",
                                     logits.str(), targets.str()));
    }
    const int rank = logits.shape.rank();
    if (rank < 1 || !(Shape(logits.shape.raw().first(logits.shape.size() - 1)) == targets.shape)) {
        throw ShapeError(fmt::format("cross_entropy: needs logits [..., classes] and a target for "
                                     "each row: {} and {}",
                                     logits.str(), targets.str()),
                         logits.shape.str(), targets.shape.str());
    }
    const double smoothing = args.attrs.real(kSmoothing);
    if (!(smoothing >= 0 && smoothing <= 1)) {
        throw ArgumentError(
            fmt::format("cross_entropy: label_smoothing {} is not from 0 to 1: {} "
                        "and {}",
                        smoothing, logits.str(), targets.str()));
    }
    return {logits.dtype, {}};
}

Value build_cross_entropy(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double smoothing = args.attrs.real(kSmoothing);
    const Value logits = widened(in[0]);
    const int rank = logits.shape().rank();
    const Dim classes = logits.shape().dim(rank - 1);
    const Value targets = in[1].dtype() == i64 ? in[1] : cast(in[1], i64);
    const Value logs = log_softmax(logits, -1);
    const Value zero = constant_like(logs, 0);
    const Value at = is_class(builder, targets, classes);
    Value loss = -sum(select(at, logs, zero), rank - 1);
    if (smoothing > 0) {
        const Value total = -sum(logs, rank - 1);
        const Value even = total / number_of(builder, classes, total.dtype());
        loss = loss * (1 - smoothing) + even * smoothing;
    }
    const Value known = logical_and(ge(targets, constant_like(targets, 0)),
                                    lt(targets, number_of(builder, classes, i64)));
    const Value counts = ne(targets, constant_like(targets, args.attrs.integer(kIgnored)));
    loss = select(counts, select(known, loss, constant_like(loss, nan)), zero);
    const Value mean = sum(loss) / sum(cast(counts, loss.dtype()));
    return narrowed(mean, in[0].dtype());
}

/// What each class is expected to be, less the target, in the rows that count. It is built of the
/// same logarithms as the loss, so that both are computed once.
Gradients cross_entropy_gradient(const GradientArgs& g) {
    const double smoothing = g.call.attrs.real(kSmoothing);
    const Value logits = widened(g[0]);
    const int rank = logits.shape().rank();
    const Dim classes = logits.shape().dim(rank - 1);
    const Value targets = g[1].dtype() == i64 ? g[1] : cast(g[1], i64);
    const Value expected = exp(log_softmax(logits, -1));
    const Value target = cast(is_class(g.builder, targets, classes), logits.dtype());
    Value distance = expected - target;
    if (smoothing > 0) {
        const Value even = number_of(g.builder, classes, logits.dtype());
        distance = expected - (target * (1 - smoothing) + smoothing / even);
    }
    const Value counts = ne(targets, constant_like(targets, g.call.attrs.integer(kIgnored)));
    const Value share = cast(g.cotangent(), logits.dtype()) / sum(cast(counts, logits.dtype()));
    const Value known = logical_and(ge(targets, constant_like(targets, 0)),
                                    lt(targets, number_of(g.builder, classes, i64)));
    const Value weight = select(logical_and(counts, known), share, constant_like(share, 0));
    return {narrowed(distance * with_axis(weight, rank - 1), g[0].dtype()), {}};
}

TensorSpec infer_dropout(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& key = *args.inputs[1];
    if (!is_floating(x.dtype)) {
        throw DTypeError(fmt::format("dropout: takes floats, not {} (key {})", x.str(), key.str()));
    }
    if (key.shape.rank() != 0) {
        throw ShapeError(fmt::format("dropout: a key is one number, u64[], not {} (beside {})",
                                     key.str(), x.str()),
                         "[]", key.shape.str());
    }
    const double p = args.attrs.real(0);
    if (!(p >= 0 && p <= 1)) {
        throw ArgumentError(fmt::format("dropout: p {} is not from 0 to 1 ({})", p, x.str()));
    }
    return x;
}

Value build_dropout(ProgramBuilder&, Inputs in, const InferArgs& args) {
    const double p = args.attrs.real(0);
    const Value x = widened(in[0]);
    if (p == 0) return in[0];
    const Value drawn = random_uniform(in[1], in[0].shape(), f32);
    const Value stays = ge(drawn, constant_like(drawn, p));
    const Value scaled = p < 1 ? x / (1 - p) : x;
    return narrowed(select(stays, scaled, constant_like(x, 0)), in[0].dtype());
}

}  // namespace

std::vector<OpDef> losses() {
    const std::int64_t ignored = 2;
    return {
        {
            .name = "embedding",
            .doc = "Rows of a table, picked by a tensor of integer ids.",
            .edge = "As gather: negative ids count from the end; one outside the table is an "
                    "execution error that names it.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held,
            .dtypes = kIntegers,
            .infer = infer_embedding,
            .implementations = {{.name = "gather", .build = build_embedding}},
            .sample = {.low = -2, .high = 1},
            .cases = {{{{4, 3}, {2, 2}}, {}},
                      {{{3, 5}, {}}, {}},
                      {{{2, 0}, {3}}, {}},
                      {{{2, 3}, {0}}, {}}},
        },
        {
            .name = "one_hot",
            .doc = "For each id a row with 1 at its place and 0 elsewhere, as a new last axis.",
            .edge = "An id that is no class gives a row of zeros.",
            .traits = Trait::shaped,
            .dtypes = kIntegers,
            .infer = infer_one_hot,
            .implementations = {{.name = "compare", .build = build_one_hot}},
            .sample = {.low = -1, .high = 5},
            .cases = {{{{6}}, {}, Shape{6, 4}},
                      {{{2, 3}}, {}, Shape{2, 3, 5}},
                      {{{}}, {}, Shape{3}},
                      {{{0}}, {}, Shape{0, 3}},
                      {{{2}}, {}, Shape{2, 0}}},
        },
        {
            .name = "cross_entropy",
            .doc = "Mean of the negative logarithms of the softmax of logits [..., classes] at the "
                   "targets, over the targets that are not ignore_index; label_smoothing gives "
                   "that share of each target to all classes alike.",
            .edge = "A target that is no class and not ignored makes the result NaN, as does "
                    "NaN or +inf in a row that counts; where no target counts it is NaN. f16 and "
                    "bf16 are computed in f32.",
            .min_inputs = 2,
            .max_inputs = 2,
            .dtypes = kIntegers,
            .attrs = {{"label_smoothing", AttrKind::real}, {"ignore_index", AttrKind::integer}},
            .infer = infer_cross_entropy,
            .implementations = {{.name = "log_softmax", .build = build_cross_entropy}},
            .gradient = cross_entropy_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = 0, .high = 3},
            .cases = {{{{6, 4}, {6}}, {0.0, std::int64_t{-100}}},
                      {{{2, 3, 5}, {2, 3}}, {0.25, ignored}},
                      {{{3}, {}}, {0.0, std::int64_t{-100}}},
                      {{{0, 3}, {0}}, {0.0, std::int64_t{-100}}}},
        },
        {
            .name = "dropout",
            .doc = "Each element divided by 1 - p, or 0 with probability p, as a key (u64, rank 0) "
                   "draws.",
            .edge = "An element is 0 where random_uniform of the key at its position, in f32, is "
                    "below p. p = 0 gives x, p = 1 zeros; NaN and inf are dropped like others.",
            .min_inputs = 2,
            .max_inputs = 2,
            .dtypes = {u64},
            .attrs = {{"p", AttrKind::real}},
            .infer = infer_dropout,
            .implementations = {{.name = "uniform", .build = build_dropout}},
            .tolerance = {.ulps = 2},
            .cases = {{{{40}, {}}, {0.25}},
                      {{{3, 4}, {}}, {0.0}},
                      {{{3, 4}, {}}, {1.0}},
                      {{{}, {}}, {0.5}},
                      {{{0, 3}, {}}, {0.5}}},
        },
    };
}

}  // namespace lazuli::ops
