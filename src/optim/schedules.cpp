#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lazuli/error.h"
#include "lazuli/optim.h"

namespace lazuli::optim {

namespace {

void expect_positive(std::string_view schedule, std::int64_t steps) {
    if (steps < 1)
        throw ArgumentError(fmt::format("{}: a schedule over {} steps, below 1", schedule, steps));
}

double share(std::int64_t step, std::int64_t steps) {
    return std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
}

}  // namespace

Schedule constant() {
    return [](std::int64_t) { return 1.0; };
}

Schedule linear(double first, double last, std::int64_t steps) {
    expect_positive("linear", steps);
    return [=](std::int64_t step) { return first + (last - first) * share(step, steps); };
}

Schedule cosine(std::int64_t steps, double last) {
    expect_positive("cosine", steps);
    return [=](std::int64_t step) {
        return last + (1 - last) * (1 + std::cos(std::numbers::pi * share(step, steps))) / 2;
    };
}

Schedule steps(std::int64_t every, double factor) {
    expect_positive("steps", every);
    return [=](std::int64_t step) { return std::pow(factor, static_cast<double>(step / every)); };
}

Schedule warm_up(std::int64_t steps, Schedule then) {
    expect_positive("warm_up", steps);
    return [steps, then = std::move(then)](std::int64_t step) {
        return step < steps ? static_cast<double>(step + 1) / static_cast<double>(steps)
                            : then(step - steps);
    };
}

}  // namespace lazuli::optim
