#include "example.h"

// Loops and conditions as operations.

namespace examples {

Examples control() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(loop, "16, [1, 2, 4, 8]", [] {
        const Looped powers = loop(4, {ones({})}, [](const Tensor&, const auto& x) {
            return Looped{{x[0] * 2.0}, {x[0]}};  // carried on, and stacked
        });
        return std::pair(powers.carried[0], powers.stacked[0]);
    });
    LAZULI_EXAMPLE(loop, "[10]", [] {
        const Tensor trips = scalar(5);  // an operand: one plan serves every number
        return loop(trips, {zeros({}, i64)}, [](const Tensor& step, const auto& sum) {
            return std::vector{sum[0] + step};  // 0 + 1 + 2 + 3 + 4
        });
    });
    LAZULI_EXAMPLE(scan_loop, "10, [1, 3, 6, 10]", [] {
        const Tensor entries = {1.0, 2.0, 3.0, 4.0};
        const Looped sums =
            scan_loop({zeros({})}, {entries}, [](const auto& carried, const auto& entry) {
                const Tensor sum = carried[0] + entry[0];
                return Looped{{sum}, {sum}};
            });
        return std::pair(sums.carried[0], sums.stacked[0]);
    });
    LAZULI_EXAMPLE(cond, "[[10, 20]]", [] {
        const Tensor x = {1.0, 2.0};
        return cond(
            sum(x) > 0, [&] { return std::vector{x * 10.0}; },
            [&] { return std::vector{x * 0.0}; });
    });
    LAZULI_EXAMPLE(while_loop, "[128]", [] {
        return while_loop(
            {ones({})}, [](const auto& x) { return x[0] < 100; },
            [](const auto& x) { return std::vector{x[0] * 2.0}; });
    });
    return examples;
}

}  // namespace examples
