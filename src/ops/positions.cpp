#include "ops/positions.h"

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"

namespace lazuli::ops {

void throw_outside(const EvalArgs& args, const HostArray& positions, std::int64_t i,
                   std::int64_t axis) {
    const Scalar given = load_scalar(
        positions.spec->dtype,
        positions.as<char>() + static_cast<std::size_t>(i) * size_of(positions.spec->dtype));
    throw ExecutionError(std::string(args.op.name),
                         fmt::format("index {} at position {} is out of range for axis {} of {}",
                                     given.str(), i, axis, args.inputs[0].spec->shape.str()));
}

std::vector<std::int64_t> read_positions(const EvalArgs& args, const HostArray& positions,
                                         std::int64_t size, std::int64_t axis) {
    std::vector<std::int64_t> out;
    dispatch(positions.spec->dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            const std::int64_t count = positions.spec->shape.numel();
            out.reserve(static_cast<std::size_t>(count));
            for (std::int64_t i = 0; i < count; ++i) {
                out.push_back(counted_position(positions.as<T>()[i], size));
                if (out.back() < 0) throw_outside(args, positions, i, axis);
            }
        }
    });
    return out;
}

std::int64_t box_offset(const HostArray& starts, const Shape& x, const Shape& box) {
    const Ints strides = dense_strides(x);
    std::int64_t offset = 0;
    dispatch(starts.spec->dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            for (int i = 0; i < x.rank(); ++i) {
                const T given = starts.as<T>()[i];
                const std::int64_t last = x[i] - box[i];
                // Unsigned positions beyond 63 bits are far behind the end.
                std::int64_t at = last;
                if (std::is_signed_v<T> || static_cast<std::uint64_t>(given) >> 63 == 0)
                    at = static_cast<std::int64_t>(given);
                offset += std::clamp<std::int64_t>(at < 0 ? at + x[i] : at, 0, last) * strides[i];
            }
        }
    });
    return offset;
}

}  // namespace lazuli::ops
