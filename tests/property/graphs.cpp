// The graphs that stay: by kernels as by the reference backend, and in how many kernels.

#include "graphs/graphs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "long_option.h"
#include "optimize/pipeline.h"
#include "plan/expand.h"
#include "plan/group.h"
#include "plan/steps.h"

namespace lazuli::tests {
namespace {

std::size_t kernels_of(const Tensor& target) {
    return plan::group(optimize::optimize(plan::expand(capture(target), {}))).size();
}

/// What `make` records, on both devices.
template <class Make>
void expect_same(const Make& make) {
    const std::vector<float> wanted = make().template to_vector<float>();
    const Device before = default_device();
    set_default_device(Device("interpreter"));
    const Tensor by_kernels = make();
    EXPECT_EQ(by_kernels.device().name(), "interpreter");
    const std::vector<float> got = by_kernels.template to_vector<float>();
    set_default_device(before);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(std::isfinite(wanted[i]));
        EXPECT_NEAR(got[i], wanted[i], 1e-5 + 1e-5 * std::abs(wanted[i])) << i;
    }
}

TEST(Graphs, TransformerBlock) {
    const Tensor y = transformer(1, 2, 5, 16, 4);
    const std::size_t kernels = kernels_of(y);
    fmt::print("graphs: a transformer block of {} operations is {} kernels\n", y.graph_size(),
               kernels);
    EXPECT_LE(kernels, 6U);
    expect_same([] { return transformer(1, 2, 5, 16, 4); });
}

TEST(Graphs, LayersShareTheirCode) {
    const auto steps_of = [](int layers) {
        return plan::make_steps(plan::expand(capture(transformer(layers, 2, 5, 16, 4)), {}));
    };
    const plan::Steps few = steps_of(2);
    const plan::Steps many = steps_of(12);
    fmt::print("graphs: 12 transformer layers are {} launches of {} kernels\n", many.all.size(),
               many.kernels);
    EXPECT_GE(many.all.size(), 6 * 12U);
    EXPECT_EQ(many.kernels, few.kernels);
    EXPECT_LE(many.kernels, 8U);
}

TEST(Graphs, Rwkv7Block) {
    const Tensor y = rwkv7(2, 32, 8);
    const std::size_t kernels = kernels_of(y);
    fmt::print("graphs: two RWKV-7 layers of {} operations are {} kernels\n", y.graph_size(),
               kernels);
    EXPECT_LE(kernels, 60U);
    expect_same([] { return rwkv7(2, 32, 8); });
}

}  // namespace
}  // namespace lazuli::tests
