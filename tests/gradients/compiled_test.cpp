// Gradients beyond single ops: through compiled functions, and kept by tensors.

#include <gmock/gmock.h>

#include "lazuli/lazuli.h"

namespace lazuli::gradients {
namespace {

using testing::ElementsAre;
using Tensors = std::vector<Tensor>;

TEST(CompiledFunctions, GradientsFlowThroughThem) {
    const Dim b = dim("compiled_gradients", 1, 8);
    Tensor w = {2.0, 3.0};
    w.set_requires_grad();
    const Function f =
        compile([&](const Tensor& x) { return x * x * w; }, placeholder(f32, {b, 2}));
    const Tensor x = {{1.0, 2.0}};
    EXPECT_THAT(grad([&](const Tensor& t) { return sum(f(t)); })(x).to_vector<float>(),
                ElementsAre(4, 12));
    sum(f(x)).backward();  // of what it took from outside
    EXPECT_THAT(w.grad().to_vector<float>(), ElementsAre(1, 4));
    const NoGradScope scope;
    EXPECT_FALSE(f(x).requires_grad());
    EXPECT_TRUE(f(x).is_materialized());
}

TEST(CompiledFunctions, ComputeWhereNobodyWantsGradients) {
    const Function f = compile([](const Tensor& x) { return x * 2.0; }, placeholder(f32, {2}));
    EXPECT_TRUE(f(Tensor{1.0, 2.0}).is_materialized());
    const auto twice = grad([&](const Tensor& t) { return sum(f(t) * t); });
    const auto once_more = grad([&](const Tensor& t) { return sum(twice(t)); });
    EXPECT_THAT(once_more(Tensor{1.0, 2.0}).to_vector<float>(), ElementsAre(4, 4));
}

/// What a gradient is computed from holds the tensor that keeps it, until it is computed.
TEST(KeptGradients, GoWithTheirTensors) {
    Tensor w = Tensor{1.0, 2.0};
    const Tensor x = {0.5, 0.25};
    std::size_t before = 0;
    for (int i = 0; i < 100; ++i) {
        if (i == 10) before = graph_stats().live_nodes;
        w.set_requires_grad();
        sum(square(w * x - 1.0)).backward();
        w = stop_gradient(w) - w.grad() * 0.1;
        w.eval();
    }
    EXPECT_LE(graph_stats().live_nodes, before + 8);
}

TEST(KeptGradients, ShowInTheText) {
    Tensor w = {1.0, 2.0};
    EXPECT_EQ(tanh(w).str(), "Tensor(op=tanh, shape=[2], dtype=f32, lazy)");
    w.set_requires_grad();
    EXPECT_EQ(tanh(w).str(), "Tensor(op=tanh, shape=[2], dtype=f32, lazy, requires_grad=true)");
}

}  // namespace
}  // namespace lazuli::gradients
