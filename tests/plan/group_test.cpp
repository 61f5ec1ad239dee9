#include "plan/group.h"

#include <gtest/gtest.h>

#include "ops/values.h"
#include "plan/expand.h"

namespace lazuli::plan {
namespace {

using namespace ops;  // NOLINT: formulas are meant to read as such

/// A program of one or more results.
class Formula {
   public:
    Value param(Shape shape) { return builder_.param("", {f32, std::move(shape)}); }
    Value number(double v) { return builder_.constant(v, {f32, {}}); }
    Program done(std::initializer_list<Value> results) {
        for (const Value& v : results) builder_.result(v);
        return expand(builder_.build(), {});
    }

   private:
    ProgramBuilder builder_;
};

/// A matrix as it lies, or as the transpose of one that does.
Value matrix(Formula& f, std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? permute(f.param({columns, rows}), Axes({1, 0})) : f.param({rows, columns});
}

/// Kernels of a program, and the elements that each reads and writes.
struct Counted {
    std::size_t kernels = 0;
    std::int64_t read = 0;
    std::int64_t written = 0;
};

Counted count(const Program& program) {
    Counted out;
    for (const Grouped& grouped : group(program)) {
        ++out.kernels;
        const codegen::Lowered lowered = codegen::lower(program, grouped.group, "k");
        lowered.kernel.verify();
        for (const codegen::KernelBuffer& buffer : lowered.kernel.buffers)
            (buffer.written ? out.written : out.read) += buffer.elements.constant().value();
    }
    return out;
}

struct Row {
    Shape shape;
    int axis;
};

class Rows : public testing::TestWithParam<Row> {
   protected:
    /// The operand as it lies, or transposed and back: a view that is not row-major.
    Value operand(Formula& f, bool transposed) const {
        const Shape& shape = GetParam().shape;
        if (!transposed) return f.param(shape);
        Shape swapped = shape;
        swap(swapped[0], swapped[shape.rank() - 1]);
        Ints axes;
        for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
        swap(axes[0], axes[shape.rank() - 1]);
        return permute(f.param(swapped), Axes(axes));
    }
    std::int64_t numel() const { return GetParam().shape.numel(); }
    std::int64_t rows() const { return numel() / GetParam().shape[GetParam().axis]; }
    void expect_one(const Program& program, std::int64_t read, std::int64_t written) const {
        const Counted c = count(program);
        EXPECT_EQ(c.kernels, 1U) << program.str();
        EXPECT_EQ(c.read, read);
        EXPECT_EQ(c.written, written);
    }
};

TEST_P(Rows, SoftmaxIsOneKernel) {
    for (const bool transposed : {false, true}) {
        Formula f;
        expect_one(f.done({softmax(operand(f, transposed), GetParam().axis)}), numel(), numel());
    }
}

TEST_P(Rows, LogSumExpIsOneKernel) {
    for (const bool transposed : {false, true}) {
        Formula f;
        const Value x = operand(f, transposed);
        const Value m = max(x, GetParam().axis, true);
        expect_one(f.done({log(sum(exp(x - m), GetParam().axis, true)) + m}), numel(), rows());
    }
}

TEST_P(Rows, NormsAreOneKernel) {
    for (const bool transposed : {false, true}) {
        Formula f;
        const Value x = operand(f, transposed);
        const Value centred = x - mean(x, GetParam().axis, true);
        const Value variance = mean(centred * centred, GetParam().axis, true);
        expect_one(f.done({centred / sqrt(variance + f.number(1e-5))}), numel(), numel());
        Formula g;
        const Value y = operand(g, transposed);
        expect_one(g.done({y / sqrt(mean(y * y, GetParam().axis, true) + g.number(1e-5))}), numel(),
                   numel());
    }
}

INSTANTIATE_TEST_SUITE_P(Group, Rows,
                         testing::Values(Row{{16, 8}, 1}, Row{{4, 4096}, 1}, Row{{3, 8, 5}, 1},
                                         Row{{6, 7}, 0}));

class Layouts : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Group, Layouts, testing::Bool());

TEST_P(Layouts, AChainOfFunctionsIsOneKernel) {
    Formula f;
    const Value x = matrix(f, 64, 32, GetParam());
    const Value y = f.param({64, 32});
    Value v = x;
    for (int i = 0; i < 10; ++i) v = tanh(v * y + f.number(0.5)) - y;
    const Counted c = count(f.done({v}));
    EXPECT_EQ(c.kernels, 1U);
    EXPECT_EQ(c.read, 2 * 64 * 32);
    EXPECT_EQ(c.written, 64 * 32);
}

TEST_P(Layouts, ResultsThatShareWorkAreOneKernel) {
    Formula f;
    const Value x = matrix(f, 64, 32, GetParam());
    const Value shared = exp(x * f.number(2));
    const Counted c = count(f.done({shared + f.number(1), shared * f.number(3)}));
    EXPECT_EQ(c.kernels, 1U);
    EXPECT_EQ(c.read, 64 * 32);
    EXPECT_EQ(c.written, 2 * 64 * 32);
    Formula g;
    const Value y = matrix(g, 64, 32, GetParam());
    const Value first = exp(y);
    EXPECT_EQ(count(g.done({first, first * g.number(3)})).kernels, 1U);
}

TEST(Group, ProductsTakeTheirEpilogue) {
    Formula f;
    const Value x = f.param({16, 32});
    const Value w = f.param({32, 24});
    const Value b = f.param({24});
    const Counted c = count(f.done({gelu(dot_general(x, w, {1}, {0}, {}, {}) + b)}));
    EXPECT_EQ(c.kernels, 1U);
    EXPECT_EQ(c.read, 16 * 32 + 32 * 24 + 24);
    EXPECT_EQ(c.written, 16 * 24);
}

TEST(Group, AProductWithASecondReaderIsStored) {
    Formula f;
    const Value p = dot_general(f.param({16, 32}), f.param({32, 24}), {1}, {0}, {}, {});
    // The second reader transposes it: no kernel can give both what they need.
    const Counted c = count(f.done({relu(p), permute(p, Axes({1, 0})) * f.number(2)}));
    EXPECT_EQ(c.kernels, 2U);
}

TEST(Group, AKernelIsBuiltAroundOneProduct) {
    // The larger product takes the sum; the other is stored.
    Formula f;
    const Value x = f.param({64, 48});
    const Value thin = matmul(f.param({64, 2}), f.param({2, 32}));
    const Program program = f.done({tanh(thin + matmul(x, f.param({48, 32})))});
    const std::vector<Grouped> groups = group(program);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].group.operations.size(), 1U);
    EXPECT_EQ(groups[1].group.operations.size(), 3U);
    const Counted c = count(program);
    EXPECT_EQ(c.read, 64 * 2 + 2 * 32 + 64 * 32 + 64 * 48 + 48 * 32);
    EXPECT_EQ(c.written, 2 * 64 * 32);
}

TEST(Group, AProductThatIsBroadcastIsStored) {
    Formula f;
    const Value p = dot_general(f.param({16, 32}), f.param({32, 24}), {1}, {0}, {}, {});
    // The bias has more rows than the product: inside the sum the product would be computed twice.
    const Counted c = count(f.done({relu(p + f.param({2, 16, 24}))}));
    EXPECT_EQ(c.kernels, 2U);
    EXPECT_EQ(c.read, (16 * 32 + 32 * 24) + (16 * 24 + 2 * 16 * 24));
    EXPECT_EQ(c.written, 16 * 24 + 2 * 16 * 24);
}

TEST(Group, ProductsOfViewsTakeTheirEpilogue) {
    Formula f;
    const Value x = permute(f.param({32, 16}), Axes({1, 0}));
    const Value w = permute(f.param({24, 32}), Axes({1, 0}));
    const Value b = f.param({24});
    const Counted c = count(f.done({gelu(b + dot_general(x, w, {1}, {0}, {}, {}))}));
    EXPECT_EQ(c.kernels, 1U);
    EXPECT_EQ(c.read, 16 * 32 + 32 * 24 + 24);
    EXPECT_EQ(c.written, 16 * 24);
}

TEST_P(Layouts, ProductResidualAndNormAreTwo) {
    Formula f;
    const Value x = matrix(f, 16, 32, GetParam());
    const Value product = dot_general(x, matrix(f, 32, 24, GetParam()), {1}, {0}, {}, {});
    const Value h = product + f.param({24}) + matrix(f, 16, 24, GetParam());
    const Value out = layer_norm(h, f.param({24}), f.param({24}));
    const Counted c = count(f.done({out}));
    EXPECT_LE(c.kernels, 2U);
    // The product is stored with bias and residual added: the norm reads one array.
    EXPECT_EQ(c.read, (16 * 32 + 32 * 24 + 24 + 16 * 24) + (16 * 24 + 24 + 24));
}

TEST(Group, AttentionByHandIsTwo) {
    Formula f;
    // As a model has them: [batch, time, heads, size], seen as [batch, heads, time, size].
    const auto head = [&] { return permute(f.param({2, 8, 3, 4}), Axes({0, 2, 1, 3})); };
    const Value q = head();
    const Value k = head();
    const Value v = head();
    const Value scores = dot_general(q, k, {3}, {3}, {0, 1}, {0, 1}) * f.number(0.5);
    const Value out = dot_general(softmax(scores, -1), v, {3}, {2}, {0, 1}, {0, 1});
    const Counted c = count(f.done({out}));
    EXPECT_LE(c.kernels, 2U);
    const std::int64_t heads = 2 * 3 * 8 * 4;
    const std::int64_t square = 2 * 3 * 8 * 8;
    EXPECT_EQ(c.read, 2 * heads + square + heads);
    EXPECT_EQ(c.written, square + heads);
}

TEST_P(Layouts, CrossEntropyIsOneKernel) {
    Formula f;
    const Value logits = matrix(f, 16, 10, GetParam());
    ProgramBuilder& builder = logits.builder();
    const Value targets = builder.param("targets", {i64, {16}});
    const TensorSpec rows{i64, {16}};
    const Attribute axis[] = {std::int64_t{0}};
    const Value row = builder.op("iota", {}, axis, &rows);
    const Value ten = builder.constant(10, {i64, {}});
    const Value m = max(logits, 1, true);
    const Value normaliser = log(sum(exp(logits - m), 1)) + reshape(m, {16});
    const Value picked = gather(reshape(logits, {160}), row * ten + targets, 0);
    const Counted c = count(f.done({mean(normaliser - picked)}));
    EXPECT_EQ(c.kernels, 1U);
    EXPECT_EQ(c.read, 160 + 16);
    EXPECT_EQ(c.written, 1);
}

TEST(Group, AConvolutionOfViewsIsOne) {
    Formula f;
    const Value image = f.param({1, 3, 8, 8});
    const Value weight = f.param({4, 3, 3, 3});
    ProgramBuilder& builder = image.builder();
    const Attribute padding[] = {Ints{0, 0, 1, 1}, Ints{0, 0, 1, 1}, Scalar(0.0)};
    const Value padded = builder.op("pad", {&image, 1}, padding);
    const Value windows = unfold(unfold(padded, 2, 3, 1), 3, 3, 1);
    const Value product = dot_general(windows, weight, {1, 4, 5}, {1, 2, 3}, {}, {});
    const Counted c = count(f.done({relu(product * f.number(0.1))}));
    EXPECT_EQ(c.kernels, 1U);
    EXPECT_EQ(c.read, 3 * 8 * 8 + 4 * 3 * 3 * 3);
}

TEST(Group, LongChainsAreCut) {
    Formula f;
    Value v = f.param({4});
    for (int i = 0; i < 20'000; ++i) v = tanh(v);
    const Program program = f.done({v});
    std::size_t kernels = 0;
    for (const Grouped& grouped : group(program)) {
        EXPECT_LE(grouped.group.operations.size(), GroupCosts{}.largest);
        ++kernels;
    }
    EXPECT_LE(kernels, 200U);
}

TEST(Group, DiamondsTakeNoTime) {
    // Two ways from each value to the next, sixty times: 2^60 ways in all.
    Formula f;
    const Value x = f.param({4, 4});
    const Value first = exp(x);
    Value v = first;
    for (int i = 0; i < 60; ++i) v = tanh(v) + neg(v);
    EXPECT_EQ(count(f.done({first, v})).kernels, 1U);
}

}  // namespace
}  // namespace lazuli::plan
