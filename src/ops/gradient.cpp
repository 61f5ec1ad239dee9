#include "ops/gradient.h"

#include <algorithm>
#include <numeric>

#include "ir/placement.h"
#include "lazuli/error.h"
#include "ops/bundle.h"

namespace lazuli::ops {

Value fitted(const Value& x, const Shape& shape) {
    const Shape from = x.shape();
    if (from == shape) return x;
    if (broadcasts_to(from, shape)) return broadcast_to(x, shape);
    const int lead = from.rank() - shape.rank();
    Ints axes;
    for (int i = 0; i < from.rank(); ++i) {
        if (i < lead || (shape.dim(i - lead) == Dim(1) && from.dim(i) != Dim(1))) axes.push_back(i);
    }
    const Value summed = axes.rank() > 0 ? sum(x, Axes(axes), true) : x;
    return summed.shape() == shape ? summed : reshape(summed, shape);
}

Gradients shared_by(const GradientArgs& g, const Value& first, const Value& second) {
    const Value& all = g.cotangent();
    const Value none = constant_like(all, 0);
    const Value half = select(second, none, all * 0.5);
    return {select(first, all, half), select(second, all, select(first, none, all * 0.5))};
}

Value scattered(const Value& x, const Value& updates, const Value& positions, int axis,
                Scatter mode) {
    const Value operands[] = {x, updates, positions};
    AttrWords words;
    words.integer(axis);
    words.integer(static_cast<std::int64_t>(mode));
    return x.builder().op(require_op("scatter"), operands, words.words());
}

Value part_of(const Value& bundle, std::span<const TensorSpec> results, std::size_t i) {
    AttrWords words;
    words.integer(bundle_offsets(results)[i].raw());
    return bundle.builder().op(require_op("part"), {&bundle, 1}, words.words(), &results[i]);
}

Value part_of(const GradientArgs& g, std::size_t i) {
    return part_of(g.result, g.call.op.results(g.call), i);
}

std::vector<Value> parts_of(ProgramBuilder& builder, std::string_view op,
                            std::span<const Value> inputs, const AttrWords& words) {
    const OpDef& def = op_def(require_op(op));
    std::vector<TensorSpec> specs;
    for (const Value& input : inputs) specs.push_back(input.spec());
    std::vector<const TensorSpec*> pointers;
    for (const TensorSpec& spec : specs) pointers.push_back(&spec);
    const std::vector<TensorSpec> results = def.results({def, pointers, Attrs(def, words.words())});
    const Value bundle = builder.op(require_op(op), inputs, words.words());
    std::vector<Value> out;
    for (std::size_t i = 0; i < results.size(); ++i) out.push_back(part_of(bundle, results, i));
    return out;
}

Value with_reduced_axes(const Value& x, const GradientArgs& g) {
    const Shape& from = g.call.inputs[0]->shape;
    Shape shape = from;
    for (const std::int64_t axis : g.call.attrs.list(0)) shape.set(static_cast<int>(axis), 1);
    return x.shape() == shape ? x : reshape(x, shape);
}

namespace {

/// One view, backwards: from its positions to a row of those below it.
class Transposer {
   public:
    /// `value` has one size an axis.
    Transposer(Value value, const View& view, Dim count)
        : value_(std::move(value)), offset_(view.offset), count_(count) {
        for (std::size_t i = 0; i < view.shape.size(); ++i)
            axes_.push_back({view.shape[i], view.strides[i]});
        if (!view.mask.empty()) keep_valid(view.mask);
    }

    Value run() {
        if (std::ranges::any_of(axes_, [](const Axis& a) { return a.size == Dim(0); }))
            return value_.builder().constant(Scalar(0).as(value_.dtype()),
                                             {value_.dtype(), Shape{count_}});
        add_repeated();
        turn_around();
        sort();
        const std::size_t crowded = first_crowded();
        return crowded == axes_.size() ? spread() : gathered(crowded);
    }

   private:
    struct Axis {
        Dim size;
        Dim stride;
    };
    Transposer(Value value, std::vector<Axis> axes, Dim offset, Dim count)
        : value_(std::move(value)), axes_(std::move(axes)), offset_(offset), count_(count) {}

    Shape sizes() const {
        Shape out;
        for (const Axis& axis : axes_) out.push_back(axis.size);
        return out;
    }

    /// Padding has no source.
    void keep_valid(const DimRanges& mask) {
        Ints before;
        Ints after;
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            before.push_back(Dim(0) - mask[i].begin);
            after.push_back(mask[i].end - axes_[i].size);
            axes_[i].size = mask[i].end - mask[i].begin;
            offset_ = offset_ + mask[i].begin * axes_[i].stride;
        }
        value_ = padded(value_, before, after, Scalar(0).as(value_.dtype()));
    }

    /// Axes that read the same elements again and again; and those of one position, which say
    /// nothing.
    void add_repeated() {
        Ints repeated;
        std::vector<Axis> left;
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            if (axes_[i].size == Dim(1)) continue;
            if (axes_[i].stride == Dim(0)) {
                repeated.push_back(static_cast<std::int64_t>(i));
            } else {
                left.push_back(axes_[i]);
            }
        }
        if (repeated.rank() > 0) value_ = sum(value_, Axes(repeated), false);
        axes_ = std::move(left);
        if (!(value_.shape() == sizes())) value_ = reshape(value_, sizes());
    }

    void turn_around() {
        Ints backwards;
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            if (at_least(axes_[i].stride, 1) == Truth::yes) continue;
            if (at_least(0, axes_[i].stride) != Truth::yes)
                throw ShapeError("a gradient of a view whose direction depends on its sizes",
                                 "a stride of one sign", axes_[i].stride.str());
            backwards.push_back(static_cast<std::int64_t>(i));
            offset_ = offset_ + (axes_[i].size - 1) * axes_[i].stride;
            axes_[i].stride = Dim(0) - axes_[i].stride;
        }
        if (backwards.rank() > 0) value_ = flip(value_, Axes(backwards));
    }

    void sort() {
        std::vector<int> order(axes_.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](int a, int b) {
            const Dim x = axes_[static_cast<std::size_t>(a)].stride;
            const Dim y = axes_[static_cast<std::size_t>(b)].stride;
            return less(y, x) == Truth::yes;
        });
        if (std::ranges::is_sorted(order)) return;
        std::vector<Axis> sorted;
        Ints axes;
        for (const int i : order) {
            sorted.push_back(axes_[static_cast<std::size_t>(i)]);
            axes.push_back(i);
        }
        axes_ = std::move(sorted);
        value_ = permute(value_, Axes(axes));
    }

    /// The innermost axis whose steps are shorter than what lies inside of it, so that elements may
    /// be read twice; the number of axes where there is none.
    std::size_t first_crowded() const {
        Dim extent = 1;
        for (std::size_t i = axes_.size(); i > 0; --i) {
            if (at_least(axes_[i - 1].stride, extent) != Truth::yes) return i - 1;
            extent = (axes_[i - 1].size - 1) * axes_[i - 1].stride + extent;
        }
        return axes_.size();
    }

    /// Elements at their distances with zeros between: each step of an axis is filled up to the
    /// length of its stride, from the innermost on.
    Value spread() const {
        Value row = value_;
        Shape shape = sizes();
        shape.push_back(1);
        row = reshape(row, shape);
        for (std::size_t i = axes_.size(); i > 0; --i) {
            const int last = row.shape().rank() - 1;
            row = extended(row, 0, axes_[i - 1].stride - row.shape().dim(last));
            Shape joined = row.shape();
            const Dim whole = joined.dim(last - 1) * joined.dim(last);
            joined = Shape(joined.raw().first(static_cast<std::size_t>(last)));
            joined.set(last - 1, whole);
            row = reshape(row, joined);
        }
        return extended(row, offset_, count_ - offset_ - row.shape().dim(0));
    }

    /// Zeros before and behind the last axis; fewer than none take some away.
    static Value extended(const Value& x, Dim before, Dim after) {
        if (before == Dim(0) && after == Dim(0)) return x;
        const int rank = x.shape().rank();
        Ints front = Shape::filled(rank, 0);
        Ints back = front;
        front.set(rank - 1, before);
        back.set(rank - 1, after);
        return padded(x, front, back, Scalar(0).as(x.dtype()));
    }

    /// Elements that are read several times: one turn for each position of a short axis among those
    /// that lie in each other's way, or addition by position where all are long.
    Value gathered(std::size_t crowded) const {
        constexpr std::int64_t kShort = 16;
        std::size_t shortest = crowded;
        for (std::size_t i = crowded; i < axes_.size(); ++i) {
            if (less(axes_[i].size, axes_[shortest].size) == Truth::yes) shortest = i;
        }
        if (at_least(kShort, axes_[shortest].size) == Truth::yes &&
            axes_[shortest].size.is_concrete())
            return in_turns(shortest);
        return by_position();
    }

    Value in_turns(std::size_t axis) const {
        std::vector<Axis> left = axes_;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(axis));
        Shape without;
        for (const Axis& a : left) without.push_back(a.size);
        Value total;
        for (std::int64_t k = 0; k < axes_[axis].size.value(); ++k) {
            const Value turn = reshape(part_of_axis(value_, static_cast<int>(axis), k, 1), without);
            const Value row =
                Transposer(turn, left, offset_ + axes_[axis].stride * k, count_).run();
            total = total.defined() ? total + row : row;
        }
        return total;
    }

    Value by_position() const {
        ProgramBuilder& builder = value_.builder();
        Value position = number_of(builder, offset_, i64);
        for (std::size_t i = 0; i < axes_.size(); ++i)
            position = position + positions(builder, sizes(), static_cast<std::int64_t>(i), i64) *
                                      number_of(builder, axes_[i].stride, i64);
        const Shape flat{sizes().count()};
        const Value zeros =
            builder.constant(Scalar(0).as(value_.dtype()), {value_.dtype(), Shape{count_}});
        return scattered(zeros, reshape(value_, flat), reshape(position, flat), 0, Scatter::add);
    }

    Value value_;
    std::vector<Axis> axes_;
    Dim offset_;
    Dim count_;
};

}  // namespace

Value transposed(const Value& cotangent, const ShapeTracker& view, const Shape& base) {
    Value value = cotangent;
    const auto back = [&](const View& one, Dim count) {
        if (!(value.shape() == ir::shape_of(one.shape)))
            value = reshape(value, ir::shape_of(one.shape));
        value = one.is_contiguous() && one.numel() == count ? reshape(value, Shape{count})
                                                            : Transposer(value, one, count).run();
    };
    for (std::size_t i = view.size(); i > 0; --i) {
        const View& one = i == view.size() ? view.top() : view.below()[i - 1];
        back(one, i > 1 ? view.below()[i - 2].numel() : base.count());
    }
    return reshape(value, base);
}

}  // namespace lazuli::ops
