#include <fmt/format.h>

#include <algorithm>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

enum : int { kLhsContract, kRhsContract, kLhsBatch, kRhsBatch };

bool contains(const Ints& list, int axis) {
    return std::find(list.begin(), list.end(), axis) != list.end();
}

Ints free_axes(int rank, const Ints& contract, const Ints& batch) {
    Ints out;
    for (int i = 0; i < rank; ++i) {
        if (!contains(contract, i) && !contains(batch, i)) out.push_back(i);
    }
    return out;
}

void check_side(const InferArgs& args, const Ints& contract, const Ints& batch,
                const Shape& shape) {
    Ints all;
    for (const Ints* list : {&contract, &batch}) {
        for (const std::int64_t axis : *list) {
            (void)ensure_axis(args.op.name, axis, shape);
            if (contains(all, static_cast<int>(axis))) {
                throw IndexError(
                    fmt::format("{}: axis {} of {} stands twice", args.op.name, axis, shape.str()));
            }
            all.push_back(axis);
        }
    }
}

TensorSpec infer_dot(const InferArgs& args) {
    const TensorSpec& a = *args.inputs[0];
    const TensorSpec& b = *args.inputs[1];
    const Ints lc = args.attrs.list(kLhsContract);
    const Ints rc = args.attrs.list(kRhsContract);
    const Ints lb = args.attrs.list(kLhsBatch);
    const Ints rb = args.attrs.list(kRhsBatch);
    if (a.dtype != b.dtype) {
        throw DTypeError(fmt::format("{}: operands have different types: {} and {}", args.op.name,
                                     a.str(), b.str()));
    }
    if (lc.rank() != rc.rank() || lb.rank() != rb.rank()) {
        throw ArgumentError(fmt::format("{}: axes come in pairs: contract {} x {}, batch {} x {}",
                                        args.op.name, lc.str(), rc.str(), lb.str(), rb.str()));
    }
    check_side(args, lc, lb, a.shape);
    check_side(args, rc, rb, b.shape);
    const auto require_equal = [&](const Ints& left, const Ints& right, const char* what) {
        for (int i = 0; i < left.rank(); ++i) {
            const Dim da = a.shape.dim(static_cast<int>(left[i]));
            const Dim db = b.shape.dim(static_cast<int>(right[i]));
            if (equal(da, db) != Truth::yes) {
                throw ShapeError(
                    fmt::format("{}: {} dimensions differ: {} and {} ({} vs {})", args.op.name,
                                what, a.shape.str(), b.shape.str(), da.str(), db.str()),
                    a.shape.str(), b.shape.str());
            }
        }
    };
    require_equal(lc, rc, "contracted");
    require_equal(lb, rb, "batch");
    TensorSpec out{a.dtype, {}};
    for (const std::int64_t axis : lb) out.shape.push_back(a.shape.dim(static_cast<int>(axis)));
    for (const std::int64_t axis : free_axes(a.shape.rank(), lc, lb))
        out.shape.push_back(a.shape.dim(static_cast<int>(axis)));
    for (const std::int64_t axis : free_axes(b.shape.rank(), rc, rb))
        out.shape.push_back(b.shape.dim(static_cast<int>(axis)));
    return out;
}

void evaluate_dot(const EvalArgs& args) {
    const Shape& sa = args.inputs[0].spec->shape;
    const Shape& sb = args.inputs[1].spec->shape;
    const Ints lc = args.attrs.list(kLhsContract);
    const Ints rc = args.attrs.list(kRhsContract);
    const Ints lb = args.attrs.list(kLhsBatch);
    const Ints rb = args.attrs.list(kRhsBatch);
    const Ints da = dense_strides(sa);
    const Ints db = dense_strides(sb);
    const auto pick = [](const Ints& from, const Ints& axes) {
        Ints out;
        for (const std::int64_t axis : axes) out.push_back(from[static_cast<int>(axis)]);
        return out;
    };
    // Offsets of the result's positions in each operand: an operand stands still along the other's
    // free axes.
    const Ints lf = free_axes(sa.rank(), lc, lb);
    const Ints rf = free_axes(sb.rank(), rc, rb);
    Ints a_strides = pick(da, lb);
    Ints b_strides = pick(db, rb);
    for (const std::int64_t axis : lf) {
        a_strides.push_back(da[static_cast<int>(axis)]);
        b_strides.push_back(0);
    }
    for (const std::int64_t axis : rf) {
        a_strides.push_back(0);
        b_strides.push_back(db[static_cast<int>(axis)]);
    }
    // Offsets along the contracted axes, once for all results.
    const Shape inner(pick(sa, lc).dims());
    std::vector<std::int64_t> ka;
    std::vector<std::int64_t> kb;
    for_each_offset(inner, pick(da, lc), [&](std::int64_t, std::int64_t o) { ka.push_back(o); });
    for_each_offset(inner, pick(db, rc), [&](std::int64_t, std::int64_t o) { kb.push_back(o); });

    std::vector<std::int64_t> a_base;
    for_each_offset(args.spec->shape, a_strides,
                    [&](std::int64_t, std::int64_t o) { a_base.push_back(o); });
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (!std::is_same_v<T, bool>) {
            const T* a = args.inputs[0].as<T>();
            const T* b = args.inputs[1].as<T>();
            for_each_offset(args.spec->shape, b_strides, [&](std::int64_t i, std::int64_t b_base) {
                const std::int64_t base = a_base[static_cast<std::size_t>(i)];
                if constexpr (std::is_integral_v<T>) {
                    std::uint64_t total = 0;
                    for (std::size_t k = 0; k < ka.size(); ++k) {
                        total += static_cast<std::uint64_t>(a[base + ka[k]]) *
                                 static_cast<std::uint64_t>(b[b_base + kb[k]]);
                    }
                    args.result<T>()[i] = static_cast<T>(total);
                } else {
                    Compute<T> total{};
                    for (std::size_t k = 0; k < ka.size(); ++k) {
                        total += static_cast<Compute<T>>(a[base + ka[k]]) *
                                 static_cast<Compute<T>>(b[b_base + kb[k]]);
                    }
                    args.result<T>()[i] = convert<T>(total);
                }
            });
        }
    });
}

/// What flows back to one operand: the cotangent times the other operand, over the axes that the
/// other has alone. `other_first` is the position of the other's axes in the result.
Value flow_to(const Value& cotangent, const Value& other, int rank, const Ints& contract,
              const Ints& batch, const Ints& other_contract, const Ints& other_batch,
              int other_first) {
    const Ints free = free_axes(rank, contract, batch);
    const Ints other_free = free_axes(other.shape().rank(), other_contract, other_batch);
    const auto run = [](int from, int count) {
        Ints out;
        for (int i = 0; i < count; ++i) out.push_back(from + i);
        return out;
    };
    const Value flow = dot_general(cotangent, conjugate(other), run(other_first, other_free.rank()),
                                   other_free, run(0, batch.rank()), other_batch);
    // Its axes: the batches, the operand's free ones, and the other's contracted ones in order.
    Ints order = Shape::filled(rank, 0);
    int at = 0;
    for (const std::int64_t axis : batch) order[static_cast<int>(axis)] = at++;
    for (const std::int64_t axis : free) order[static_cast<int>(axis)] = at++;
    for (int i = 0; i < contract.rank(); ++i) {
        const auto before = std::count_if(other_contract.begin(), other_contract.end(),
                                          [&](std::int64_t a) { return a < other_contract[i]; });
        order[static_cast<int>(contract[i])] = at + before;
    }
    return permute(flow, Axes(order));
}

Gradients dot_gradient(const GradientArgs& g) {
    const Ints contract[] = {g.call.attrs.list(0), g.call.attrs.list(1)};
    const Ints batch[] = {g.call.attrs.list(2), g.call.attrs.list(3)};
    const int ranks[] = {g[0].shape().rank(), g[1].shape().rank()};
    const int batches = batch[0].rank();
    const int firsts = ranks[0] - batches - contract[0].rank();
    return {flow_to(g.cotangent(), g[1], ranks[0], contract[0], batch[0], contract[1], batch[1],
                    batches + firsts),
            flow_to(g.cotangent(), g[0], ranks[1], contract[1], batch[1], contract[0], batch[0],
                    batches)};
}

}  // namespace

std::vector<OpDef> contraction() {
    return {
        {
            .name = "dot_general",
            .doc = "Sum of products over pairs of axes; result dimensions are the batch axes, then "
                   "the first operand's free ones, then the second's.",
            .edge = "Over no element 0. Integers wrap. f16, bf16 and f32 are summed in f64 and "
                    "rounded once.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = Trait::keep_if_held | Trait::promotes,
            .dtypes = kNumeric,
            .attrs = {{"lhs_contract", AttrKind::axes},
                      {"rhs_contract", AttrKind::axes},
                      {"lhs_batch", AttrKind::axes},
                      {"rhs_batch", AttrKind::axes}},
            .infer = infer_dot,
            .evaluate = evaluate_dot,
            .lowering = Lowering::contraction,
            .kernels = {"microkernel", "onednn", "loops"},
            .gradient = dot_gradient,
            .tolerance = {.ulps = 64, .absolute = 1e-5},
            .sample = {.low = -2, .high = 2},
            .cases = {{{{3, 4}, {4, 5}}, {Ints{1}, Ints{0}, Ints{}, Ints{}}},
                      {{{2, 3, 4}, {2, 5, 4}}, {Ints{2}, Ints{2}, Ints{0}, Ints{0}}},
                      {{{3, 4}, {4, 3}}, {Ints{0, 1}, Ints{1, 0}, Ints{}, Ints{}}},
                      {{{3}, {2}}, {Ints{}, Ints{}, Ints{}, Ints{}}},
                      {{{2, 0}, {0, 3}}, {Ints{1}, Ints{0}, Ints{}, Ints{}}},
                      {{{0, 2}, {2, 3}}, {Ints{1}, Ints{0}, Ints{}, Ints{}}}},
        },
    };
}

}  // namespace lazuli::ops
