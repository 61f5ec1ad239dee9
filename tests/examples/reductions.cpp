#include <cmath>

#include "example.h"

// Many elements become one.

namespace examples {

Examples reductions() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(sum, "10", sum(Tensor{{1, 2}, {3, 4}}));
    LAZULI_EXAMPLE(sum, "[4, 6]", sum(Tensor{{1, 2}, {3, 4}}, 0));
    LAZULI_EXAMPLE(sum, "[[3], [7]]", sum(Tensor{{1, 2}, {3, 4}}, 1, /*keepdims=*/true));
    LAZULI_EXAMPLE(prod, "[2, 12]", prod(Tensor{{1, 2}, {3, 4}}, 1));
    LAZULI_EXAMPLE(mean, "[2, 3]", mean(Tensor{{1, 2}, {3, 4}}, 0));
    LAZULI_EXAMPLE(max, "[5, 9]", max(Tensor{{1, 5, 3}, {9, 2, 4}}, 1));
    LAZULI_EXAMPLE(min, "[1, 2]", min(Tensor{{1, 5, 3}, {9, 2, 4}}, 1));
    LAZULI_EXAMPLE(argmax, "[1, 0]", argmax(Tensor{{1, 5, 3}, {9, 2, 4}}, 1));
    LAZULI_EXAMPLE(argmax, "3", argmax(Tensor{{1, 5, 3}, {9, 2, 4}}));
    LAZULI_EXAMPLE(argmin, "[0, 1]", argmin(Tensor{{1, 5, 3}, {9, 2, 4}}, 1));
    LAZULI_EXAMPLE(any, "[true, false]", any(Tensor{{true, false}, {false, false}}, 1));
    LAZULI_EXAMPLE(all, "[true, false]", all(Tensor{{true, true}, {true, false}}, 1));
    LAZULI_EXAMPLE(count_nonzero, "[2, 1]", count_nonzero(Tensor{{1, 0, 7}, {0, 0, 3}}, 1));
    LAZULI_EXAMPLE(var, "4", var(Tensor{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}));
    LAZULI_EXAMPLE(std, "2", Tensor({2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}).std());
    LAZULI_EXAMPLE(logsumexp, "[0.69315, 1000.7]",
                   logsumexp(Tensor{{0.0, 0.0}, {1000.0, 1000.0}}, 1));
    return examples;
}

}  // namespace examples
