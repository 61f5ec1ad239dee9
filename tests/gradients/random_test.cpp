// Functions drawn at random: gradients against differences, and both modes against each other.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "checked_call.h"
#include "long_option.h"

namespace lazuli::gradients {
namespace {

using Tensors = std::vector<Tensor>;

/// A function of three tensors: operations drawn one after the other, each on some of what is
/// there.
class DrawnFunction {
   public:
    explicit DrawnFunction(std::uint64_t seed) : seed_(seed) {}

    Tensors operator()(const Tensors& arguments) const {
        std::mt19937_64 random(seed_);
        Tensors pool = arguments;
        const int count = 4 + static_cast<int>(random() % 12);
        for (int i = 0; i < count; ++i) pool.push_back(next(pool, random));
        return {pool.back(), sum(sin(pool[pool.size() - 2]))};
    }

   private:
    static Tensor next(const Tensors& pool, std::mt19937_64& random) {
        const auto pick = [&]() -> const Tensor& { return pool[random() % pool.size()]; };
        const Tensor& x = pick();
        switch (random() % 18) {
            case 0: return tanh(x);
            case 1: return sin(x) * 0.5;
            case 2: return exp(sin(x));
            case 3: return sin(x * pick());
            case 4: return x - pick();
            case 5: return x / (square(pick()) + 1.0);
            case 6: return softmax(x, -1);
            case 7: return sin(sum(x, 0, true)) + x;
            case 8: return x - mean(x, -1, true);
            case 9: return x.transpose().reshape(x.shape());
            case 10: return concat({flip(x, {0}), x}, 1).slice({0, 1}, {3, 5}, {1, 1});
            case 11: return tanh(matmul(matmul(x, x.transpose()), x) * 0.1);
            case 12: return tanh(cumsum(x, 0) * 0.5);
            case 13: return gather(x, Tensor{2, 0, 0}, 0);
            case 14: return select(mask(random), x, tanh(x) + 1.0);
            case 15: return sqrt(square(x) + 1.0) + log(square(x) + 2.0);
            case 16: return x.pad({1, 0}, {0, 2}, 1.0).slice({0, 1}, {3, 5}, {1, 1});
            default: return rms_norm(x, ones({4}, f64)) + erf(x);
        }
    }
    static Tensor mask(std::mt19937_64& random) {
        std::vector<unsigned char> bits;
        for (int i = 0; i < 12; ++i) bits.push_back(static_cast<unsigned char>(random() & 1));
        return Tensor::from(bits, {3, 4}).cast(DType::boolean);
    }

    std::uint64_t seed_;
};

TEST(RandomFunctions, BothModesAgreeWithDifferences) {
    const Device before = default_device();
    set_default_device(Device());
    const int count = tests::count(150, 1000);
    for (int i = 0; i < count; ++i) {
        const auto seed = static_cast<std::uint64_t>(i);
        const DrawnFunction f(seed);
        Tensors x;
        for (std::uint64_t k = 0; k < 3; ++k)
            x.push_back(drawn_like(zeros({3, 4}, f64), 10 * seed + k).eval());
        Tensors v;
        for (std::uint64_t k = 0; k < 3; ++k) v.push_back(drawn_like(x[k], 10 * seed + 4 + k));
        const Tensors y = f(x);
        Tensors w;
        for (std::size_t k = 0; k < y.size(); ++k) w.push_back(drawn_like(y[k], 10 * seed + 8 + k));

        const double back = inner(vjp(f, x).pull(w), v).item<double>();
        const double along = inner(jvp(f, x, v).tangents, w).item<double>();
        const double step = 1e-5;
        const auto at = [&](double by) {
            Tensors moved;
            for (std::size_t k = 0; k < x.size(); ++k) moved.push_back(x[k] + v[k] * by);
            return inner(f(moved), w).item<double>();
        };
        const double slope = (at(step) - at(-step)) / (2 * step);
        const double scale = 1 + std::fabs(slope) + std::fabs(at(0));
        EXPECT_NEAR(back, along, 1e-9 * scale) << "seed " << seed;
        EXPECT_NEAR(back, slope, 1e-5 * scale) << "seed " << seed;
    }
    set_default_device(before);
    fmt::print("{} functions\n", count);
}

}  // namespace
}  // namespace lazuli::gradients
