#include <fmt/format.h>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"
#include "lazuli/optim.h"

namespace lazuli::optim {

namespace {

void expect_positive(std::string_view op, double most) {
    if (!(most > 0)) throw ArgumentError(fmt::format("{}: a bound of {}, not above 0", op, most));
}

}  // namespace

Tensor global_norm(std::span<const Tensor> gradients) {
    std::vector<Tensor> squares;
    for (const Tensor& gradient : gradients) {
        const Tensor wide = size_of(gradient.dtype()) < 4 ? gradient.cast(f32) : gradient;
        squares.push_back(sum(square(wide)));
    }
    return squares.empty() ? zeros({}) : sqrt(sum(stack(squares)));
}

Clipped clip_by_norm(std::span<const Tensor> gradients, double most) {
    expect_positive("clip_by_norm", most);
    Clipped out;
    out.norm = global_norm(gradients);
    const Tensor factor = minimum(most / (out.norm + 1e-6), 1.0);
    for (const Tensor& gradient : gradients)
        out.gradients.push_back(gradient * factor.cast(gradient.dtype()));
    return out;
}

std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double most) {
    expect_positive("clip_by_value", most);
    std::vector<Tensor> out;
    for (const Tensor& gradient : gradients) out.push_back(clamp(gradient, -most, most));
    return out;
}

}  // namespace lazuli::optim
