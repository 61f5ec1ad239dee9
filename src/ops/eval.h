#pragma once

// What plain evaluations share: walking positions, and computing elementwise functions type by
// type.
//
// f16, bf16 and f32 are computed in double and rounded once; c64 in complex<double>. For + - * /
// sqrt that equals rounding the exact result, since a double has more than twice their precision.

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

/// Integers wrap: they are computed in unsigned 64 bits and cut to their width.
template <class T>
std::uint64_t wide(T v) {
    return static_cast<std::uint64_t>(v);
}

/// Strides, in elements, with which an operand of `shape` is read at positions of the larger shape
/// `out`.
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

/// Where an operand of `shape` is read for each position of `out`; empty where it is read in order.
std::vector<std::int64_t> broadcast_offsets(const Shape& shape, const Shape& out);

/// The type of the result's elements: bool for a comparison, a real for the modulus of a complex
/// number, else the operands' type.
template <class T, class Returned>
using ResultOf = std::conditional_t<
    std::is_same_v<Returned, bool>, bool,
    std::conditional_t<
        std::is_same_v<T, std::complex<float>> && !is_complex_v<Returned>, float,
        std::conditional_t<is_complex_v<T> && !is_complex_v<Returned>, Returned, T>>>;

/// An elementwise evaluation: `F` is a function object that takes and returns Compute<T> values.
/// `Types` says for which operand types it exists.
template <DTypeSet Types, int Arity, class F>
void evaluate_elementwise(const EvalArgs& args) {
    static_assert(Arity == 1 || Arity == 2);
    const std::int64_t count = args.spec->shape.numel();
    std::vector<std::int64_t> offsets[Arity];
    for (std::size_t k = 0; k < Arity; ++k)
        offsets[k] = broadcast_offsets(args.inputs[k].spec->shape, args.spec->shape);
    const auto at = [](const std::vector<std::int64_t>& list, std::int64_t i) {
        return list.empty() ? i : list[static_cast<std::size_t>(i)];
    };
    dispatch(args.inputs[Arity - 1].spec->dtype, [&]<class T>() {
        if constexpr (Types.contains(dtype_of<T>())) {
            const F f;
            const T* a = args.inputs[0].as<T>();
            if constexpr (Arity == 1) {
                using R = ResultOf<T, decltype(f(Compute<T>{}))>;
                R* out = args.result<R>();
                for (std::int64_t i = 0; i < count; ++i)
                    out[i] = convert<R>(f(static_cast<Compute<T>>(a[at(offsets[0], i)])));
            } else {
                using R = ResultOf<T, decltype(f(Compute<T>{}, Compute<T>{}))>;
                R* out = args.result<R>();
                const T* b = args.inputs[1].as<T>();
                for (std::int64_t i = 0; i < count; ++i) {
                    out[i] = convert<R>(f(static_cast<Compute<T>>(a[at(offsets[0], i)]),
                                          static_cast<Compute<T>>(b[at(offsets[1], i)])));
                }
            }
        } else {
            throw InternalError("an element type that inference should have refused");
        }
    });
}

}  // namespace lazuli::ops
