#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ops/eval.h"
#include "ops/table.h"
#include "ops/threefry.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_random(const InferArgs& args) {
    const TensorSpec& key = *args.inputs[0];
    if (key.shape.rank() != 0) {
        throw ShapeError(
            fmt::format("{}: a key is one number, u64[], not {}", args.op.name, key.str()), "[]",
            key.shape.str());
    }
    return *args.wanted;
}

template <DTypeSet Types>
TensorSpec infer_random_of(const InferArgs& args) {
    if (!Types.contains(args.wanted->dtype)) {
        throw DTypeError(fmt::format("{}: does not make {}", args.op.name, args.wanted->str()));
    }
    return infer_random(args);
}

std::uint64_t key_of(const EvalArgs& args) { return *args.inputs[0].as<std::uint64_t>(); }

// A second, independent draw for the same position: positions never reach 2^63.
constexpr std::uint64_t kSecond = std::uint64_t{1} << 63;

void evaluate_bits(const EvalArgs& args) {
    const std::uint64_t key = key_of(args);
    const std::int64_t count = args.spec->shape.numel();
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T>) {
            for (std::int64_t i = 0; i < count; ++i) {
                args.result<T>()[i] = static_cast<T>(threefry(key, static_cast<std::uint64_t>(i)));
            }
        }
    });
}

/// The number of significant bits of a type: as many random bits a uniform number is made of.
template <class T>
constexpr int precision() {
    return std::is_same_v<T, Half>       ? 11
           : std::is_same_v<T, BFloat16> ? 8
           : std::is_same_v<T, float>    ? 24
                                         : 53;
}

void evaluate_uniform(const EvalArgs& args) {
    const std::uint64_t key = key_of(args);
    const std::int64_t count = args.spec->shape.numel();
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (is_real_float_v<T>) {
            constexpr int bits = precision<T>();
            for (std::int64_t i = 0; i < count; ++i) {
                const std::uint64_t drawn =
                    threefry(key, static_cast<std::uint64_t>(i)) >> (64 - bits);
                args.result<T>()[i] = convert<T>(std::ldexp(static_cast<double>(drawn), -bits));
            }
        }
    });
}

void evaluate_normal(const EvalArgs& args) {
    const std::uint64_t key = key_of(args);
    const std::int64_t count = args.spec->shape.numel();
    dispatch(args.spec->dtype, [&]<class T>() {
        if constexpr (is_real_float_v<T>) {
            for (std::int64_t i = 0; i < count; ++i) {
                const auto at = static_cast<std::uint64_t>(i);
                // Box and Muller: one radius from (0, 1], one angle from [0, 1).
                const double u =
                    std::ldexp(static_cast<double>((threefry(key, at) >> 11) + 1), -53);
                const double v =
                    std::ldexp(static_cast<double>(threefry(key, at | kSecond) >> 11), -53);
                args.result<T>()[i] =
                    convert<T>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
            }
        }
    });
}

std::vector<Case> cases() {
    return {{{{}}, {}, Shape{100}},
            {{{}}, {}, Shape{3, 5}},
            {{{}}, {}, Shape{}},
            {{{}}, {}, Shape{0, 4}}};
}

}  // namespace

std::vector<OpDef> random() {
    return {
        {
            .name = "random_bits",
            .doc = "Uniformly distributed bits.",
            .edge = "Threefry-2x32-20 of the key at the row-major position; narrow types take the "
                    "low bits.",
            .traits = Trait::shaped | Trait::random | Trait::keep_if_held,
            .dtypes = {u64},
            .infer = infer_random_of<kIntegers>,
            .evaluate = evaluate_bits,
            .cases = cases(),
        },
        {
            .name = "random_uniform",
            .doc = "Numbers uniformly distributed in [0, 1).",
            .edge = "The top 11 (f16), 8 (bf16), 24 (f32) or 53 (f64) bits of the position's "
                    "random bits, as a fraction. Never 1.",
            .traits = Trait::shaped | Trait::random | Trait::keep_if_held,
            .dtypes = {u64},
            .infer = infer_random_of<kFloating>,
            .evaluate = evaluate_uniform,
            .cases = cases(),
        },
        {
            .name = "random_normal",
            .doc = "Numbers of the normal distribution with mean 0 and deviation 1.",
            .edge = "Box-Muller on two draws of 53 bits, computed in f64. At most 8.6 deviations "
                    "from 0; never inf or NaN.",
            .traits = Trait::shaped | Trait::random | Trait::keep_if_held,
            .dtypes = {u64},
            .infer = infer_random_of<kFloating>,
            .evaluate = evaluate_normal,
            .tolerance = {.ulps = 16, .absolute = 1e-6},
            .cases = cases(),
        },
    };
}

}  // namespace lazuli::ops
