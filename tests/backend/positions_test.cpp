// Positions of extremes in long rows, by the host kernels against the records.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "backend/host/kernels.h"
#include "lazuli/op.h"
#include "ops/threefry.h"

namespace lazuli {
namespace {

/// Elements of few values, so that the best comes several times; NaN at a place, if wanted.
template <class T>
std::vector<T> drawn(std::int64_t count, std::uint64_t seed, std::int64_t nan_at) {
    std::vector<T> out(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<T>(ops::threefry(seed, i) % 100);
    if constexpr (std::is_floating_point_v<T>) {
        if (nan_at >= 0) {
            out[static_cast<std::size_t>(nan_at)] = std::numeric_limits<T>::quiet_NaN();
            out[static_cast<std::size_t>(count - 1)] = std::numeric_limits<T>::quiet_NaN();
        }
    }
    return out;
}

template <class T>
void expect_same(const Shape& shape, const Ints& axes, std::int64_t nan_at) {
    const TensorSpec spec{dtype_of<T>(), shape};
    const std::vector<T> data = drawn<T>(shape.numel(), 5, nan_at);
    const HostArray inputs[] = {{data.data(), &spec}};
    for (const char* name : {"argmax", "argmin"}) {
        const OpDef& def = op_def(require_op(name));
        AttrWords words;
        words.axes(axes.dims());
        words.boolean(false);
        const Attribute attrs[] = {axes, false};
        const TensorSpec result = infer(name, {&spec, 1}, attrs);
        std::vector<std::int64_t> plain(static_cast<std::size_t>(result.shape.numel()), -1);
        std::vector<std::int64_t> fast(plain.size(), -2);
        def.evaluate({def, Attrs(def, words.words()), inputs, &result, plain.data()});
        backend::host_kernel(def)({def, Attrs(def, words.words()), inputs, &result, fast.data()});
        EXPECT_EQ(plain, fast) << name << " of " << spec.str() << " over " << axes.str();
    }
}

template <class T>
void expect_same_everywhere() {
    for (const std::int64_t nan_at : {-1, 0, 7, 70'001}) {
        expect_same<T>({200'003}, {0}, nan_at);
        expect_same<T>({30, 5'001}, {1}, nan_at);
        expect_same<T>({3, 70'000}, {0}, nan_at);
        expect_same<T>({7, 40, 301}, {1}, nan_at);
        expect_same<T>({7, 40, 301}, {0, 2}, nan_at);
        expect_same<T>({7, 40, 301}, {1, 2}, nan_at);
        expect_same<T>({100'000, 1}, {1}, nan_at);
        expect_same<T>({100'000, 1}, {}, nan_at);
    }
}

TEST(Positions, AreTheFirstOnes) {
    expect_same_everywhere<float>();
    expect_same_everywhere<double>();
    expect_same_everywhere<std::int8_t>();
    expect_same_everywhere<std::uint64_t>();
}

}  // namespace
}  // namespace lazuli
