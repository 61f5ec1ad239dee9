#include "example.h"

// The same elements in other places.

namespace examples {

Examples movement() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(reshape, "[[0, 1, 2], [3, 4, 5]]", reshape(arange(6), {2, -1}));
    LAZULI_EXAMPLE(permute, "[2, 4, 3]", permute(zeros({4, 3, 2}), {2, 0, 1}).shape());
    LAZULI_EXAMPLE(transpose, "[[1, 4], [2, 5], [3, 6]]", transpose(Tensor{{1, 2, 3}, {4, 5, 6}}));
    LAZULI_EXAMPLE(transpose, "[5, 3, 2]", transpose(zeros({2, 3, 5}), 0, -1).shape());
    LAZULI_EXAMPLE(Tensor::move_axis, "[3, 5, 2]", zeros({2, 3, 5}).move_axis(0, -1).shape());
    LAZULI_EXAMPLE(Tensor::squeeze, "[3, 5]", zeros({1, 3, 1, 5}).squeeze().shape());
    LAZULI_EXAMPLE(Tensor::unsqueeze, "[[1], [2], [3]]", Tensor({1, 2, 3}).unsqueeze(1));
    LAZULI_EXAMPLE(Tensor::flatten, "[1, 2, 3, 4]", Tensor({{1, 2}, {3, 4}}).flatten());
    LAZULI_EXAMPLE(Tensor::flatten, "[2, 15]", zeros({2, 3, 5}).flatten(1).shape());
    LAZULI_EXAMPLE(Tensor::split, "[[0, 1, 2], [3, 4, 5], [6, 7]]", arange(8).split(3));
    LAZULI_EXAMPLE(broadcast_to, "[[1, 2], [1, 2], [1, 2]]", broadcast_to(Tensor{1, 2}, {3, 2}));
    LAZULI_EXAMPLE(slice, "[[2, 3], [5, 6]]",
                   slice(Tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, {0, 1}, {2, 3}));
    LAZULI_EXAMPLE(slice, "[1, 3, 5]", arange(8)(slice(1, -1, 2)));
    LAZULI_EXAMPLE(pad, "[0, 1, 2, 3, 0, 0]", pad(Tensor{1, 2, 3}, {1}, {2}));
    LAZULI_EXAMPLE(flip, "[[3, 2, 1], [6, 5, 4]]", flip(Tensor{{1, 2, 3}, {4, 5, 6}}, 1));
    LAZULI_EXAMPLE(unfold, "[[0, 1, 2], [2, 3, 4], [4, 5, 6]]", unfold(arange(7), 0, 3, 2));
    LAZULI_EXAMPLE(diagonal, "[1, 5, 9]", diagonal(Tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
    LAZULI_EXAMPLE(diagonal, "[2, 6]", diagonal(Tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, 1));
    LAZULI_EXAMPLE(roll, "[4, 5, 1, 2, 3]", roll(Tensor{1, 2, 3, 4, 5}, 2));
    LAZULI_EXAMPLE(repeat, "[1, 1, 2, 2, 3, 3]", repeat(Tensor{1, 2, 3}, 2, 0));
    LAZULI_EXAMPLE(tile, "[1, 2, 3, 1, 2, 3]", tile(Tensor{1, 2, 3}, {2}));
    LAZULI_EXAMPLE(contiguous, "true, false", [] {
        const Tensor turned = Tensor({{1, 2}, {3, 4}}).eval().transpose();
        return std::pair(turned.is_view(), contiguous(turned).is_view());
    });
    LAZULI_EXAMPLE(concat, "[[1, 2], [3, 4], [5, 6]]",
                   concat({Tensor{{1, 2}, {3, 4}}, Tensor{{5, 6}}}));
    LAZULI_EXAMPLE(stack, "[[1, 2], [3, 4]]", stack({Tensor{1, 2}, Tensor{3, 4}}));
    LAZULI_EXAMPLE(stack, "[[1, 3], [2, 4]]", stack({Tensor{1, 2}, Tensor{3, 4}}, 1));
    LAZULI_EXAMPLE(tril, "[[1, 0, 0], [4, 5, 0], [7, 8, 9]]",
                   tril(Tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
    LAZULI_EXAMPLE(triu, "[[0, 2, 3], [0, 0, 6], [0, 0, 0]]",
                   triu(Tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, 1));
    return examples;
}

}  // namespace examples
