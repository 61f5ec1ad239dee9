// Picking and putting by position, on all threads.

#include <atomic>
#include <bit>
#include <cstring>

#include "backend/host/families.h"
#include "backend/host/keys.h"
#include "backend/host/radix.h"
#include "backend/host/scatter.h"
#include "ops/eval.h"
#include "ops/lines.h"
#include "ops/positions.h"

namespace lazuli::backend::host {

namespace {

using ops::Lines;

constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // bytes that make a piece of work

/// Calls f with an unsigned integer of that many bytes, or a pair of them.
template <class F>
void with_bytes(std::size_t bytes, F&& f) {
    struct Pair {
        std::uint64_t a, b;
    };
    switch (bytes) {
        case 1: return f.template operator()<std::uint8_t>();
        case 2: return f.template operator()<std::uint16_t>();
        case 4: return f.template operator()<std::uint32_t>();
        case 8: return f.template operator()<std::uint64_t>();
        default: return f.template operator()<Pair>();
    }
}

template <class T, class Index>
void take(const EvalArgs& args) {
    const std::int64_t axis = args.attrs.integer(0);
    const Lines from = ops::lines_of(args.inputs[0].spec->shape, axis);
    const Lines to = ops::lines_of(args.spec->shape, axis);
    const T* in = args.inputs[0].as<T>();
    const Index* positions = args.inputs[1].as<Index>();
    FirstOutside outside;
    share(args.spec->shape.numel(), kPiece / 8, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t j = begin % to.inner;
        std::int64_t k = begin / to.inner % to.size;
        std::int64_t o = begin / to.inner / to.size;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t at = ops::counted_position(positions[i], from.size);
            if (at < 0) return outside.found(i);
            args.result<T>()[i] = in[(o * from.size + at) * from.inner + j];
            if (++j < to.inner) continue;
            j = 0;
            if (++k < to.size) continue;
            k = 0;
            ++o;
        }
    });
    outside.check(args, args.inputs[1], axis);
}

void take_along_axis(const EvalArgs& args) {
    with_bytes(size_of(args.spec->dtype), [&]<class T>() {
        dispatch(args.inputs[1].spec->dtype, [&]<class Index>() {
            if constexpr (std::is_integral_v<Index> && !std::is_same_v<Index, bool>)
                take<T, Index>(args);
        });
    });
}

// ---- boxes

/// Copies a box between two tensors of which one is as large as the box: rows of the last dimension
/// at a time.
void copy_box(const Shape& box, std::size_t bytes, const char* from, const Ints& from_strides,
              char* to, const Ints& to_strides) {
    if (box.numel() == 0) return;
    const int last = box.rank() - 1;
    const std::int64_t row = last < 0 ? 1 : box[last];
    const auto row_bytes = static_cast<std::size_t>(row) * bytes;
    const std::int64_t rows = box.numel() / row;
    const auto grain = std::max<std::int64_t>(1, kPiece / static_cast<std::int64_t>(row_bytes));
    share(rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
            std::int64_t source = 0;
            std::int64_t target = 0;
            std::int64_t left = r;
            for (int d = last - 1; d >= 0; --d) {
                source += left % box[d] * from_strides[d];
                target += left % box[d] * to_strides[d];
                left /= box[d];
            }
            std::memcpy(to + static_cast<std::size_t>(target) * bytes,
                        from + static_cast<std::size_t>(source) * bytes, row_bytes);
        }
    });
}

void dynamic_slice(const EvalArgs& args) {
    const Shape& x = args.inputs[0].spec->shape;
    const std::size_t bytes = size_of(args.spec->dtype);
    const std::int64_t first = ops::box_offset(args.inputs[1], x, args.spec->shape);
    copy_box(args.spec->shape, bytes,
             args.inputs[0].as<char>() + static_cast<std::size_t>(first) * bytes, dense_strides(x),
             args.result<char>(), dense_strides(args.spec->shape));
}

void copy_all(const HostArray& from, char* to) {
    const auto bytes = static_cast<std::int64_t>(from.spec->nbytes());
    copy_box(Shape{bytes / kPiece, kPiece}, 1, from.as<char>(), Ints{kPiece, 1}, to,
             Ints{kPiece, 1});
    const auto rest = static_cast<std::size_t>(bytes % kPiece);
    const auto done = static_cast<std::size_t>(bytes) - rest;
    if (rest > 0) std::memcpy(to + done, from.as<char>() + done, rest);
}

void dynamic_update_slice(const EvalArgs& args) {
    const Shape& x = args.spec->shape;
    const Shape& box = args.inputs[1].spec->shape;
    const std::size_t bytes = size_of(args.spec->dtype);
    const std::int64_t first = ops::box_offset(args.inputs[2], x, box);
    if (args.out != args.inputs[0].data) copy_all(args.inputs[0], args.result<char>());
    copy_box(box, bytes, args.inputs[1].as<char>(), dense_strides(box),
             args.result<char>() + static_cast<std::size_t>(first) * bytes, dense_strides(x));
}

}  // namespace

Family placing() {
    return {{"take_along_axis", take_along_axis},
            {"scatter", scatter},
            {"dynamic_slice", dynamic_slice},
            {"dynamic_update_slice", dynamic_update_slice}};
}

UpdatedWindow::UpdatedWindow(const EvalArgs& args)
    : box_(args.inputs[1].spec->shape),
      box_strides_(dense_strides(box_)),
      strides_(dense_strides(args.spec->shape)),
      element_(size_of(args.spec->dtype)),
      content_(static_cast<std::size_t>(args.inputs[1].spec->nbytes())) {
    const std::int64_t first = ops::box_offset(args.inputs[2], args.spec->shape, box_);
    at_ = args.result<char>() + static_cast<std::size_t>(first) * element_;
    copy_box(box_, element_, at_, strides_, content_.data(), box_strides_);
}

void UpdatedWindow::put_back() const {
    copy_box(box_, element_, content_.data(), box_strides_, at_, strides_);
}

}  // namespace lazuli::backend::host
