#include "example.h"

// Picking, putting, sorting and scanning.

namespace examples {

Examples data() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(gather, "[30, 10, 40]", gather(Tensor{10, 20, 30, 40}, Tensor{2, 0, -1}));
    LAZULI_EXAMPLE(gather, "[[2, 1], [4, 3]]", gather(Tensor{{1, 2}, {3, 4}}, Tensor{1, 0}, 1));
    LAZULI_EXAMPLE(embedding, "[[5, 6], [1, 2], [5, 6]]",
                   embedding(Tensor{{1, 2}, {3, 4}, {5, 6}}, Tensor{2, 0, 2}));
    LAZULI_EXAMPLE(take_along_axis, "[[30], [40]]",
                   take_along_axis(Tensor{{10, 20, 30}, {40, 50, 60}}, Tensor{{2}, {0}}, 1));
    LAZULI_EXAMPLE(scatter, "[0, 7, 0, 9]", scatter(zeros({4}), Tensor{1, 3}, Tensor{7.0, 9.0}));
    LAZULI_EXAMPLE(scatter, "[2, 1, 0]",
                   scatter(zeros({3}), Tensor{0, 1, 0}, ones({3}), 0, Scatter::add));
    LAZULI_EXAMPLE(dynamic_slice, "[[5, 6], [8, 9]]",
                   dynamic_slice(Tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, Tensor{1, 1}, {2, 2}));
    LAZULI_EXAMPLE(dynamic_update_slice, "[0, 0, 7, 8, 0]",
                   dynamic_update_slice(zeros({5}), Tensor{7.0, 8.0}, Tensor{2}));
    LAZULI_EXAMPLE(blit, "[7, 0, 8, 0, 9]",
                   blit(zeros({5}), Tensor{7.0, 8.0, 9.0}, {0}, /*steps=*/{2}));
    LAZULI_EXAMPLE(one_hot, "[[0, 0, 1], [1, 0, 0]]", one_hot(Tensor{2, 0}, 3));
    LAZULI_EXAMPLE(sort, "[1, 2, 3]", sort(Tensor{3, 1, 2}));
    LAZULI_EXAMPLE(sort, "[3, 2, 1]", sort(Tensor{3, 1, 2}, -1, /*descending=*/true));
    LAZULI_EXAMPLE(argsort, "[1, 2, 0]", argsort(Tensor{30, 10, 20}));
    LAZULI_EXAMPLE(argtopk, "[3, 0]", argtopk(Tensor{30, 10, 20, 40}, 2));
    LAZULI_EXAMPLE(topk, "[40, 30], [3, 0]", [] {
        const TopK top = topk(Tensor{30, 10, 20, 40}, 2);
        return std::pair(top.values, top.indices);
    });
    LAZULI_EXAMPLE(searchsorted, "[0, 1, 3]", searchsorted(Tensor{10, 20, 30}, Tensor{5, 20, 35}));
    LAZULI_EXAMPLE(searchsorted, "[0, 2, 3]",
                   searchsorted(Tensor{10, 20, 30}, Tensor{5, 20, 35}, Side::right));
    LAZULI_EXAMPLE(nonzero, "[[0, 1], [1, 2]]", nonzero(Tensor{{0, 7, 0}, {0, 0, 9}}));
    LAZULI_EXAMPLE(unique, "[1, 2, 5], [2, 0, 2, 1], [1, 1, 2]", [] {
        const Unique found = unique(Tensor{5, 1, 5, 2});
        return std::tuple(found.values, found.inverse, found.counts);
    });
    LAZULI_EXAMPLE(cumsum, "[1, 3, 6, 10]", cumsum(Tensor{1, 2, 3, 4}));
    LAZULI_EXAMPLE(cumsum, "[10, 9, 7, 4]", cumsum(Tensor{1, 2, 3, 4}, 0, /*reverse=*/true));
    LAZULI_EXAMPLE(cumprod, "[1, 2, 6, 24]", cumprod(Tensor{1, 2, 3, 4}));
    LAZULI_EXAMPLE(cummax, "[3, 3, 4, 4, 5]", cummax(Tensor{3, 1, 4, 1, 5}));
    LAZULI_EXAMPLE(cummin, "[3, 1, 1, 1, 1]", cummin(Tensor{3, 1, 4, 1, 5}));
    return examples;
}

}  // namespace examples
