// Products of matrices on the CPU: sizes around the tiles, every layout, and what is fused before
// and behind them, against the reference backend.

#include <gtest/gtest.h>

#include <cmath>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using Make = std::function<Tensor(const std::vector<Tensor>&)>;

/// What `make` computes of operands of these shapes, on both devices. `terms` is how many products
/// are added up.
void expect_same(const std::vector<Shape>& shapes, DType dtype, std::int64_t terms,
                 const Make& make) {
    std::vector<Tensor> plain;
    std::vector<Tensor> there;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        // Whole numbers, whose sums are exact whatever their order: a product is right or wrong.
        const Tensor whole = (key(100 + i).random_uniform(shapes[i]) * 9.0).cast(i32) - 4;
        plain.push_back(whole.cast(dtype).to(Device()).eval());
        there.push_back(plain.back().to(Device("cpu")));
    }
    const std::vector<double> want = make(plain).cast(f64).to_vector<double>();
    const Tensor got = make(there);
    EXPECT_EQ(got.device().name(), "cpu");
    const std::vector<double> have = got.cast(f64).to_vector<double>();
    ASSERT_EQ(have.size(), want.size());
    const double epsilon = dtype == f64   ? 0x1p-52
                           : dtype == f32 ? 0x1p-23
                           : dtype == f16 ? 0x1p-10
                                          : 0x1p-7;
    const double bound =
        epsilon *
        (4 + (dtype == f32 || dtype == f64 ? 2 * std::sqrt(static_cast<double>(terms)) : 4));
    for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(have[i], want[i], bound * (1 + std::fabs(want[i]))) << "element " << i;
}

TEST(Contraction, SizesAroundTheTiles) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
        for (const std::int64_t m : {1, 2, 13, 14, 15, 61}) {
            for (const std::int64_t n : {1, 15, 16, 31, 33, 70}) {
                for (const std::int64_t k : {1, 3, 64, 257}) {
                    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " +
                                 std::to_string(k) + " " + std::string(name(dtype)));
                    expect_same({{m, k}, {k, n}}, dtype, k,
                                [](const auto& t) { return t[0].matmul(t[1]); });
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST(Contraction, FewRows) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
        for (const std::int64_t m : {1, 3, 8}) {
            for (const std::int64_t n : {1, 17, 200}) {
                for (const std::int64_t k : {1, 15, 64, 200}) {
                    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " +
                                 std::to_string(k) + " " + std::string(name(dtype)));
                    expect_same({{m, k}, {n, k}, {n}}, dtype, k, [](const auto& t) {
                        return (t[0].matmul(t[1].permute({1, 0})) + t[2]).relu();
                    });
                    expect_same({{k, m}, {k, n}}, dtype, k,
                                [](const auto& t) { return t[0].permute({1, 0}).matmul(t[1]); });
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST(Contraction, ManyBlocks) {
    expect_same({{300, 600}, {600, 130}}, f32, 600,
                [](const auto& t) { return t[0].matmul(t[1]); });
    expect_same({{40, 20}, {20, 4500}}, f32, 20, [](const auto& t) {
        return t[0].matmul(t[1]).relu() + 1.0;  // wider than a block of columns
    });
    // So many rows by so large a matrix that it is packed.
    const Make product = [](const auto& t) { return t[0].matmul(t[1]); };
    expect_same({{257, 330}, {330, 810}}, f32, 330, product);
    expect_same({{257, 330}, {330, 410}}, f64, 330, product);
}

TEST(Contraction, EveryLayout) {
    expect_same({{40, 30}, {50, 40}}, f32, 40,
                [](const auto& t) { return t[0].permute({1, 0}).matmul(t[1].permute({1, 0})); });
    expect_same({{60, 40}, {40, 90}}, f32, 40, [](const auto& t) {
        return t[0].slice({0, 0}, {60, 40}, {2, 1}).matmul(t[1].slice({0, 10}, {40, 90}, {1, 3}));
    });
    expect_same({{5, 7, 12}, {5, 12, 9}}, f32, 12, [](const auto& t) { return t[0].matmul(t[1]); });
    expect_same({{2, 3, 7, 12}, {12, 9}}, f32, 12, [](const auto& t) { return t[0].matmul(t[1]); });
    expect_same({{6, 7, 12}, {12, 9}}, f32, 12,
                [](const auto& t) { return t[0].permute({1, 0, 2}).matmul(t[1]); });
    expect_same({{1, 8, 16}, {4, 16, 5}}, f32, 16,
                [](const auto& t) { return t[0].broadcast_to({4, 8, 16}).matmul(t[1]); });
    expect_same({{9, 8, 5}, {5, 8, 6}}, f32, 40, [](const auto& t) {
        return dot_general(t[0], t[1], {1, 2}, {1, 0});  // axes that are no one step through both
    });
}

TEST(Contraction, WithWhatIsFused) {
    for (const DType dtype : {f32, bf16}) {
        expect_same({{33, 64}, {64, 48}, {48}, {33, 48}}, dtype, 64,
                    [](const auto& t) { return (t[0].matmul(t[1]) + t[2]).gelu() * 0.5 + t[3]; });
        expect_same({{2, 20, 64}, {64, 48}, {48}, {2, 20, 48}}, dtype, 64,
                    [](const auto& t) { return (t[3] + (t[2] + t[0].matmul(t[1]))).tanh(); });
    }
    expect_same({{33, 64}, {64, 48}}, f32, 64,
                [](const auto& t) { return t[0].softmax().matmul(t[1].tanh()); });
    // A product that is a result itself, and read once more.
    expect_same({{33, 64}, {64, 48}}, f32, 64 * 48, [](const auto& t) {
        const Tensor product = t[0].matmul(t[1]);
        return product + product.sum(1, true);
    });
    // Attention by hand.
    expect_same({{2, 3, 17, 8}, {2, 3, 17, 8}, {2, 3, 17, 8}}, f32, 17, [](const auto& t) {
        return (t[0].matmul(t[1].permute({0, 1, 3, 2})) * 0.35).softmax().matmul(t[2]);
    });
}

// The epilogue runs on rows as they are complete: not where it reads others, or runs over columns.
// Square, and of several blocks, so that sizes do not tell rows from columns.
TEST(Contraction, EpiloguesThatReadOtherRows) {
    const Shape square{200, 200};
    const Make makes[] = {
        [](const auto& t) { return t[0].matmul(t[1]).permute({1, 0}) + t[2]; },
        [](const auto& t) { return t[0].matmul(t[1]).flip(0) * t[2]; },
        [](const auto& t) { return t[0].matmul(t[1]).flip(1) * t[2]; },
        [](const auto& t) { return t[0].matmul(t[1]).roll(7, 0) * t[2]; },
        [](const auto& t) { return t[0].matmul(t[1]) + t[2].sum(0, true) * 0.01; },
        [](const auto& t) { return t[0].matmul(t[1]) + t[2].sum(1, true) * 0.01; },
        [](const auto& t) {
            return t[0].matmul(t[1]).slice({1, 0}, {200, 200}).pad({0, 0}, {1, 0}) + t[2];
        },
        [](const auto& t) { return (t[0].matmul(t[1]).reshape({100, 400}) * 0.01).exp(); },
        [](const auto& t) { return t[0].matmul(t[1]).slice({0, 0}, {1, 200}) * t[2]; },
    };
    for (std::size_t i = 0; i < std::size(makes); ++i) {
        SCOPED_TRACE(i);
        expect_same({square, square, square}, f32, 200 * 4, makes[i]);
    }
    expect_same({{40, 40, 30}, {40, 30, 50}, {40, 40, 50}}, f32, 30,
                [](const auto& t) { return t[0].matmul(t[1]).permute({1, 0, 2}) + t[2]; });
}

TEST(Contraction, AProductThatIsHeldIsStoredBesideWhatIsMadeOfIt) {
    for (const DType dtype : {f32, f64, bf16}) {
        const Tensor x = key(1).random_uniform({40, 60}).cast(dtype).to(Device("cpu"));
        const Tensor w = key(2).random_uniform({60, 50}).cast(dtype).to(Device("cpu"));
        eval(x, w);
        const auto both = [&] {
            const Tensor product = x.matmul(w);
            const Tensor made = (product * 0.5).tanh();
            made.eval();
            EXPECT_TRUE(product.is_materialized());
            return std::pair(product, made);
        };
        const auto [product, made] = both();
        const Tensor again = x.matmul(w);
        EXPECT_NE((again * 0.5).tanh().explanation().kernels[0].how, "machine code");
        EXPECT_EQ(product.cast(f64).to_vector<double>(),
                  (x.matmul(w)).eval().cast(f64).to_vector<double>());
        EXPECT_EQ(made.cast(f64).to_vector<double>(),
                  (product * 0.5).tanh().eval().cast(f64).to_vector<double>());
    }
}

TEST(Contraction, LargeResultsWhoseRowsBeginAnywhere) {
    // They are written past the cache, whole lines at a time.
    expect_same({{4300, 8}, {8, 1001}}, f32, 8, [](const auto& t) { return -t[0].matmul(t[1]); });
    expect_same({{3, 1450, 8}, {3, 8, 1001}}, f32, 8,
                [](const auto& t) { return t[0].matmul(t[1]) * 0.5; });
}

TEST(Contraction, ABadPositionBehindAProductIsSeen) {
    set_quick_start(false);
    const Device cpu("cpu");
    const Tensor a = ones({64, 8}).to(cpu);
    const Tensor b = ones({8, 32}).to(cpu);
    const Tensor table = ones({10, 32}).to(cpu);
    const Tensor where = (iota({64}, 0) * 2).to(cpu);
    eval(a, b, table, where);
    EXPECT_THROW((a.matmul(b) + table.gather(where)).eval(), ExecutionError);
    set_quick_start(true);
}

TEST(Contraction, OfWhichNothingIsLeft) {
    expect_same({{3, 4}, {4, 5}}, f32, 4, [](const auto& t) {
        return t[0].exp().matmul(t[1]).slice({1, 0}, {1, 5}) + t[1].slice({0, 0}, {0, 5});
    });
}

}  // namespace
}  // namespace lazuli
