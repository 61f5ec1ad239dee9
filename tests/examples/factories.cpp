#include "example.h"

// Tensors made of nothing.

namespace examples {

Examples factories() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(full, "[[7, 7, 7], [7, 7, 7]]", full({2, 3}, 7));
    LAZULI_EXAMPLE(zeros, "[[0, 0], [0, 0]]", zeros({2, 2}));
    LAZULI_EXAMPLE(ones, "[1, 1, 1]", ones({3}));
    LAZULI_EXAMPLE(empty, "f32[2, 3]", empty({2, 3}).spec());
    LAZULI_EXAMPLE(Make, "f32, i64, f16", [] {
        const Tensor plain = ones({3});
        const Tensor whole = ones({3}, i64);
        const Tensor there = ones({3}, Make(f16, Device("reference")));
        return std::tuple(plain.dtype(), whole.dtype(), there.dtype());
    });
    LAZULI_EXAMPLE(eye, "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", eye(3));
    LAZULI_EXAMPLE(eye, "[[0, 1, 0], [0, 0, 1]]", eye(2, 3, 1));
    LAZULI_EXAMPLE(tri, "[[1, 0, 0], [1, 1, 0], [1, 1, 1]]", tri(3));
    LAZULI_EXAMPLE(arange, "[0, 1, 2, 3, 4]", arange(5));
    LAZULI_EXAMPLE(arange, "[2, 2.5, 3, 3.5]", arange(2.0, 4.0, 0.5));
    LAZULI_EXAMPLE(linspace, "[0, 0.25, 0.5, 0.75, 1]", linspace(0, 1, 5));
    LAZULI_EXAMPLE(logspace, "[1, 10, 100, 1000]", logspace(0, 3, 4));
    LAZULI_EXAMPLE(iota, "[[0, 1, 2], [0, 1, 2]]", iota({2, 3}, 1));
    LAZULI_EXAMPLE(scalar, "[2, 3], [20, 30], true", [] {
        // A new number is a new parameter, not a new plan.
        const Tensor x = {1.0, 1.5};
        const Tensor twice = (x * scalar(2.0)).eval();
        const std::uint64_t plans = cache_stats().plans;
        const Tensor more = (x * scalar(20.0)).eval();
        return std::tuple(twice, more, cache_stats().plans == plans);
    });
    LAZULI_EXAMPLE(full_like, "[7, 7, 7]", full_like(Tensor{1, 2, 3}, 7));
    LAZULI_EXAMPLE(zeros_like, "[0, 0, 0]", zeros_like(Tensor{1, 2, 3}));
    LAZULI_EXAMPLE(ones_like, "[1, 1, 1]", ones_like(Tensor{1, 2, 3}));
    LAZULI_EXAMPLE(empty_like, "i32[3]", empty_like(Tensor{1, 2, 3}).spec());
    LAZULI_EXAMPLE(tensor, "f16[2, 2]", tensor({{1.0, 2.0}, {3.0, 4.0}}, f16).spec());
    LAZULI_EXAMPLE(tensor, "[1e+100, 0.1]", tensor({1e100, 0.1}, f64));
    return examples;
}

}  // namespace examples
