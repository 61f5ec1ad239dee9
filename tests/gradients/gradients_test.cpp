// Derivatives of every op against differences: reverse mode, forward mode, and both on top of
// reverse mode.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "checked_call.h"

namespace lazuli::gradients {
namespace {

using Tensors = std::vector<Tensor>;

/// Ops that floats go into and come out of, and that have no gradient.
const std::set<std::string_view> kNone = {"bitcast", "while_loop", "custom_call"};
/// Ops whose differences are not what gradients are meant to be.
const std::set<std::string_view> kOnPurpose = {"stop_gradient"};

/// Where a difference of results is taken over a step so small that f64 (or f32) holds it well.
struct Step {
    explicit Step(DType dtype)
        : size(dtype == f32 ? 2e-3 : 2e-6), relative(dtype == f32 ? 2e-2 : 2e-6) {}
    double size;
    double relative;  // of the sum of the terms' sizes
};

Tensors moved(const Tensors& x, const Tensors& along, double by) {
    Tensors out;
    for (std::size_t i = 0; i < x.size(); ++i) {
        out.push_back(x[i] + along[i] * by);
        if (out.back().dtype() != x[i].dtype()) out.back() = out.back().cast(x[i].dtype());
    }
    return out;
}

Tensors drawn_like(const Tensors& like, std::uint64_t seed) {
    Tensors out;
    for (const Tensor& each : like) out.push_back(gradients::drawn_like(each, ++seed));
    return out;
}

double number(const Tensor& t) { return t.item<double>(); }

/// How large the terms of an inner product are, for tolerances.
double size_of_terms(const Tensors& a, const Tensors& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += number(sum(abs(a[i]) * abs(b[i])));
    return total;
}

void expect_close(double actual, double expected, double scale, const Step& step,
                  const std::string& what) {
    const double allowed = step.relative * (1 + scale + std::fabs(expected));
    if (std::isnan(actual) || !(std::fabs(actual - expected) <= allowed))
        ADD_FAILURE() << fmt::format("{}: {} where differences say {} (terms of {})", what, actual,
                                     expected, scale);
}

bool has_elements(const Tensors& tensors) {
    return std::ranges::any_of(tensors, [](const Tensor& t) { return t.numel() > 0; });
}

void check(const CheckedCall& call, std::uint64_t seed) {
    const TensorFunction f = call.function();
    const Tensors x = call.moving_operands();
    const Step step(call.dtype);
    const Tensors v = drawn_like(x, seed);
    const Tensors y = f(x);
    const Tensors w = drawn_like(y, seed + 100);
    const auto weighted = [&](const Tensors& at) { return Tensors{inner(f(at), w)}; };

    // Reverse mode: in one direction, which holds all elements, and element by element of a few.
    const Tensors g = vjp(f, x).pull(w);
    ASSERT_EQ(g.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(g[i].spec(), x[i].spec()) << call.text;
    const auto slope = [&](const TensorFunction& of, const Tensors& along) {
        const double up = number(of(moved(x, along, step.size))[0]);
        const double down = number(of(moved(x, along, -step.size))[0]);
        return (up - down) / (2 * step.size);
    };
    if (!has_elements(x) || !has_elements(y)) return;
    expect_close(number(inner(g, v)), slope(weighted, v), size_of_terms(g, v), step,
                 call.text + " backwards");

    // Forward mode agrees with it, and with differences of every result.
    const Jvp forward = jvp(f, x, v);
    ASSERT_EQ(forward.tangents.size(), y.size());
    expect_close(number(inner(forward.tangents, w)), number(inner(g, v)),
                 size_of_terms(forward.tangents, w), step, call.text + " forwards and backwards");
    const Tensors up = f(moved(x, v, step.size));
    const Tensors down = f(moved(x, v, -step.size));
    for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(forward.tangents[i].spec(), y[i].spec()) << call.text;
        if (y[i].numel() == 0) continue;
        const Tensor expected = (up[i] - down[i]) * (0.5 / step.size);
        const double far = number(max(abs(forward.tangents[i] - expected)));
        const double scale = number(max(abs(expected)) + max(abs(y[i])));
        expect_close(far, 0, scale, step, call.text + " forwards");
    }

    // The gradient's own gradient.
    if (call.dtype == f32) return;
    const Tensors u = drawn_like(x, seed + 200);
    const TensorFunction along = [&](const Tensors& at) {
        return Tensors{inner(vjp(f, at).pull(w), u)};
    };
    const Tensors second = value_and_grad_of(along, x).gradients;
    expect_close(number(inner(second, v)), slope(along, v),
                 size_of_terms(second, v) + size_of_terms(g, u), {Step(call.dtype)},
                 call.text + " twice");
}

TEST(Gradients, EveryOpByDifferences) {
    const Device before = default_device();
    set_default_device(Device());  // the plain one
    int calls = 0;
    std::set<std::string_view> ops;
    for (int i = 0; i < op_count(); ++i) {
        const auto op = static_cast<OpId>(i);
        const OpDef& def = op_def(op);
        if (kNone.contains(def.name) || kOnPurpose.contains(def.name)) continue;
        for (const CheckedCall& call : checked_calls(op, 1000 * static_cast<std::uint64_t>(i))) {
            try {
                check(call, 77 * static_cast<std::uint64_t>(i) + 5);
            } catch (const std::exception& e) {
                ADD_FAILURE() << call.text << " threw: " << e.what();
            }
            ++calls;
            ops.insert(def.name);
        }
    }
    set_default_device(before);
    fmt::print("{} calls of {} ops\n", calls, ops.size());
    EXPECT_GT(ops.size(), 120U);
}

}  // namespace
}  // namespace lazuli::gradients
