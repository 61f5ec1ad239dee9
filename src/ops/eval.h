#pragma once

// What plain evaluations share: walking positions, and computing elementwise functions type by type.
//
// f16, bf16 and f32 are computed in double and rounded once; c64 in complex<double>. For + - * / sqrt that equals rounding
// the exact result, since a double has more than twice their precision.

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/convert.h"
#include "lazuli/arguments.h"
#include "lazuli/error.h"
#include "lazuli/op.h"

namespace lazuli::ops {

template <class T>
struct ComputeOf {
    using type = T;
};
template <>
struct ComputeOf<Half> {
    using type = double;
};
template <>
struct ComputeOf<BFloat16> {
    using type = double;
};
template <>
struct ComputeOf<float> {
    using type = double;
};
template <>
struct ComputeOf<std::complex<float>> {
    using type = std::complex<double>;
};
/// The type in which elements of type T are computed.
template <class T>
using Compute = typename ComputeOf<T>::type;

/// Strides, in elements, with which an operand of `shape` is read at positions of the larger shape `out`.
Ints broadcast_strides(const Shape& shape, const Shape& out);

/// Calls f(offset) for the positions of `shape` in row-major order, where offset follows `strides`.
template <class F>
void for_each_offset(const Shape& shape, const Ints& strides, F&& f) {
    const std::int64_t count = shape.numel();
    Ints position = Shape::filled(shape.rank(), 0);
    std::int64_t offset = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        f(i, offset);
        for (int d = shape.rank() - 1; d >= 0; --d) {
            offset += strides[d];
            if (++position[d] < shape[d]) break;
            offset -= strides[d] * shape[d];
            position[d] = 0;
        }
    }
}

/// An elementwise evaluation: `F` is a function object whose call operator takes Compute<T> values. `Types` says for which
/// operand types it exists; the result's type is deduced from what it returns (bool for a comparison, a real for abs).
template <DTypeSet Types, int Arity, class F>
void evaluate_elementwise(const EvalArgs& args) {
    dispatch(args.inputs[Arity - 1].spec->dtype, [&]<class T>() {
        if constexpr (Types.contains(dtype_of<T>())) {
            const std::int64_t count = args.spec->shape.numel();
            if (count == 0) return;
            const F f;
            dispatch(args.spec->dtype, [&]<class R>() {
                // Comparisons give bool, abs of a complex number its real part's type, everything else its own type.
                constexpr bool possible = std::is_same_v<R, T> || std::is_same_v<R, bool> || (is_complex_v<T> && is_real_float_v<R>);
                if constexpr (possible) {
                    R* out = args.result<R>();
                    const auto load = [](const T& v) { return static_cast<Compute<T>>(v); };
                    if constexpr (Arity == 1) {
                        const T* a = args.inputs[0].as<T>();
                        for (std::int64_t i = 0; i < count; ++i) out[i] = convert<R>(f(load(a[i])));
                    } else {
                        const T* a = args.inputs[0].as<T>();
                        const T* b = args.inputs[1].as<T>();
                        if (args.inputs[0].spec->shape == args.spec->shape && args.inputs[1].spec->shape == args.spec->shape) {
                            for (std::int64_t i = 0; i < count; ++i) out[i] = convert<R>(f(load(a[i]), load(b[i])));
                            return;
                        }
                        // Two walks over the result: one brings the first operand's elements in line, one computes.
                        const Ints sa = broadcast_strides(args.inputs[0].spec->shape, args.spec->shape);
                        const Ints sb = broadcast_strides(args.inputs[1].spec->shape, args.spec->shape);
                        std::vector<std::int64_t> at(static_cast<std::size_t>(count));
                        for_each_offset(args.spec->shape, sa, [&](std::int64_t i, std::int64_t o) { at[static_cast<std::size_t>(i)] = o; });
                        for_each_offset(args.spec->shape, sb, [&](std::int64_t i, std::int64_t o) {
                            out[i] = convert<R>(f(load(a[at[static_cast<std::size_t>(i)]]), load(b[o])));
                        });
                    }
                }
            });
        } else {
            throw InternalError("an element type that inference should have refused");
        }
    });
}

}  // namespace lazuli::ops
