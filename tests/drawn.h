#pragma once

// Programs drawn at random whose sizes are expressions: movements of movements above all, of which
// views are made and merged.

#include <vector>

#include "lazuli/error.h"
#include "lazuli/program.h"
#include "ops/build.h"
#include "random.h"

namespace lazuli::tests {

class Drawn {
    template <class List>
    auto any(const List& list) {
        return list[random_.below(std::size(list))];
    }

   public:
    explicit Drawn(std::uint64_t seed) : random_(seed) {
        const Dim b = dim("drawn_b", 1, 40);
        const Dim t = dim("drawn_t", 2, 30);
        sizes_ = {b, t, t * 2, t + 1, 1, 2, 3, b * t};
        for (int i = 0; i < 2; ++i) {
            Shape shape;
            for (std::size_t rank = 1 + random_.below(3); rank > 0; --rank)
                shape.push_back(any(sizes_));
            values_.push_back(builder_.param("", {f32, shape}));
        }
        for (int i = 0; i < 9; ++i) {
            try {
                values_.push_back(step(values_[values_.size() - 1 - random_.below(2)]));
            } catch (const Error&) {
                // Refused: another one is tried.
            }
        }
        builder_.result(values_.back());
        builder_.result(values_[values_.size() / 2]);
    }
    Program build() { return builder_.build(); }

   private:
    int axis_of(const Shape& shape) {
        if (shape.rank() == 0) throw ShapeError("no axis", "", "");
        return static_cast<int>(random_.below(shape.size()));
    }
    Value step(const Value& x) {
        const Shape shape = x.shape();
        const int rank = shape.rank();
        switch (random_.below(17)) {
            case 0: {  // in another order
                Ints order;
                for (int i = 0; i < rank; ++i) order.push_back(i);
                for (int i = rank - 1; i > 0; --i)
                    std::swap(order.data()[i],
                              order.data()[random_.below(static_cast<std::size_t>(i) + 1)]);
                return ops::permute(x, Axes(order));
            }
            case 1: {  // two axes as one
                const int axis = axis_of(shape);
                Shape merged;
                for (int i = 0; i < rank; ++i) {
                    if (i == axis && i > 0) {
                        merged.set(merged.rank() - 1, merged.dim(merged.rank() - 1) * shape.dim(i));
                    } else {
                        merged.push_back(shape.dim(i));
                    }
                }
                return ops::reshape(x, merged);
            }
            case 2: {  // one axis as two
                const int axis = axis_of(shape);
                const Dim part = any(sizes_);
                Shape split;
                for (int i = 0; i < rank; ++i) {
                    if (i == axis) {
                        if (equal(shape.dim(i) % part, 0) != Truth::yes)
                            throw ShapeError("no divisor", "", "");
                        split.push_back(shape.dim(i) / part);
                    }
                    split.push_back(i == axis ? part : shape.dim(i));
                }
                return ops::reshape(x, split);
            }
            case 3: return ops::with_axis(x, static_cast<int>(random_.below(shape.size() + 1)));
            case 4: {  // repeated where there is one
                Shape wide = shape;
                for (int i = 0; i < rank; ++i)
                    if (wide.dim(i) == Dim(1)) wide.set(i, any(sizes_));
                return ops::broadcast_to(x, wide);
            }
            case 5:
            case 6: {  // a part of an axis
                const int axis = axis_of(shape);
                const Dim size = shape.dim(axis);
                const Dim starts[] = {0, 1, size - 1, size / 2};
                const Dim counts[] = {1, size - 1, size / 2, (size + 1) / 2, size};
                const std::int64_t steps[] = {1, 1, 2, -1};
                return ops::part_of_axis(x, axis, any(starts), any(counts), any(steps));
            }
            case 7: {
                Ints before = Shape::filled(rank, 0);
                Ints after = before;
                for (int i = 0; i < rank; ++i) {
                    before.set(i, random_.between(-1, 1));
                    if (random_.one_in(3)) after.set(i, any(sizes_));
                }
                return ops::padded(x, before, after, Scalar(random_.one_in(2) ? 0.0 : 1.5));
            }
            case 8: return ops::flip(x, Axes(axis_of(shape)));
            case 9:
                return ops::unfold(x, axis_of(shape), random_.between(1, 2), random_.between(1, 2));
            case 10: return ops::roll(x, random_.between(-1, 1), axis_of(shape));
            case 11: return ops::repeat(x, random_.between(1, 3), axis_of(shape));
            case 12: return ops::sum(x, Axes(axis_of(shape)), random_.one_in(2));
            case 13: {
                const int axis = axis_of(shape);
                // Of an axis that may be empty it is refused where it is built.
                if (at_least(shape.dim(axis), 1) != Truth::yes) return ops::neg(x);
                return ops::softmax(x, axis);
            }
            case 14: {
                const Value both[] = {x, any(values_)};
                return ops::joined(both, axis_of(shape));
            }
            case 15: return ops::add(x, any(values_));
            default: return ops::diagonal(x, 0, axis_of(shape), axis_of(shape));
        }
    }

    Random random_;
    ProgramBuilder builder_;
    std::vector<Dim> sizes_;
    std::vector<Value> values_;
};

}  // namespace lazuli::tests
