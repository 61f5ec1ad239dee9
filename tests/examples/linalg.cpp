#include "example.h"

// Linear algebra.

namespace examples {

Examples linear_algebra() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(linalg::cholesky, "[[2, 0], [1, 3]]",
                   linalg::cholesky(Tensor{{4.0, 2.0}, {2.0, 10.0}}));
    LAZULI_EXAMPLE(linalg::qr, "[[0.6, -0.8], [0.8, 0.6]], [[5, 4], [0, 3]]", [] {
        const linalg::Qr f = linalg::qr(Tensor{{3.0, 0.0}, {4.0, 5.0}});
        return std::pair(f.q, f.r);
    });
    LAZULI_EXAMPLE(linalg::svd, "[[0, 1], [1, 0]], [3, 2], [[1, 0], [0, 1]]", [] {
        const linalg::Svd f = linalg::svd(Tensor{{0.0, 2.0}, {3.0, 0.0}});
        return std::tuple(f.u, f.s, f.vh);
    });
    LAZULI_EXAMPLE(linalg::svdvals, "[5, 2]", linalg::svdvals(Tensor{{0.0, 2.0}, {-5.0, 0.0}}));
    LAZULI_EXAMPLE(linalg::eigh, "[1, 3], [[0.70711, 0.70711], [-0.70711, 0.70711]]", [] {
        const linalg::Eigh e = linalg::eigh(Tensor{{2.0, 1.0}, {1.0, 2.0}});
        return std::pair(e.values, e.vectors);
    });
    LAZULI_EXAMPLE(linalg::eigvalsh, "[1, 3]", linalg::eigvalsh(Tensor{{2.0, 1.0}, {1.0, 2.0}}));
    LAZULI_EXAMPLE(linalg::solve, "[2, 3]",
                   linalg::solve(Tensor{{2.0, 1.0}, {1.0, 3.0}}, Tensor{7.0, 11.0}));
    LAZULI_EXAMPLE(linalg::triangular_solve, "[2, 3]",
                   linalg::triangular_solve(Tensor{{2.0, 0.0}, {1.0, 3.0}}, Tensor{4.0, 11.0}));
    LAZULI_EXAMPLE(linalg::triangular_solve, "[2, 3]",
                   linalg::triangular_solve(Tensor{{2.0, 1.0}, {0.0, 3.0}}, Tensor{7.0, 9.0},
                                            {.lower = false}));
    LAZULI_EXAMPLE(linalg::inv, "[[-2, 1], [1.5, -0.5]]",
                   linalg::inv(Tensor{{1.0, 2.0}, {3.0, 4.0}}));
    LAZULI_EXAMPLE(linalg::det, "-2", linalg::det(Tensor{{1.0, 2.0}, {3.0, 4.0}}));
    LAZULI_EXAMPLE(linalg::lstsq, "[2, 1]", [] {
        const Tensor line = {{0.0, 1.0}, {1.0, 1.0}, {2.0, 1.0}};  // slope times x, plus one number
        return linalg::lstsq(line, Tensor{1.0, 3.0, 5.0});
    });
    return examples;
}

}  // namespace examples
