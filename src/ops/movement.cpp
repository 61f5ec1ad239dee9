// Ops that rearrange elements and compute nothing. They move whole elements, so their meaning is
// the same for every type: a change of the view through which the operand is read.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/placement.h"
#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

/// The meaning of every movement: each element comes from where the view says.
void evaluate_moved(const EvalArgs& args) {
    const Shape& from = args.inputs[0].spec->shape;
    Placement placement{ShapeTracker(ir::dims_of(from))};
    args.op.move(placement, args.attrs, args.spec->shape);
    const std::size_t size = size_of(args.spec->dtype);
    alignas(16) unsigned char fill[16];
    store_scalar(placement.fill.value_or(0), args.spec->dtype, fill);
    const auto* in = static_cast<const unsigned char*>(args.inputs[0].data);
    auto* out = static_cast<unsigned char*>(args.out);
    const std::int64_t count = args.spec->shape.numel();
    std::vector<std::int64_t> position(args.spec->shape.size(), 0);
    for (std::int64_t i = 0; i < count; ++i, out += size) {
        const auto index = placement.tracker.at(position);
        std::memcpy(out, index ? in + static_cast<std::size_t>(*index) * size : fill, size);
        for (std::size_t d = position.size();
             d > 0 && ++position[d - 1] == args.spec->shape[static_cast<int>(d - 1)];)
            position[--d] = 0;
    }
}

void move_view(Placement& placement, const Attrs& attrs, const Shape& result) {
    const Placement next = attrs.placement(0, result);
    placement = {placement.tracker.compose(next.tracker), next.fill};
}

TensorSpec infer_view(const InferArgs& args);

void require_same_type(const InferArgs& args) {
    if (args.wanted->dtype != args.inputs[0]->dtype) {
        throw DTypeError(fmt::format("{}: {} cannot become {}: the type differs", args.op.name,
                                     args.inputs[0]->str(), args.wanted->str()));
    }
}

/// Whether it is at least 0, whatever its variables are.
bool is_size(Dim dim) { return at_least(dim, 0) == Truth::yes; }

/// Whether a list of integers holds sizes that are no numbers. Integers below all sizes are numbers
/// still, which no arithmetic of sizes takes.
bool has_sizes(const Ints& list) {
    return std::ranges::any_of(list.raw(), [](std::int64_t raw) {
        return !Dim::from_raw(raw).is_concrete() && detail::is_expression(raw);
    });
}

/// Entry `i` of a list of integers as a size, where it may be an expression.
Dim entry(const Ints& list, int i) {
    return detail::is_expression(list.raw()[static_cast<std::size_t>(i)]) ? list.dim(i)
                                                                          : Dim(list[i]);
}

TensorSpec infer_reshape(const InferArgs& args) {
    require_same_type(args);
    const Shape& from = args.inputs[0]->shape;
    Shape to = args.wanted->shape;
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("reshape: {} does not fit {}: {}", from.str(),
                                     args.wanted->shape.str(), why),
                         from.str(), args.wanted->shape.str());
    };
    int open = -1;
    Shape known;
    for (int i = 0; i < to.rank(); ++i) {
        if (to.dim(i) == Dim(-1) && open < 0) {
            open = i;
        } else if (!is_size(to.dim(i))) {
            refuse("only one size may be -1 and none may be less");
        } else {
            known.push_back(to.dim(i));
        }
    }
    if (!from.is_concrete() || !known.is_concrete()) {
        const Dim all = from.count();
        if (open >= 0) to.set(open, all / known.count());
        if (equal(to.count(), all) != Truth::yes)
            refuse(fmt::format("{} elements need not be {}", all.str(), to.count().str()));
        return {args.inputs[0]->dtype, std::move(to)};
    }
    if (open >= 0) {
        const std::int64_t rest = known.numel();
        if (rest == 0 || from.numel() % rest != 0)
            refuse(fmt::format("{} elements do not divide into {}", from.numel(), rest));
        to[open] = from.numel() / rest;
    }
    if (to.numel() != from.numel())
        refuse(fmt::format("{} elements against {}", from.numel(), to.numel()));
    return {args.inputs[0]->dtype, std::move(to)};
}

void move_reshape(Placement& placement, const Attrs&, const Shape& result) {
    placement.tracker.reshape_to(ir::dims_of(result));
}

/// Products of sizes and strides stay inside the buffer, except along dimensions of one position,
/// whose strides mean nothing: they may wrap.
std::int64_t times(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

bool reshape_strided(StridedView& view, const Attrs&, const Shape& wanted) {
    if (wanted.rank() > Shape::kInline) return false;
    std::int64_t before = 1;
    for (int i = view.shape.rank() - 1; i >= 0; --i) {
        const std::int64_t size = view.shape[i];
        if (size == 0 || (size != 1 && view.strides[i] != before)) return false;
        before *= size;
    }
    int open = -1;
    std::int64_t known = 1;
    for (int i = 0; i < wanted.rank(); ++i) {
        if (wanted[i] == -1 && open < 0) {
            open = i;
        } else if (wanted[i] < 1 || __builtin_mul_overflow(known, wanted[i], &known)) {
            return false;
        }
    }
    if (open < 0 ? known != before : before % known != 0) return false;
    view.shape = wanted;
    if (open >= 0) view.shape[open] = before / known;
    std::int64_t stride = 1;
    for (int i = wanted.rank() - 1; i >= 0; --i) {
        view.strides[i] = stride;
        stride *= view.shape[i];
    }
    return true;
}

TensorSpec infer_view(const InferArgs& args) {
    require_same_type(args);
    const Placement placement = args.attrs.placement(0, args.wanted->shape);
    placement.tracker.ensure_fits("view", ir::dims_of(args.inputs[0]->shape));
    // One form a view: programs that mean the same are the same.
    AttrWords words;
    words.placement(placement);
    if (!std::ranges::equal(words.words(), args.attrs.words())) {
        throw ArgumentError(fmt::format("view: {} of {} is not in its simplest form",
                                        ir::placement_text(placement, args.inputs[0]->shape),
                                        args.inputs[0]->str()));
    }
    return *args.wanted;
}

TensorSpec infer_permute(const InferArgs& args) {
    const Shape& from = args.inputs[0]->shape;
    const Ints axes = args.attrs.list(0);
    TensorSpec out{args.inputs[0]->dtype, {}};
    std::uint64_t seen = 0;  // a bit an axis
    bool is_order = axes.rank() == from.rank();
    for (int i = 0; is_order && i < axes.rank(); ++i) {
        const std::uint64_t bit = std::uint64_t{1} << axes[i];
        is_order = axes[i] < from.rank() && (seen & bit) == 0;
        if (!is_order) break;
        seen |= bit;
        out.shape.push_back(from.dim(static_cast<int>(axes[i])));
    }
    if (!is_order)
        throw IndexError(
            fmt::format("permute: {} is not an order of the axes of {}", axes.str(), from.str()));
    return out;
}

using AxisList = detail::SmallVector<int, 6>;

AxisList axes_of(const Ints& list) {
    AxisList axes;
    for (const std::int64_t axis : list) axes.push_back(static_cast<int>(axis));
    return axes;
}

void move_permute(Placement& placement, const Attrs& attrs, const Shape&) {
    placement.tracker.permute_by(axes_of(attrs.list(0)));
}

bool permute_strided(StridedView& view, const Attrs& attrs, const Shape&) {
    const int rank = view.shape.rank();
    static_assert(Shape::kInline < 8, "the axes are one word");
    std::uint64_t packed = attrs.words()[0];
    if (static_cast<int>(packed & 0xff) != rank) return false;
    const StridedView before = view;
    std::uint64_t seen = 0;
    for (int i = 0; i < rank; ++i) {
        packed >>= 8;
        const auto axis = static_cast<int>(packed & 0xff);
        if (axis >= rank) return false;
        seen |= std::uint64_t{1} << axis;
        view.shape[i] = before.shape[axis];
        view.strides[i] = before.strides[axis];
    }
    return seen == (std::uint64_t{1} << rank) - 1;
}

TensorSpec infer_broadcast(const InferArgs& args) {
    require_same_type(args);
    const Shape& from = args.inputs[0]->shape;
    const Shape& to = args.wanted->shape;
    bool fits = from.rank() <= to.rank();
    for (int i = 0; fits && i < from.rank(); ++i) {
        const Dim target = to.dim(to.rank() - from.rank() + i);
        fits = equal(from.dim(i), target) == Truth::yes || from.dim(i) == Dim(1);
    }
    if (!fits) {
        throw ShapeError(
            fmt::format("broadcast_to: {} does not broadcast to {}", from.str(), to.str()),
            to.str(), from.str());
    }
    return *args.wanted;
}

void move_broadcast(Placement& placement, const Attrs&, const Shape& result) {
    ShapeTracker& tracker = placement.tracker;
    if (tracker.rank() != result.size()) {
        Dims wide(result.size() - tracker.rank(), Dim(1));
        for (const Dim size : tracker.shape()) wide.push_back(size);
        tracker.reshape_to(wide);
    }
    tracker.expand_to(ir::dims_of(result));
}

bool broadcast_strided(StridedView& view, const Attrs&, const Shape& wanted) {
    const int lead = wanted.rank() - view.shape.rank();
    if (wanted.rank() > Shape::kInline || lead < 0) return false;
    for (int i = wanted.rank() - 1; i >= 0; --i) {
        const bool repeats = i < lead || view.shape[i - lead] != wanted[i];
        if (repeats && ((i >= lead && view.shape[i - lead] != 1) || wanted[i] < 0)) return false;
        view.strides[i] = repeats ? 0 : view.strides[i - lead];
    }
    view.shape = wanted;
    return true;
}

enum : int { kStarts, kSizes, kSteps };

/// Why `count` positions every `step` from `start` on need not lie inside of an axis of this size;
/// null where they do, whatever the variables are.
const char* why_not_inside(Dim size, Dim start, Dim count, std::int64_t step) {
    if (count == Dim(0)) return nullptr;
    if (!is_size(count)) return "the number of positions may be negative";
    const Dim reach = (count - 1) * step;
    // The positions behind each other may be none; further apart, none would reach backwards.
    if (step != 1 && at_least(count, 1) != Truth::yes)
        return "whether there are positions depends, and they are not one behind the other";
    const Dim low = step > 0 ? start : start + reach;
    const Dim high = step > 0 ? start + reach : start;
    return is_size(low) && at_least(size, high + 1) == Truth::yes ? nullptr
                                                                  : "the dimension may be left";
}

TensorSpec infer_slice(const InferArgs& args) {
    const Shape& from = args.inputs[0]->shape;
    const Ints starts = args.attrs.list(kStarts);
    const Ints sizes = args.attrs.list(kSizes);
    const Ints steps = args.attrs.list(kSteps);
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("slice: starts {}, sizes {}, steps {} of {}: {}", starts.str(),
                                     sizes.str(), steps.str(), from.str(), why),
                         from.str(), sizes.str());
    };
    if (starts.rank() != from.rank() || sizes.rank() != from.rank() ||
        steps.rank() != from.rank()) {
        refuse("one start, size and step a dimension is needed");
    }
    const bool numbers = from.is_concrete() && !has_sizes(starts) && !has_sizes(sizes);
    for (int i = 0; i < from.rank(); ++i) {
        if (steps[i] == 0) {
            throw ArgumentError(fmt::format("slice: step 0 in dimension {} of {} (steps {})", i,
                                            from.str(), steps.str()));
        }
        if (!numbers) {
            if (const char* why =
                    why_not_inside(from.dim(i), entry(starts, i), entry(sizes, i), steps[i]))
                refuse(fmt::format("{} (dimension {})", why, i));
            continue;
        }
        if (sizes[i] < 0 || sizes[i] > from[i])
            refuse(fmt::format("size {} of dimension {}", sizes[i], i));
        if (sizes[i] == 0) continue;
        std::int64_t last = 0;
        const bool overflow = __builtin_mul_overflow(sizes[i] - 1, steps[i], &last) ||
                              __builtin_add_overflow(last, starts[i], &last);
        if (overflow || starts[i] < 0 || starts[i] >= from[i] || last < 0 || last >= from[i]) {
            refuse(fmt::format("dimension {} is left", i));
        }
    }
    return {args.inputs[0]->dtype, sizes};
}

void move_slice(Placement& placement, const Attrs& attrs, const Shape& result) {
    const Ints starts = attrs.list(kStarts);
    const Ints steps = attrs.list(kSteps);
    DimRanges ranges;
    detail::SmallVector<std::int64_t, 6> walked;
    for (int i = 0; i < starts.rank(); ++i) {
        // From the lowest to the highest position; a negative step walks them backwards.
        const Dim size = result.dim(i);
        if (size == Dim(0)) {  // from anywhere
            ranges.push_back({0, 0});
            walked.push_back(1);
            continue;
        }
        const Dim start = entry(starts, i);
        if (!detail::are_numbers(size, start)) {
            const Dim reach = (size - 1) * steps[i];
            ranges.push_back(steps[i] > 0 ? DimRange{start, start + reach + 1}
                                          : DimRange{start + reach, start + 1});
            walked.push_back(size == Dim(1) ? 1 : steps[i]);
            continue;
        }
        const std::int64_t count = result[i];
        const std::int64_t last = count > 1 ? starts[i] + (count - 1) * steps[i] : starts[i];
        const std::int64_t low = std::min(starts[i], last);
        ranges.push_back({low, std::max(starts[i], last) + 1});
        walked.push_back(count > 1 ? steps[i] : 1);
    }
    placement.tracker.shrink_to(ranges);
    placement.tracker.stride_by(walked);
}

bool slice_strided(StridedView& view, const Attrs& attrs, const Shape&) {
    const int rank = view.shape.rank();
    const auto words = attrs.words();
    if (words.size() != static_cast<std::size_t>(3 * (rank + 1))) return false;
    const auto list = [&](int attribute, int i) {
        return static_cast<std::int64_t>(
            words[static_cast<std::size_t>(attribute * (rank + 1) + 1 + i)]);
    };
    for (int i = 0; i < rank; ++i) {
        const std::int64_t start = list(kStarts, i);
        const std::int64_t count = list(kSizes, i);
        const std::int64_t step = list(kSteps, i);
        const std::int64_t size = view.shape[i];
        if (count < 1 || count > size || start < 0 || start >= size || step == 0) return false;
        std::int64_t last = 0;
        if (__builtin_mul_overflow(count - 1, step, &last) ||
            __builtin_add_overflow(last, start, &last) || last < 0 || last >= size)
            return false;
        view.offset += start * view.strides[i];
        view.strides[i] = times(view.strides[i], step);
        view.shape[i] = count;
    }
    return true;
}

enum : int { kBefore, kAfter, kValue };

TensorSpec infer_pad(const InferArgs& args) {
    const TensorSpec& from = *args.inputs[0];
    const Ints before = args.attrs.list(kBefore);
    const Ints after = args.attrs.list(kAfter);
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("pad: {} before and {} behind {}: {}", before.str(),
                                     after.str(), from.shape.str(), why),
                         from.shape.str(), before.str());
    };
    if (before.rank() != from.shape.rank() || after.rank() != from.shape.rank())
        refuse("one number a dimension is needed on each side");
    TensorSpec out = from;
    for (int i = 0; i < from.shape.rank(); ++i) {
        const Dim size = from.shape.dim(i);
        const Dim front = entry(before, i);
        const Dim back = entry(after, i);
        if (!is_size(size + front) || !is_size(size + back) || !is_size(size + front + back))
            refuse(fmt::format("more than all of dimension {} {} taken away", i,
                               size.is_concrete() ? "is" : "may be"));
        out.shape.set(i, size + front + back);
    }
    return out;
}

void move_pad(Placement& placement, const Attrs& attrs, const Shape&) {
    const Ints before = attrs.list(kBefore);
    const Ints after = attrs.list(kAfter);
    DimRanges amounts;
    for (int i = 0; i < before.rank(); ++i) amounts.push_back({entry(before, i), entry(after, i)});
    placement.tracker.pad_by(amounts);
    placement.fill = attrs.scalar(kValue);
}

TensorSpec infer_flip(const InferArgs& args) {
    const Ints axes = args.attrs.list(0);
    std::uint64_t seen = 0;
    for (const std::int64_t axis : axes) {
        const bool twice = axis < 64 && (seen >> axis & 1) != 0;
        if (twice || axis >= args.inputs[0]->shape.rank()) {
            throw IndexError(fmt::format("flip: axis {} {} for {}", axis,
                                         twice ? "stands twice" : "is out of range",
                                         args.inputs[0]->shape.str()));
        }
        seen |= std::uint64_t{1} << axis;
    }
    return *args.inputs[0];
}

void move_flip(Placement& placement, const Attrs& attrs, const Shape&) {
    placement.tracker.flip_along(axes_of(attrs.list(0)));
}

/// An axis of the operand that an attribute names; IndexError where it has no such axis.
int axis_of(const InferArgs& args, int attribute) {
    const std::int64_t axis = args.attrs.integer(attribute);
    if (axis < 0) throw IndexError(fmt::format("{}: axis {} is negative", args.op.name, axis));
    return static_cast<int>(ensure_axis(args.op.name, axis, args.inputs[0]->shape));
}

enum : int { kUnfoldAxis, kUnfoldSize, kUnfoldStep };

TensorSpec infer_unfold(const InferArgs& args) {
    const int axis = axis_of(args, kUnfoldAxis);
    const std::int64_t size = args.attrs.integer(kUnfoldSize);
    const std::int64_t step = args.attrs.integer(kUnfoldStep);
    TensorSpec out = *args.inputs[0];
    if (size < 0 || step < 1) {
        throw ArgumentError(
            fmt::format("unfold: size {} must be at least 0 and step {} at least 1 (axis {} of {})",
                        size, step, axis, out.shape.str()));
    }
    const Dim whole = out.shape.dim(axis);
    if (at_least(whole, size) != Truth::yes) {
        throw ShapeError(fmt::format("unfold: a window of {} {} axis {} of {}, which has {} "
                                     "elements",
                                     size, whole.is_concrete() ? "does not fit" : "need not fit",
                                     axis, out.shape.str(), whole.str()),
                         fmt::format("at most {}", whole.str()), fmt::format("{}", size));
    }
    out.shape.set(axis, (whole - size) / step + 1);
    out.shape.push_back(size);
    return out;
}

void move_unfold(Placement& placement, const Attrs& attrs, const Shape& result) {
    const auto axis = static_cast<std::size_t>(attrs.integer(kUnfoldAxis));
    View view = View::contiguous(placement.tracker.shape());
    const Dim stride = view.strides[axis];
    view.strides[axis] = stride * attrs.integer(kUnfoldStep);
    view.shape = ir::dims_of(result);
    view.strides.push_back(stride);
    placement.tracker.put_on_top(std::move(view));
}

enum : int { kDiagonalOffset, kDiagonalFirst, kDiagonalSecond };

TensorSpec infer_diagonal(const InferArgs& args) {
    const int first = axis_of(args, kDiagonalFirst);
    const int second = axis_of(args, kDiagonalSecond);
    const std::int64_t offset = args.attrs.integer(kDiagonalOffset);
    const Shape& from = args.inputs[0]->shape;
    if (first == second)
        throw IndexError(fmt::format("diagonal: axis {} stands twice for {}", first, from.str()));
    TensorSpec out{args.inputs[0]->dtype, {}};
    for (int i = 0; i < from.rank(); ++i) {
        if (i != first && i != second) out.shape.push_back(from.dim(i));
    }
    // Positions (i, i + offset), or (i - offset, i), that lie inside. Offsets beyond all sizes are
    // brought near: they count to nothing all the same.
    constexpr std::int64_t most = std::int64_t{1} << 62;
    const Dim away = std::clamp(offset, -most, most);
    const Dim rows = offset < 0 ? max(from.dim(first) + away, 0) : from.dim(first);
    const Dim columns = offset > 0 ? max(from.dim(second) - away, 0) : from.dim(second);
    out.shape.push_back(min(rows, columns));
    return out;
}

void move_diagonal(Placement& placement, const Attrs& attrs, const Shape& result) {
    const std::int64_t offset = attrs.integer(kDiagonalOffset);
    const auto first = static_cast<std::size_t>(attrs.integer(kDiagonalFirst));
    const auto second = static_cast<std::size_t>(attrs.integer(kDiagonalSecond));
    const View all = View::contiguous(placement.tracker.shape());
    View view;
    view.shape = ir::dims_of(result);
    if (view.numel() == Dim(0)) {
        placement.tracker = ShapeTracker(View::contiguous(view.shape));
        return;
    }
    for (std::size_t i = 0; i < all.shape.size(); ++i) {
        if (i != first && i != second) view.strides.push_back(all.strides[i]);
    }
    view.strides.push_back(all.strides[first] + all.strides[second]);
    view.offset = offset < 0 ? all.strides[first] * -offset : all.strides[second] * offset;
    placement.tracker.put_on_top(std::move(view));
}

enum : int { kRollShift, kRollAxis };

TensorSpec infer_roll(const InferArgs& args) {
    (void)axis_of(args, kRollAxis);
    return *args.inputs[0];
}

/// How far elements move forwards, less than the size.
Dim roll_shift(std::int64_t given, Dim size) {
    if (size.is_concrete()) return (given % size.value() + size.value()) % size.value();
    constexpr std::int64_t most = std::int64_t{1} << 62;
    if (given < -most || given > most || at_least(size, given < 0 ? -given : given) != Truth::yes) {
        throw ShapeError(fmt::format("roll: by {} along an axis of {} elements, which may be "
                                     "fewer, needs a number",
                                     given, size.str()),
                         "a number", size.str());
    }
    return given < 0 ? size + given : Dim(given);
}

/// Two copies side by side, of which the part is taken that starts where the first element goes.
void move_roll(Placement& placement, const Attrs& attrs, const Shape& result) {
    const int axis = static_cast<int>(attrs.integer(kRollAxis));
    const Dim size = result.dim(axis);
    if (size == Dim(0)) return;
    const Dim shift = roll_shift(attrs.integer(kRollShift), size);
    if (shift == Dim(0)) return;
    Dims once;
    Dims twice;
    Dims joined;
    DimRanges part;
    for (int i = 0; i < result.rank(); ++i) {
        if (i == axis) {
            once.push_back(1);
            twice.push_back(2);
        }
        once.push_back(result.dim(i));
        twice.push_back(result.dim(i));
        joined.push_back(i == axis ? size * 2 : result.dim(i));
        part.push_back(i == axis ? DimRange{size - shift, size * 2 - shift}
                                 : DimRange{0, result.dim(i)});
    }
    placement.tracker.reshape_to(once);
    placement.tracker.expand_to(twice);
    placement.tracker.reshape_to(joined);
    placement.tracker.shrink_to(part);
}

enum : int { kRepeatCount, kRepeatAxis };

TensorSpec infer_repeat(const InferArgs& args) {
    const int axis = axis_of(args, kRepeatAxis);
    const std::int64_t count = args.attrs.integer(kRepeatCount);
    TensorSpec out = *args.inputs[0];
    const Shape& from = args.inputs[0]->shape;
    if (count < 0) {
        throw ArgumentError(fmt::format("repeat: the count {} must be at least 0 (axis {} of {})",
                                        count, axis, from.str()));
    }
    out.shape.set(axis, from.dim(axis) * count);
    return out;
}

void move_repeat(Placement& placement, const Attrs& attrs, const Shape& result) {
    const int axis = static_cast<int>(attrs.integer(kRepeatAxis));
    Dims once;
    Dims many;
    const Dims from = placement.tracker.shape();
    for (std::size_t i = 0; i < from.size(); ++i) {
        once.push_back(from[i]);
        many.push_back(from[i]);
        if (static_cast<int>(i) == axis) {
            once.push_back(1);
            many.push_back(attrs.integer(kRepeatCount));
        }
    }
    placement.tracker.reshape_to(once);
    placement.tracker.expand_to(many);
    placement.tracker.reshape_to(ir::dims_of(result));
}

TensorSpec infer_tile(const InferArgs& args) {
    const Ints counts = args.attrs.list(0);
    const Shape& from = args.inputs[0]->shape;
    TensorSpec out = *args.inputs[0];
    const auto wrong = [&](const std::string& why) {
        return fmt::format("tile: {} times {}: {}", counts.str(), from.str(), why);
    };
    if (counts.rank() != from.rank())
        throw ShapeError(wrong("one count a dimension is needed"), from.str(), counts.str());
    for (int i = 0; i < counts.rank(); ++i) {
        if (counts[i] < 0)
            throw ArgumentError(wrong(fmt::format("the count {} must be at least 0", counts[i])));
        out.shape.set(i, from.dim(i) * counts[i]);
    }
    return out;
}

void move_tile(Placement& placement, const Attrs& attrs, const Shape& result) {
    const Ints counts = attrs.list(0);
    Dims once;
    Dims many;
    const Dims from = placement.tracker.shape();
    for (std::size_t i = 0; i < from.size(); ++i) {
        once.push_back(1);
        once.push_back(from[i]);
        many.push_back(counts[static_cast<int>(i)]);
        many.push_back(from[i]);
    }
    placement.tracker.reshape_to(once);
    placement.tracker.expand_to(many);
    placement.tracker.reshape_to(ir::dims_of(result));
}

void evaluate_contiguous(const EvalArgs& args) {
    const auto bytes = static_cast<std::size_t>(args.spec->nbytes());
    if (bytes > 0) std::memcpy(args.out, args.inputs[0].data, bytes);
}

/// Throws where two operands of concat differ other than along the axis.
void check_joins(const TensorSpec& first, const TensorSpec& other, int axis) {
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(fmt::format("concat: {} and {} {}", first.str(), other.str(), why),
                         first.shape.str(), other.shape.str());
    };
    const int rank = first.shape.rank();
    if (other.shape.rank() != rank)
        refuse(fmt::format("differ in rank ({} vs {})", rank, other.shape.rank()));
    for (int i = 0; i < rank; ++i) {
        const Truth same = equal(first.shape.dim(i), other.shape.dim(i));
        if (i == axis || same == Truth::yes) continue;
        refuse(fmt::format("{} in dimension {} ({} vs {}), which is not axis {}",
                           same == Truth::no ? "differ" : "may differ", i, first.shape.dim(i).str(),
                           other.shape.dim(i).str(), axis));
    }
}

TensorSpec infer_concat(const InferArgs& args) {
    TensorSpec out = *args.inputs[0];
    const std::int64_t axis = args.attrs.integer(0);
    if (axis < 0) throw IndexError(fmt::format("concat: axis {} is negative", axis));
    const int at = static_cast<int>(ensure_axis("concat", axis, out.shape));
    for (const TensorSpec* input : args.inputs.subspan(1)) {
        check_joins(*args.inputs[0], *input, at);
        if (input->dtype != out.dtype) {
            throw DTypeError(fmt::format("concat: operands have different types: {} and {}",
                                         args.inputs[0]->str(), input->str()));
        }
        out.shape.set(at, out.shape.dim(at) + input->shape.dim(at));
    }
    return out;
}

Gradients concat_gradient(const GradientArgs& g) {
    const int axis = static_cast<int>(g.call.attrs.integer(0));
    Gradients out;
    Dim start = 0;
    for (const TensorSpec* spec : g.call.inputs) {
        const Dim size = spec->shape.dim(axis);
        out.push_back(part_of_axis(g.cotangent(), axis, start, size));
        start = start + size;
    }
    return out;
}
Gradients contiguous_gradient(const GradientArgs& g) { return {g.cotangent()}; }

void evaluate_concat(const EvalArgs& args) {
    const int axis = static_cast<int>(args.attrs.integer(0));
    const std::size_t size = size_of(args.spec->dtype);
    std::size_t outer = 1;
    for (int i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(args.spec->shape[i]);
    const auto row_bytes = [&](const Shape& shape) {
        std::size_t bytes = size;
        for (int i = axis; i < shape.rank(); ++i) bytes *= static_cast<std::size_t>(shape[i]);
        return bytes;
    };
    const std::size_t out_row = row_bytes(args.spec->shape);
    std::size_t column = 0;
    for (const HostArray& input : args.inputs) {
        const std::size_t in_row = row_bytes(input.spec->shape);
        for (std::size_t i = 0; i < outer && in_row > 0; ++i) {
            std::memcpy(static_cast<unsigned char*>(args.out) + i * out_row + column,
                        static_cast<const unsigned char*>(input.data) + i * in_row, in_row);
        }
        column += in_row;
    }
}

std::vector<Case> view_cases() {
    const auto of = [](Shape base, std::string_view movements) {
        const ShapeTracker tracker = parse_movements(movements, ir::dims_of(base));
        return Case{{base}, {Placement{tracker, Scalar(0)}}, ir::shape_of(tracker.shape())};
    };
    return {
        of({2, 6}, "reshape[3,4] > permute(1,0)"),
        of({3, 4}, "permute(1,0) | reshape[12]"),
        of({3, 4}, "pad[(1,0),(0,2)] > flip(1)"),
        of({3, 4}, "pad[(1,1),(0,0)] | reshape[4,5]"),
        of({5}, "strided[3,3](1,1)"),
        of({0, 2}, "permute(1,0)"),
        of({1}, "expand[3]"),
    };
}

}  // namespace

std::vector<OpDef> movement() {
    return {
        {
            .name = "view",
            .doc = "Elements where a chain of movements puts them; what the movements below are "
                   "recorded as.",
            .edge = "Positions that no movement fills have the number given for padding.",
            .traits = Trait::movement | Trait::shaped | Trait::view,
            .attrs = {{"view", AttrKind::view}},
            .infer = infer_view,
            .move = move_view,
            .evaluate = evaluate_moved,
            .cases = view_cases(),
        },
        {
            .name = "reshape",
            .doc = "The same elements in row-major order under another shape; one size may be -1.",
            .edge = "Works on empty tensors; -1 needs the other sizes to be non-zero.",
            .traits = Trait::movement | Trait::shaped,
            .infer = infer_reshape,
            .move = move_reshape,
            .move_strided = reshape_strided,
            .evaluate = evaluate_moved,
            .cases = {{{{2, 6}}, {}, Shape{3, 4}},
                      {{{4}}, {}, Shape{2, 1, 2}},
                      {{{}}, {}, Shape{1, 1}},
                      {{{0, 3}}, {}, Shape{5, 0}}},
        },
        {
            .name = "permute",
            .doc = "The dimensions in another order.",
            .traits = Trait::movement,
            .attrs = {{"axes", AttrKind::axes}},
            .infer = infer_permute,
            .move = move_permute,
            .move_strided = permute_strided,
            .evaluate = evaluate_moved,
            .cases = {{{{2, 3, 4}}, {Ints{2, 0, 1}}},
                      {{{3, 4}}, {Ints{1, 0}}},
                      {{{}}, {Ints{}}},
                      {{{0, 2}}, {Ints{1, 0}}}},
        },
        {
            .name = "broadcast_to",
            .doc = "The tensor repeated to a larger shape by numpy's broadcasting rule.",
            .edge = "A dimension of size 1 may become 0.",
            .traits = Trait::movement | Trait::shaped,
            .infer = infer_broadcast,
            .move = move_broadcast,
            .move_strided = broadcast_strided,
            .evaluate = evaluate_moved,
            .cases = {{{{3, 1}}, {}, Shape{2, 3, 4}},
                      {{{}}, {}, Shape{3}},
                      {{{1}}, {}, Shape{0}},
                      {{{2, 3}}, {}, Shape{2, 3}}},
        },
        {
            .name = "slice",
            .doc = "A box of the tensor, one start, stop and step a dimension; negative ones count "
                   "from the end, as in numpy.",
            .edge = "Starts and stops beyond the ends are cut to them; a step of 0 is an error; "
                    "the box may be empty. "
                    "In programs: the first position, the number of positions and the step of each "
                    "dimension.",
            .traits = Trait::movement,
            .attrs = {{"starts", AttrKind::ints},
                      {"sizes", AttrKind::ints},
                      {"steps", AttrKind::ints}},
            .infer = infer_slice,
            .move = move_slice,
            .move_strided = slice_strided,
            .evaluate = evaluate_moved,
            .cases = {{{{5, 6}}, {Ints{1, 5}, Ints{2, 3}, Ints{2, -2}}},
                      {{{4}}, {Ints{0}, Ints{0}, Ints{1}}},
                      {{{4}}, {Ints{3}, Ints{4}, Ints{-1}}},
                      {{{}}, {Ints{}, Ints{}, Ints{}}},
                      {{{0, 2}}, {Ints{0, 1}, Ints{0, 1}, Ints{1, 7}}}},
        },
        {
            .name = "pad",
            .doc = "The tensor with a number put before and behind each dimension; negative counts "
                   "take elements away.",
            .edge = "The number is converted to the tensor's type.",
            .traits = Trait::movement,
            .attrs = {{"before", AttrKind::ints},
                      {"after", AttrKind::ints},
                      {"value", AttrKind::scalar}},
            .infer = infer_pad,
            .move = move_pad,
            .evaluate = evaluate_moved,
            .cases = {{{{2, 3}}, {Ints{1, 0}, Ints{0, 2}, Scalar(0)}},
                      {{{4}}, {Ints{-1}, Ints{2}, Scalar(1)}},
                      {{{0, 2}}, {Ints{1, 0}, Ints{1, 0}, Scalar(1)}},
                      {{{3}}, {Ints{-2}, Ints{-1}, Scalar(0)}}},
        },
        {
            .name = "flip",
            .doc = "The elements along axes in reverse order.",
            .traits = Trait::movement,
            .attrs = {{"axes", AttrKind::axes}},
            .infer = infer_flip,
            .move = move_flip,
            .evaluate = evaluate_moved,
            .cases = {{{{2, 3}}, {Ints{0}}}, {{{2, 3}}, {Ints{0, 1}}}, {{{0, 2}}, {Ints{1}}}},
        },
        {
            .name = "unfold",
            .doc = "Windows along an axis, of a size and every so many steps, as a new last axis.",
            .edge = "A window larger than the axis is an error.",
            .traits = Trait::movement,
            .attrs = {{"axis", AttrKind::integer},
                      {"size", AttrKind::integer},
                      {"step", AttrKind::integer}},
            .infer = infer_unfold,
            .move = move_unfold,
            .evaluate = evaluate_moved,
            .cases = {{{{7}}, {std::int64_t{0}, std::int64_t{3}, std::int64_t{2}}},
                      {{{2, 5, 3}}, {std::int64_t{1}, std::int64_t{2}, std::int64_t{1}}}},
        },
        {
            .name = "diagonal",
            .doc = "The elements whose positions along two axes differ by an offset, as a new last "
                   "axis.",
            .edge = "An offset beyond the corner gives none.",
            .traits = Trait::movement,
            .attrs = {{"offset", AttrKind::integer},
                      {"first", AttrKind::integer},
                      {"second", AttrKind::integer}},
            .infer = infer_diagonal,
            .move = move_diagonal,
            .evaluate = evaluate_moved,
            .cases = {{{{3, 4}}, {std::int64_t{0}, std::int64_t{0}, std::int64_t{1}}},
                      {{{3, 4}}, {std::int64_t{2}, std::int64_t{0}, std::int64_t{1}}},
                      {{{3, 4}}, {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}}},
                      {{{3, 4}}, {std::int64_t{-7}, std::int64_t{0}, std::int64_t{1}}},
                      {{{2, 3, 4}}, {std::int64_t{0}, std::int64_t{2}, std::int64_t{0}}}},
        },
        {
            .name = "roll",
            .doc =
                "The elements along an axis moved on by a number of positions; what leaves at one "
                "end comes back at the other.",
            .traits = Trait::movement,
            .attrs = {{"shift", AttrKind::integer}, {"axis", AttrKind::integer}},
            .infer = infer_roll,
            .move = move_roll,
            .evaluate = evaluate_moved,
            .cases = {{{{5}}, {std::int64_t{2}, std::int64_t{0}}},
                      {{{2, 4}}, {std::int64_t{-5}, std::int64_t{1}}},
                      {{{0, 2}}, {std::int64_t{1}, std::int64_t{0}}}},
        },
        {
            .name = "repeat",
            .doc = "Each element along an axis several times in a row.",
            .traits = Trait::movement,
            .attrs = {{"count", AttrKind::integer}, {"axis", AttrKind::integer}},
            .infer = infer_repeat,
            .move = move_repeat,
            .evaluate = evaluate_moved,
            .cases = {{{{2, 3}}, {std::int64_t{2}, std::int64_t{1}}},
                      {{{2, 3}}, {std::int64_t{3}, std::int64_t{0}}},
                      {{{2, 3}}, {std::int64_t{0}, std::int64_t{0}}}},
        },
        {
            .name = "tile",
            .doc = "The whole tensor side by side, so many times along each dimension.",
            .traits = Trait::movement,
            .attrs = {{"counts", AttrKind::ints}},
            .infer = infer_tile,
            .move = move_tile,
            .evaluate = evaluate_moved,
            .cases = {{{{2, 3}}, {Ints{2, 1}}}, {{{2, 3}}, {Ints{1, 3}}}, {{{3}}, {Ints{0}}}},
        },
        {
            .name = "contiguous",
            .doc = "The elements of a view in row-major order in memory of their own; what lies so "
                   "already is returned as it is.",
            .traits = Trait::elementwise | Trait::same_type,
            .evaluate = evaluate_contiguous,
            .primitive = Primitive::copy,
            .gradient = contiguous_gradient,
        },
        {
            .name = "concat",
            .doc = "Tensors joined along an axis.",
            .edge = "Operands of size 0 along the axis add nothing.",
            .max_inputs = -1,
            .traits = Trait::movement | Trait::promotes,
            .attrs = {{"axis", AttrKind::integer}},
            .infer = infer_concat,
            .evaluate = evaluate_concat,
            .lowering = Lowering::concat,
            .gradient = concat_gradient,
            .cases = {{{{2, 3}, {2, 1}, {2, 0}}, {std::int64_t{1}}},
                      {{{2, 3}, {4, 3}}, {std::int64_t{0}}},
                      {{{5}}, {std::int64_t{0}}}},
        },
    };
}

}  // namespace lazuli::ops
