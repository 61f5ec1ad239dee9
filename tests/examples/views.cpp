#include "example.h"

// Symbolic sizes, and how the elements of a tensor are found in a buffer.

namespace examples {

namespace {

void expressions(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((ExprContext, ExprContext::variable, Expr::str), "2*i + j", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        const Expr j = context.variable("j", 0, 3);
        return (i + j + i).str();
    });
    LAZULI_EXAMPLE((ExprContext::constant, Expr::is_constant, Expr::constant), "true, 7, false",
                   [] {
                       ExprContext context;
                       const Expr i = context.variable("i", 0, 9);
                       const Expr seven = context.constant(3) + 4;
                       return std::tuple(seven.is_constant(), seven.constant(), i.is_constant());
                   });
    LAZULI_EXAMPLE((ExprContext::counter, Expr::bounds), "0 to 4", [] {
        ExprContext context;
        return context.counter("i", context.constant(5)).bounds();
    });
    LAZULI_EXAMPLE((Expr::vars, Expr::name), "2, j, i", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        const Expr j = context.variable("j", 0, 3);
        const std::vector<Expr> vars = (i * 4 + j).vars();
        return std::tuple(vars.size(), vars[1].str(), std::string(i.name()));
    });
    LAZULI_EXAMPLE(Expr::evaluate, "31", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        return (i * 4 + 3).evaluate([](Expr) { return 7; });
    });
    LAZULI_EXAMPLE(Expr::substitute, "4*j + 3", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        const Expr j = context.variable("j", 0, 3);
        return (i * 4 + 3).substitute([&](Expr) { return j; }).str();
    });
    LAZULI_EXAMPLE(Expr::assuming, "i", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        return mod(i, 5).assuming(less(i, context.constant(5))).str();
    });
    LAZULI_EXAMPLE(
        (ExprContext::parse, ExprContext::import, ExprContext::size), "2*i + 1, true", [] {
            ExprContext context;
            const Expr i = context.variable("i", 0, 9);
            const Expr read = context.parse("i + 1 + i", [&](std::string_view) { return i; });
            ExprContext other;
            const Expr there = other.import(read);
            return std::pair(there.str(), other.size() > 0);
        });
    LAZULI_EXAMPLE((prove, at_least), "yes, depends", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        return std::pair(prove(at_least(i * 2, i)), prove(at_least(i, context.constant(5))));
    });
    LAZULI_EXAMPLE((less, equal, both, negated), "yes, no", [] {
        ExprContext context;
        const Expr i = context.variable("i", 0, 9);
        const Expr inside = both(at_least(i, context.constant(0)), less(i, context.constant(10)));
        return std::pair(prove(inside), prove(both(inside, negated(equal(i, i)))));
    });
}

void sizes(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((Dim, dim, Dim::str), "4*batch + 1", (dim("batch", 1, 64) * 4 + 1).str());
    LAZULI_EXAMPLE(any_dim, "false, 1", [] {
        const Dim one = any_dim();
        return std::pair(one == any_dim(), one.bounds().low);
    });
    LAZULI_EXAMPLE((Dim::is_concrete, Dim::value), "true, 7, false", [] {
        return std::tuple(Dim(7).is_concrete(), Dim(7).value(), dim("batch", 1, 64).is_concrete());
    });
    LAZULI_EXAMPLE((Dim::bounds, Dim::expr), "5 to 257, 4*batch + 1", [] {
        const Dim size = dim("batch", 1, 64) * 4 + 1;
        return std::pair(size.bounds(), size.expr());
    });
    LAZULI_EXAMPLE(Dim::evaluate, "33", [] {
        const std::pair<std::string, std::int64_t> bindings[] = {{"batch", 8}};
        return (dim("batch", 1, 64) * 4 + 1).evaluate(bindings);
    });
    LAZULI_EXAMPLE((Dim::raw, Dim::from_raw), "true", [] {
        const Dim size = dim("batch", 1, 64) * 4;
        return Dim::from_raw(size.raw()) == size;
    });
    LAZULI_EXAMPLE(operator%, "0", dim("batch", 1, 64) * 4 % 4);
}

void views_of_buffers(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((View::contiguous, View::is_contiguous, View::numel), "[3, 1], true, 6", [] {
        const Dim shape[] = {2, 3};
        const View view = View::contiguous(shape);
        return std::tuple(view.strides, view.is_contiguous(), view.numel());
    });
    LAZULI_EXAMPLE(merge, "[[2, 3], [3, 1]]", [] {
        const Dim flat[] = {6};
        const Dim rows[] = {2, 3};
        const std::optional<View> one = merge(View::contiguous(flat), View::contiguous(rows));
        return std::vector{one->shape, one->strides};
    });
    LAZULI_EXAMPLE((ShapeTracker, ShapeTracker::shape, ShapeTracker::rank, ShapeTracker::size,
                    ShapeTracker::top, ShapeTracker::below),
                   "[2, 3], 2, 1, [3, 1], 0", [] {
                       const ShapeTracker rows({2, 3});
                       return std::tuple(rows.shape(), rows.rank(), rows.size(), rows.top().strides,
                                         rows.below().size());
                   });
    LAZULI_EXAMPLE((ShapeTracker::permute, ShapeTracker::at, ShapeTracker::real_strides),
                   "2, [1, 3]", [] {
                       const int turned[] = {1, 0};
                       const ShapeTracker columns = ShapeTracker({2, 3}).permute(turned);
                       const std::int64_t position[] = {2, 0};
                       return std::pair(columns.at(position), columns.real_strides());
                   });
    LAZULI_EXAMPLE((ShapeTracker::pad, ShapeTracker::at), "none, 0, none", [] {
        const DimRange around[] = {{1, 1}};
        const ShapeTracker padded = ShapeTracker({2}).pad(around);
        const auto at = [&](std::int64_t i) { return padded.at(std::span(&i, 1)); };
        return std::tuple(at(0), at(1), at(3));
    });
    LAZULI_EXAMPLE(
        (ShapeTracker::reshape, ShapeTracker::expand, ShapeTracker::shrink, ShapeTracker::flip,
         ShapeTracker::stride, describe),
        "shrink[(1,6)] > stride(2) > reshape[3,1] > flip(0) > expand[3,4]", [] {
            const Dim column[] = {6, 1};
            const Dim wide[] = {6, 4};
            const DimRange some[] = {{1, 6}, {0, 4}};
            const int first[] = {0};
            const std::int64_t steps[] = {2, 1};
            const Dim base[] = {6};
            const ShapeTracker moved =
                ShapeTracker({6}).reshape(column).expand(wide).shrink(some).flip(first).stride(
                    steps);
            return describe(moved, base);
        });
    LAZULI_EXAMPLE((ShapeTracker::reshape_to, ShapeTracker::permute_by, ShapeTracker::expand_to,
                    ShapeTracker::pad_by, ShapeTracker::shrink_to, ShapeTracker::flip_along,
                    ShapeTracker::stride_by),
                   "[2, 4, 2]", [] {
                       ShapeTracker tracker({6});
                       const Dim rows[] = {2, 3, 1};
                       tracker.reshape_to(rows);
                       const int turned[] = {1, 0, 2};
                       tracker.permute_by(turned);  // [3, 2, 1]
                       const Dim wide[] = {3, 2, 2};
                       tracker.expand_to(wide);
                       const DimRange around[] = {{0, 0}, {1, 1}, {0, 0}};
                       tracker.pad_by(around);  // [3, 4, 2]
                       const DimRange most[] = {{0, 3}, {0, 4}, {0, 2}};
                       tracker.shrink_to(most);
                       const int first[] = {0};
                       tracker.flip_along(first);
                       const std::int64_t steps[] = {2, 1, 1};
                       tracker.stride_by(steps);  // [2, 4, 2]
                       return tracker.shape();
                   });
    LAZULI_EXAMPLE((ShapeTracker::strided, ShapeTracker::put_on_top), "[0, 4, 8], true", [] {
        const View diagonal = {.shape = {3}, .strides = {4}};
        const ShapeTracker taken = ShapeTracker({3, 3}).strided(diagonal);
        ShapeTracker changed({3, 3});
        changed.put_on_top(diagonal);
        std::vector<std::int64_t> indices;
        for (std::int64_t i = 0; i < 3; ++i) indices.push_back(*taken.at(std::span(&i, 1)));
        return std::pair(indices, changed == taken);
    });
    LAZULI_EXAMPLE((ShapeTracker::compose, ShapeTracker::is_contiguous), "false, true", [] {
        const int turned[] = {1, 0};
        const ShapeTracker once = ShapeTracker({2, 3}).permute(turned);
        const ShapeTracker back = ShapeTracker({3, 2}).permute(turned);
        return std::pair(once.is_contiguous(), once.compose(back).is_contiguous());
    });
    LAZULI_EXAMPLE(
        (ShapeTracker::of_views, ShapeTracker::simplify, ShapeTracker::to_view), "2, 1, true", [] {
            const Dim flat[] = {6};
            const Dim rows[] = {2, 3};
            const ShapeTracker two =
                ShapeTracker::of_views({View::contiguous(flat), View::contiguous(rows)});
            return std::tuple(two.size(), two.simplify().size(), two.to_view().has_value());
        });
    LAZULI_EXAMPLE((ShapeTracker::is_concrete, ShapeTracker::vars, ShapeTracker::bind_vars),
                   "false, [batch], [8, 3]", [] {
                       const ShapeTracker rows({dim("batch", 1, 64), 3});
                       const std::pair<std::string, std::int64_t> bindings[] = {{"batch", 8}};
                       return std::tuple(rows.is_concrete(), rows.vars(),
                                         rows.bind_vars(bindings).shape());
                   });
    LAZULI_EXAMPLE((ShapeTracker::size_needed, ShapeTracker::ensure_fits),
                   "5, window: [3] with strides [2] from 0 reaches 0 to 4, outside [4]", [] {
                       const View every_second = {.shape = {3}, .strides = {2}};
                       const ShapeTracker tracker(every_second);
                       const Dim base[] = {4};
                       std::string message;
                       try {
                           tracker.ensure_fits("window", base);
                       } catch (const Error& error) {
                           message = error.what();
                       }
                       return std::pair(tracker.size_needed(), message);
                   });
    LAZULI_EXAMPLE(ShapeTracker::index_expr, "i0 + 3*i1, 1", [] {
        const int turned[] = {1, 0};
        ExprContext context;
        const IndexExpr found = ShapeTracker({2, 3}).permute(turned).index_expr(context);
        return std::pair(found.index.str(), found.valid.str());
    });
    LAZULI_EXAMPLE(parse_movements, "[6, 6]", [] {
        const Dim base[] = {24};
        return parse_movements("reshape[4,6] > permute(1,0) > pad[(0,0),(1,1)]", base).shape();
    });
}

}  // namespace

Examples views() {
    Examples out;
    expressions(out);
    sizes(out);
    views_of_buffers(out);
    return out;
}

}  // namespace examples
