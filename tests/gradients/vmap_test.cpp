// Functions of many against the same function of each.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "checked_call.h"
#include "lazuli/conformance.h"

namespace lazuli::gradients {
namespace {

using Tensors = std::vector<Tensor>;

/// As many as a loop would take: each operand's entries are drawn like it, or stay the same for
/// all.
void check(const CheckedCall& call, unsigned which, std::uint64_t seed) {
    constexpr std::int64_t kCount = 3;
    const OpDef& def = op_def(call.op);
    std::vector<Tensors> entries(kCount, call.operands);
    Tensors arguments;
    std::vector<std::optional<int>> axes;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
        if ((which >> i & 1) == 0) {
            arguments.push_back(call.operands[i]);
            axes.emplace_back();
            continue;
        }
        for (std::size_t k = 0; k < kCount; ++k) {
            Tensor drawn = conformance::draw(call.operands[i].spec(), def.sample.low,
                                             def.sample.high, false, ++seed)
                               .to(Device());
            if (i == 0 && def.sample.diagonal != 0)
                drawn = conformance::with_diagonal(drawn, def.sample.diagonal);
            entries[k][i] = drawn;
        }
        arguments.push_back(stack({entries[0][i], entries[1][i], entries[2][i]}, 0));
        axes.emplace_back(0);
    }
    const Tensors many = vmap_of(call.results, arguments, axes);
    for (std::size_t r = 0; r < many.size(); ++r) {
        Tensors each;
        for (std::size_t k = 0; k < kCount; ++k) each.push_back(call.results(entries[k])[r]);
        const Tensor expected = stack({each[0], each[1], each[2]}, 0);
        ASSERT_EQ(many[r].spec(), expected.spec()) << call.text;
        if (expected.numel() == 0) continue;
        const Tensor far = max(abs(many[r] - expected) / (abs(expected) + 1.0));
        const double allowed = call.dtype == f32 ? 1e-4 : 1e-9;
        // Both may be NaN, as means of nothing are.
        const bool both_nan = all(eq(isnan(abs(expected)), isnan(abs(many[r])))).item<bool>();
        const double distance = far.item<double>();
        EXPECT_TRUE(distance <= allowed || (std::isnan(distance) && both_nan))
            << call.text << " which " << which << ": " << distance;
    }
}

TEST(Vmap, EveryOpAgainstEach) {
    const Device before = default_device();
    set_default_device(Device());
    int calls = 0;
    std::set<std::string_view> ops;
    for (int i = 0; i < op_count(); ++i) {
        const auto op = static_cast<OpId>(i);
        for (const CheckedCall& call : checked_calls(op, 3000 * static_cast<std::uint64_t>(i))) {
            const unsigned all = (1U << call.operands.size()) - 1;
            std::set<unsigned> choices{all, 1};
            for (unsigned k = 1; k < call.operands.size() && k < 3; ++k) choices.insert(1U << k);
            for (const unsigned which : choices) {
                try {
                    check(call, which, 91 * static_cast<std::uint64_t>(i) + which);
                } catch (const std::exception& e) {
                    ADD_FAILURE() << call.text << " which " << which << " threw: " << e.what();
                }
                ++calls;
            }
            ops.insert(op_def(op).name);
        }
    }
    set_default_device(before);
    fmt::print("{} calls of {} ops\n", calls, ops.size());
    EXPECT_GT(ops.size(), 150U);
}

TEST(Vmap, GradientsOfEachEntry) {
    const Tensor w = {1.0, -2.0, 0.5};
    const Tensor xs = {{1.0, 2.0, 3.0}, {0.0, 1.0, -1.0}};
    const auto loss = [](const Tensor& weights, const Tensor& x) {
        return square(sum(tanh(weights * x)));
    };
    const Tensor each = vmap(grad(loss), {std::nullopt, 0})(w, xs);
    ASSERT_EQ(each.shape(), (Shape{2, 3}));
    for (int k = 0; k < 2; ++k)
        EXPECT_LT(max(abs(each[k] - grad(loss)(w, xs[k]))).item<float>(), 1e-5F);
    // And the gradient of the mean of all is the mean of the gradients.
    const auto total = [&](const Tensor& weights) {
        return mean(vmap(loss, {std::nullopt, 0})(weights, xs));
    };
    EXPECT_LT(max(abs(grad(total)(w) - mean(each, 0))).item<float>(), 1e-5F);
}

TEST(Vmap, WhatDoesNotFitIsNamed) {
    const auto product = [](const Tensor& x, const Tensor& y) { return x * y; };
    EXPECT_THAT([&] { (void)vmap(product)(zeros({2, 3}), zeros({4, 3})); },
                testing::ThrowsMessage<ShapeError>(
                    testing::HasSubstr("argument 1 is f32[4, 3] with 4 entries along axis 0")));
    EXPECT_THAT([&] { (void)vmap(product)(zeros({}), zeros({4})); },
                testing::ThrowsMessage<ShapeError>(testing::HasSubstr("has no axis")));
}

}  // namespace
}  // namespace lazuli::gradients
