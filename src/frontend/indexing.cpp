// numpy's rules for indices. Basic ones (integers, ranges, ellipsis, new axes) are movements.
// Integer arrays are broadcast to one shape and gather at once along the dimensions they stand for;
// a mask becomes one integer array for each of its dimensions.

#include <fmt/format.h>

#include <algorithm>

#include "frontend/record.h"
#include "frontend/waits.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/index.h"
#include "lazuli/ops.h"

namespace lazuli {

namespace {

std::string number_text(std::int64_t v) {
    return detail::is_expression(v) ? Dim::from_raw(v).str() : fmt::format("{}", v);
}

std::string text_of(const Index& index) {
    struct Printer {
        std::string operator()(std::int64_t v) const { return number_text(v); }
        std::string operator()(const Slice& v) const {
            const auto part = [](const std::optional<std::int64_t>& p) {
                return p ? number_text(*p) : "";
            };
            return part(v.start) + ":" + part(v.stop) + (v.step ? ":" + part(v.step) : "");
        }
        std::string operator()(Ellipsis) const { return "..."; }
        std::string operator()(NewAxis) const { return "newaxis"; }
        std::string operator()(const Tensor& v) const {
            return v.defined() ? v.spec().str() : "an empty Tensor";
        }
    };
    return std::visit(Printer{}, index.what());
}

std::string text_of(std::span<const Index> index) {
    std::string out;
    for (const Index& i : index) out += (out.empty() ? "" : ", ") + text_of(i);
    return "[" + out + "]";
}

/// The positions where a mask holds, one vector a dimension of the mask.
std::vector<Tensor> positions_of(const Tensor& mask) {
    frontend::count_wait("boolean mask");
    const std::vector<bool> values = mask.to_vector<bool>();
    const Shape& shape = mask.shape();
    std::vector<std::vector<std::int64_t>> positions(shape.size());
    Ints position = Shape::filled(shape.rank(), 0);
    for (const bool picked : values) {
        for (int d = 0; picked && d < shape.rank(); ++d)
            positions[static_cast<std::size_t>(d)].push_back(position[d]);
        for (int d = shape.rank(); d > 0 && ++position[d - 1] == shape[d - 1];) position[--d] = 0;
    }
    std::vector<Tensor> out;
    for (const auto& list : positions) out.push_back(Tensor::from(list));
    return out;
}

/// One index a dimension of the operand, and new axes between them.
struct Plain {
    std::variant<std::int64_t, Slice, NewAxis, Tensor> what;
};

class Indexer {
   public:
    Indexer(const Tensor& tensor, std::span<const Index> index) : tensor_(tensor), index_(index) {}

    Tensor run() {
        spell_out();
        const bool arrays = std::any_of(plain_.begin(), plain_.end(), [](const Plain& p) {
            return std::holds_alternative<Tensor>(p.what);
        });
        const Tensor moved = take_ranges(arrays);
        return arrays ? gather_arrays(moved) : moved;
    }

   private:
    [[noreturn]] void fail(const std::string& why) const {
        throw IndexError(
            fmt::format("index {} of {}: {}", text_of(index_), tensor_.spec().str(), why));
    }

    /// Masks become positions, the ellipsis as many whole ranges as there are dimensions left.
    void spell_out() {
        int used = 0;
        int dots = 0;
        std::vector<std::vector<Tensor>> masks;
        for (const Index& index : index_) {
            if (std::holds_alternative<Ellipsis>(index.what())) {
                ++dots;
            } else if (const auto* tensor = std::get_if<Tensor>(&index.what())) {
                if (!tensor->defined()) fail("an empty Tensor");
                if (tensor->dtype() == DType::boolean) {
                    if (tensor->rank() == 0) fail("a mask needs at least one dimension");
                    used += tensor->rank();
                } else if (kind(tensor->dtype()) == Kind::integer) {
                    ++used;
                } else {
                    fail(fmt::format("{} are no positions", tensor->spec().str()));
                }
            } else if (!std::holds_alternative<NewAxis>(index.what())) {
                ++used;
            }
        }
        if (dots > 1) fail("more than one ellipsis");
        const int left = tensor_.rank() - used;
        if (left < 0) fail(fmt::format("{} dimensions for {}", used, tensor_.rank()));
        int at = 0;
        const auto fill = [&] {
            for (int i = 0; i < left; ++i) plain_.push_back({Slice{}});
            at += left;
        };
        for (const Index& index : index_) {
            if (std::holds_alternative<Ellipsis>(index.what())) {
                dots_at_ = static_cast<int>(plain_.size());
                fill();
            } else if (std::holds_alternative<NewAxis>(index.what())) {
                plain_.push_back({NewAxis{}});
            } else if (const auto* tensor = std::get_if<Tensor>(&index.what())) {
                if (tensor->dtype() == DType::boolean) {
                    for (int d = 0; d < tensor->rank(); ++d) {
                        if (tensor->shape()[d] == tensor_.shape()[at + d]) continue;
                        fail(fmt::format("the mask has {} positions along dimension {}, not {}",
                                         tensor->shape()[d], at + d, tensor_.shape()[at + d]));
                    }
                    for (Tensor& positions : positions_of(*tensor))
                        plain_.push_back({std::move(positions)});
                    at += tensor->rank();
                } else {
                    plain_.push_back({*tensor});
                    ++at;
                }
            } else {
                if (const auto* one = std::get_if<std::int64_t>(&index.what()))
                    plain_.push_back({*one});
                if (const auto* range = std::get_if<Slice>(&index.what()))
                    plain_.push_back({*range});
                ++at;
            }
        }
        if (dots == 0) fill();
    }

    /// A single position, counted from the front.
    Dim inside(std::int64_t one, Dim size, int d) const {
        if (size.is_concrete() && !detail::is_expression(one)) {
            const std::int64_t position = one < 0 ? one + size.value() : one;
            if (position >= 0 && position < size.value()) return position;
            fail(fmt::format("position {} is outside dimension {} of size {}", one, d, size.str()));
        }
        const Dim given = detail::is_expression(one) ? Dim::from_raw(one)
                                                     : Dim(std::max(one, -(std::int64_t{1} << 62)));
        const Dim position = less(given, 0) == Truth::yes ? given + size : given;
        if (at_least(position, 0) == Truth::yes && less(position, size) == Truth::yes)
            return position;
        fail(fmt::format("position {} may be outside dimension {} of size {}", given.str(), d,
                         size.str()));
    }

    /// Ranges, single positions and new axes. Beside arrays a single position is an array too.
    Tensor take_ranges(bool arrays) {
        Ints starts;
        Ints stops;
        Ints steps;
        Shape shape;  // after the positions are gone and new axes are there
        int d = 0;
        for (Plain& plain : plain_) {
            if (std::holds_alternative<NewAxis>(plain.what)) {
                shape.push_back(1);
                continue;
            }
            const Dim size = tensor_.shape().dim(d);
            std::int64_t first = 0;
            std::int64_t end = size.raw();
            std::int64_t step = 1;
            if (const auto* one = std::get_if<std::int64_t>(&plain.what)) {
                const Dim position = inside(*one, size, d);
                if (arrays) {
                    plain.what = Tensor(position.value());
                    shape.push_back(size);
                } else {
                    first = position.raw();
                    end = (position + 1).raw();
                }
            } else if (const auto* range = std::get_if<Slice>(&plain.what)) {
                step = range->step.value_or(1);
                if (step == 0) fail(fmt::format("step 0 along dimension {}", d));
                // Beyond the ends means up to them, whatever the direction.
                first = range->start.value_or(step > 0 ? 0 : (size - 1).raw());
                end = range->stop.value_or((step > 0 ? size : Dim(-1) - size).raw());
                shape.push_back(-1);
            } else {
                shape.push_back(size);
            }
            starts.push_back(first);
            stops.push_back(end);
            steps.push_back(step);
            ++d;
        }
        const Tensor part = tensor_.slice(starts, stops, steps);
        // The sizes of ranges are now known.
        int from = 0;
        int to = 0;
        for (const Plain& plain : plain_) {
            const bool added = std::holds_alternative<NewAxis>(plain.what);
            if (!std::holds_alternative<std::int64_t>(plain.what)) {
                if (!added) shape.set(to, part.shape().dim(from));
                ++to;
            }
            if (!added) ++from;
        }
        std::erase_if(plain_, [](const Plain& plain) {
            return std::holds_alternative<std::int64_t>(plain.what);
        });
        return part.reshape(shape);
    }

    /// `moved` has one dimension for each entry of `plain_`.
    Tensor gather_arrays(const Tensor& moved) {
        std::vector<int> where;
        Shape common;
        std::vector<Tensor> arrays;
        for (std::size_t i = 0; i < plain_.size(); ++i) {
            const auto* array = std::get_if<Tensor>(&plain_[i].what);
            if (array == nullptr) continue;
            where.push_back(static_cast<int>(i));
            arrays.push_back(array->cast(DType::i64));
            common = where.size() == 1 ? array->shape() : joined(common, array->shape());
        }
        if (arrays.size() == 1) return moved.gather(arrays[0], where[0]);

        // Several arrays: their dimensions side by side become one, and so do their positions.
        // An ellipsis between them keeps them apart even where it stands for nothing.
        const bool apart = dots_at_ > where.front() && dots_at_ <= where.back();
        const bool adjacent =
            !apart && where.back() - where.front() + 1 == static_cast<int>(where.size());
        const int front = adjacent ? where.front() : 0;
        Ints order;
        Shape shape;
        for (int i = 0; i < moved.rank(); ++i) {
            if (static_cast<int>(order.size()) == front)
                for (const int w : where) order.push_back(w);
            if (std::find(where.begin(), where.end(), i) == where.end()) order.push_back(i);
        }
        if (order.rank() < moved.rank())
            for (const int w : where) order.push_back(w);
        const Tensor side_by_side = moved.permute(Axes(order));
        std::int64_t count = 1;
        for (const int w : where) count *= moved.shape()[w];
        for (int i = 0; i < side_by_side.rank(); ++i) {
            if (i == front) shape.push_back(count);
            if (i < front || i >= front + static_cast<int>(where.size()))
                shape.push_back(side_by_side.shape()[i]);
        }
        Tensor positions = zeros(common, DType::i64);
        Tensor outside = zeros(common, DType::boolean);
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            const std::int64_t size = moved.shape()[where[i]];
            const Tensor position = select(arrays[i] < 0, arrays[i] + size, arrays[i]);
            outside = select(position < 0, true, select(position >= size, true, outside));
            positions = positions * size + position;
        }
        // A position outside its own dimension must not land inside the joined one: `count` is
        // outside, and gather says so.
        return side_by_side.reshape(shape).gather(select(outside, count, positions), front);
    }

    Shape joined(const Shape& a, const Shape& b) const {
        Shape out;
        const int rank = std::max(a.rank(), b.rank());
        for (int i = 0; i < rank; ++i) {
            const auto size = [&](const Shape& s) {
                const int at = i - (rank - s.rank());
                return at < 0 ? 1 : s[at];
            };
            if (size(a) != size(b) && size(a) != 1 && size(b) != 1)
                fail(fmt::format("arrays of shapes {} and {} do not broadcast", a.str(), b.str()));
            out.push_back(size(a) == 1 ? size(b) : size(a));
        }
        return out;
    }

    const Tensor& tensor_;
    std::span<const Index> index_;
    std::vector<Plain> plain_;
    int dots_at_ = -1;
};

}  // namespace

Tensor at(const Tensor& tensor, std::span<const Index> index) {
    (void)frontend::require_node("index", tensor);
    return Indexer(tensor, index).run();
}

}  // namespace lazuli
