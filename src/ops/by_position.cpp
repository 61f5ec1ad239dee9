// Ops whose elements depend on where they stand: triangles, and positions as angles.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lazuli/error.h"
#include "ops/build.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_triangle(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    if (x.shape.rank() < 2) {
        throw ShapeError(
            fmt::format("{}: needs at least two dimensions, given {}", args.op.name, x.str()),
            "rank >= 2", x.shape.str());
    }
    return x;
}

template <bool Lower>
Value build_triangle(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Shape shape = in[0].shape();
    const Shape matrix{shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1)};
    const Value row = positions(builder, matrix, 0, i64);
    const Value column = positions(builder, matrix, 1, i64);
    // Diagonals beyond the corners are as those at the corners, or as any beyond them.
    const auto farthest = [](Dim size) {
        return size.is_concrete() ? size.value() : std::int64_t{1} << 62;
    };
    const std::int64_t diagonal =
        std::clamp(args.attrs.integer(0), -farthest(matrix.dim(0)), farthest(matrix.dim(1)));
    const Value edge = row + constant_like(row, diagonal);
    return select(Lower ? le(column, edge) : ge(column, edge), in[0], constant_like(in[0], 0));
}

enum : int { kBase, kInterleaved };

TensorSpec infer_rope(const InferArgs& args) {
    const TensorSpec& x = *args.inputs[0];
    const TensorSpec& at = *args.inputs[1];
    if (!is_floating(x.dtype)) {
        throw DTypeError(
            fmt::format("rope: turns floats, not {} (positions {})", x.str(), at.str()));
    }
    const int rank = x.shape.rank();
    if (rank < 2 || equal(x.shape.dim(rank - 1) % 2, 0) != Truth::yes) {
        throw ShapeError(fmt::format("rope: needs [..., tokens, length] with an even length, given "
                                     "{} (positions {})",
                                     x.str(), at.str()),
                         "an even length", x.shape.str());
    }
    const Shape tokens(x.shape.raw().first(x.shape.size() - 1));
    if (!broadcasts_to(at.shape, tokens)) {
        throw ShapeError(fmt::format("rope: positions {} do not broadcast to the tokens {} of {}",
                                     at.shape.str(), tokens.str(), x.str()),
                         tokens.str(), at.shape.str());
    }
    if (!(args.attrs.real(kBase) > 0)) {
        throw ArgumentError(
            fmt::format("rope: base {} must be above 0 ({})", args.attrs.real(kBase), x.str()));
    }
    return x;
}

Value build_rope(ProgramBuilder& builder, Inputs in, const InferArgs& args) {
    const Shape shape = in[0].shape();
    const int rank = shape.rank();
    const Dim half = shape.dim(rank - 1) / 2;
    if (is_empty(args, shape.count())) return in[0];
    // In f64: a position of many thousands times a rate leaves few digits of the angle in f32.
    const Value number = positions(builder, {half}, 0, f64);
    const double turn = -std::log2(args.attrs.real(kBase));
    const Value rate = half.is_concrete()
                           ? constant_like(number, turn / static_cast<double>(half.value()))
                           : turn / number_of(builder, half, f64);
    const Value at = with_axis(cast(in[1], f64), in[1].shape().rank());
    const Value angle = at * exp2(number * rate);
    const Value x = widened(in[0]);
    const Value along = narrowed(cos(angle), x.dtype());
    const Value across = narrowed(sin(angle), x.dtype());
    // Pairs lie side by side, or half the length apart.
    const bool interleaved = args.attrs.boolean(kInterleaved);
    const int pair = interleaved ? rank : rank - 1;
    Shape pairs = shape;
    pairs.push_back(2);
    pairs.set(rank - 1, half);
    if (!interleaved) swap(pairs[rank - 1], pairs[rank]);
    const Value paired = reshape(x, pairs);
    const auto side = [&](std::int64_t i) {
        Shape flat = shape;
        flat.set(rank - 1, half);
        return reshape(part_of_axis(paired, pair, i, 1), flat);
    };
    const Value a = side(0);
    const Value b = side(1);
    const Value turned[] = {with_axis(a * along - b * across, pair),
                            with_axis(b * along + a * across, pair)};
    return narrowed(reshape(joined(turned, pair), shape), in[0].dtype());
}

std::vector<Case> triangle_cases() {
    return {{{{4, 5}}, {std::int64_t{0}}},
            {{{2, 3, 3}}, {std::int64_t{-1}}},
            {{{3, 4}}, {std::int64_t{2}}},
            {{{1, 1}}, {std::int64_t{0}}},
            {{{0, 3}}, {std::int64_t{1}}}};
}

}  // namespace

std::vector<OpDef> at_positions() {
    return {
        {
            .name = "tril",
            .doc = "The matrix in the last two dimensions up to its k-th diagonal, 0 above it.",
            .edge = "Elements are taken as they are; NaN above the diagonal becomes 0.",
            .traits = Trait::same_type,
            .dtypes = kAllTypes,
            .attrs = {{"k", AttrKind::integer}},
            .infer = infer_triangle,
            .implementations = {{.name = "select", .build = build_triangle<true>}},
            .cases = triangle_cases(),
        },
        {
            .name = "triu",
            .doc = "The matrix in the last two dimensions from its k-th diagonal on, 0 below it.",
            .edge = "Elements are taken as they are; NaN below the diagonal becomes 0.",
            .traits = Trait::same_type,
            .dtypes = kAllTypes,
            .attrs = {{"k", AttrKind::integer}},
            .infer = infer_triangle,
            .implementations = {{.name = "select", .build = build_triangle<false>}},
            .cases = triangle_cases(),
        },
        {
            .name = "rope",
            .doc = "Pairs of elements of [..., tokens, length] turned by their token's position "
                   "times base^(-2i / length), i counting the pairs; a pair lies half the length "
                   "apart, or side by side where `interleaved`.",
            .edge = "Angles are computed in f64, f16 and bf16 elements in f32. NaN and inf spread "
                    "over their pair.",
            .min_inputs = 2,
            .max_inputs = 2,
            .dtypes = kReal,
            .attrs = {{"base", AttrKind::real}, {"interleaved", AttrKind::boolean}},
            .infer = infer_rope,
            .implementations = {{.name = "formula", .build = build_rope}},
            .tolerance = {.ulps = 16, .absolute = 1e-5},
            .sample = {.low = -4, .high = 40},
            .cases = {{{{5, 8}, {5}}, {10000.0, false}},
                      {{{2, 3, 5, 6}, {5}}, {10000.0, true}},
                      {{{2, 5, 2}, {2, 5}}, {100.0, false}},
                      {{{3, 4}, {}}, {500.0, true}},
                      {{{0, 4}, {0}}, {10000.0, false}}},
        },
    };
}

}  // namespace lazuli::ops
