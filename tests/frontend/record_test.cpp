// Recording without an engine: this test links no layer below frontend, so nothing can be
// evaluated.

#include "frontend/record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/functional.h"
#include "lazuli/graph.h"
#include "lazuli/ops.h"

namespace {
std::size_t allocations = 0;
}

// Every heap allocation of this program is counted.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
    ++allocations;
    void* p = std::malloc(size);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace lazuli {
namespace {

TEST(Record, AllocatesNothingUpToRankSix) {
    const Tensor a = zeros({2, 1, 3, 1, 2, 4}) + 1;
    const Tensor b = zeros({2, 5, 3, 1, 2, 4}) + 1;
    const Tensor c = zeros({4, 4}) + 1;
    const Tensor index = zeros({2}, i64);
    const Tensor k = key(3);
    const auto all = [&] {
        Tensor t = a + a;
        t = std::move(t) * b;
        t = t.tanh().relu();
        t = t * 3.5 + 1;
        t = t.sum({1, 3}, true).max(-1);
        t = b.reshape({2, 15, 8}).permute({2, 0, 1});
        t = b.slice({0, 0, 0, 0, 0, 0}, {1, 2, 3, 1, 2, -1}, {1, 2, 1, 1, 1, 3});
        t = a.broadcast_to({2, 5, 3, 1, 2, 4}).cast(f16);
        t = c.matmul(c, Activation::gelu);
        t = c.dot_general(c, 1, 0);
        t = c.gather(index, 1).softmax().layer_norm(zeros({2}), zeros({2}));
        t = select(c > 0, c, 0.0);
        t = k.random_normal({2, 3});
        t = full({3, 3}, 2.5);
    };
    all();  // names are looked up and slabs are made the first time
    const std::size_t before = allocations;
    all();
    EXPECT_EQ(allocations - before, 0U);
}

TEST(Record, ANodeTakesAtMost192Bytes) {
    EXPECT_LE(sizeof(ir::Node), 192U);
    EXPECT_EQ(graph_stats().bytes_per_node, sizeof(ir::Node));
    EXPECT_EQ(sizeof(Tensor), sizeof(void*));
}

TEST(Record, SlotsAreReused) {
    const Tensor a = zeros({4}) + 1;
    (void)(a + a);
    const GraphStats before = graph_stats();
    for (int i = 0; i < 100'000; ++i) (void)(a + a);
    const GraphStats after = graph_stats();
    EXPECT_EQ(after.live_nodes, before.live_nodes);
    EXPECT_EQ(after.peak_nodes, before.peak_nodes);
    EXPECT_EQ(after.recorded - before.recorded, 100'000U);
    EXPECT_EQ(after.slots_reused - before.slots_reused, 100'000U);
}

TEST(Record, PromotesAndKeepsWeakScalarsWeak) {
    const Tensor h = zeros({2}, f16);
    EXPECT_EQ((h * 2.0).dtype(), f16);
    EXPECT_EQ((2 * h).dtype(), f16);
    EXPECT_EQ((h + zeros({2}, bf16)).dtype(), f32);
    EXPECT_EQ((zeros({2}, i32) * 2.5).dtype(), f32);
    EXPECT_EQ((zeros({2}, i32) / zeros({2}, i32)).dtype(), f32);
    EXPECT_EQ(zeros({2}, i64).exp().dtype(), f32);
    EXPECT_EQ(zeros({2}, i64).mean().dtype(), f32);
    EXPECT_EQ((zeros({2}, u8) < zeros({2}, i8)).dtype(), DType::boolean);
    EXPECT_EQ((h * std::complex<double>(0, 1)).dtype(), c64);
    EXPECT_EQ(select(h > 0, 1, 2).dtype(), i32);
    EXPECT_EQ(select(h > 0, h, 2).dtype(), f16);
    EXPECT_THROW(zeros({2}, u64) + zeros({2}, i8), DTypeError);
    EXPECT_THROW(zeros({2}, u8) + 256, ArgumentError);
}

TEST(Record, BadArgumentsThrowAtTheCallAndChangeNothing) {
    const Tensor a = zeros({2, 3}) + 1;
    Tensor b = zeros({4}) + 1;
    const std::uint64_t live = graph_stats().live_nodes;
    EXPECT_THROW(a + b, ShapeError);
    EXPECT_THROW(a + std::move(b), ShapeError);
    EXPECT_TRUE(b.defined()) << "a tensor that was to be handed over stays where the op throws";
    EXPECT_THROW(a.reshape({4, 4}), ShapeError);
    EXPECT_THROW(a.sum(2), IndexError);
    EXPECT_THROW(a.permute({0, 0}), IndexError);
    EXPECT_THROW(a.slice({0}, {1}), ShapeError);
    EXPECT_THROW(a.slice({0, 0}, {2, 2}, {1, 0}), ArgumentError);
    EXPECT_THROW(a.matmul(b), ShapeError);
    EXPECT_THROW(a + Tensor(), ArgumentError);
    EXPECT_THROW(concat({a, b}), ShapeError);
    EXPECT_THROW(concat(std::span<const Tensor>()), ArgumentError);
    EXPECT_THROW(zeros({-1}), ShapeError);
    EXPECT_THROW((void)a.size(2), IndexError);
    EXPECT_THROW(call("frobnicate", {}), ArgumentError);
    EXPECT_EQ(graph_stats().live_nodes, live);
    try {
        (void)a.matmul(zeros({4, 5}));
        FAIL();
    } catch (const ShapeError& e) {
        EXPECT_STREQ(e.what(), "matmul: inner dimensions differ: [2, 3] @ [4, 5] (3 vs 4)");
        EXPECT_EQ(e.expected, "[2, 3]");
        EXPECT_EQ(e.actual, "[4, 5]");
    }
}

TEST(Record, HandsOverEachReferenceOnce) {
    Tensor a = zeros({2}) + 1;
    Tensor b = a;
    Tensor c = std::move(a) + b;
    EXPECT_FALSE(a.defined());
    EXPECT_TRUE(b.defined());
    Tensor d = std::move(b) + std::move(b);  // the same tensor twice
    EXPECT_FALSE(b.defined());
    d = d + std::move(d);
    d += d;
    EXPECT_EQ(d.graph_size(), 6U);
}

TEST(Record, SlicesAsNumpy) {
    const Tensor x = zeros({10}) + 1;
    const auto size = [&](std::int64_t start, std::int64_t stop, std::int64_t step) {
        return x.slice({start}, {stop}, {step}).shape()[0];
    };
    EXPECT_EQ(size(0, 10, 1), 10);
    EXPECT_EQ(size(-3, 10, 1), 3);
    EXPECT_EQ(size(2, -2, 3), 2);
    EXPECT_EQ(size(9, -11, -1), 10);
    EXPECT_EQ(size(-1, 0, -4), 3);
    EXPECT_EQ(size(5, 2, 1), 0);
    EXPECT_EQ(size(100, 200, 1), 0);
    EXPECT_EQ(size(INT64_MIN, INT64_MAX, INT64_MAX), 1);
    EXPECT_EQ(size(INT64_MAX, INT64_MIN, INT64_MIN), 1);
}

TEST(Record, MillionNodesAreDroppedWithoutRecursion) {
    const GraphScope keep;  // nothing is flushed meanwhile
    Tensor x = zeros({2}) + 1;
    for (int i = 0; i < 1'000'000; ++i) x = std::move(x) + 1;
    EXPECT_EQ(x.graph_size(), 2'000'000U + 3);
}

TEST(Record, FactoriesAllocateNothing) {
    const Tensor t = zeros({1LL << 20, 1LL << 20});  // four terabytes
    EXPECT_EQ(t.numel(), 1LL << 40);
    EXPECT_FALSE(t.is_materialized());
    EXPECT_EQ((t + ones_like(t)).shape(), t.shape());
    EXPECT_EQ(t.str(), "Tensor(op=constant, shape=[1048576, 1048576], dtype=f32, lazy)");
}

TEST(Scope, GathersWhatFunctionsRecord) {
    const Tensor outside = (zeros({3}) + 1).name("x");
    GraphScope scope;
    const Tensor y = (outside * 2).tanh();
    const Tensor z = y.sum();
    const Program p = scope.program();
    EXPECT_EQ(p.str(),
              "program(x: f32[3]) {\n"
              "  %0 = constant() value=2.0 : f32[]\n"
              "  %1 = mul(x, %0) : f32[3]\n"
              "  %2 = tanh(%1) : f32[3]\n"
              "  %3 = sum(%2) axes=[0] keepdims=false : f32[]\n"
              "  return %3\n"
              "}\n");
    EXPECT_EQ(scope.recorded().size(), 4U);
    const Tensor both[] = {y, z};
    EXPECT_EQ(scope.program(both).results().size(), 2U);
}

TEST(Scope, AnInnerScopeIsPartOfTheOuter) {
    const Tensor x = zeros({3}) + 1;
    GraphScope outer;
    Tensor y;
    {
        GraphScope inner;
        y = x * x;
        EXPECT_EQ(inner.program().size(), 1U);
    }
    const Tensor z = y + x;
    EXPECT_EQ(outer.program().size(), 2U);
}

TEST(Capture, ScalarsEnterByClass) {
    const Tensor x = scalar(1.5);
    EXPECT_EQ(capture(x * 2.0), capture(x * 2.0));
    EXPECT_FALSE(capture(x * 2.0) == capture(x * 0.5));
    EXPECT_EQ(capture(x * 3.0), capture(x * 7.0));
    EXPECT_EQ(capture(x * 3.0).params().size(), 2U);
    EXPECT_FALSE(capture(x * 3.0) == capture(x * 2.0));
    EXPECT_EQ(capture(x * scalar(2.0)), capture(x * 3.0));
    EXPECT_EQ(capture(full({2}, 4.5)), capture(full({2}, 5.5)));
}

TEST(Functional, ValidatesWithoutRecording) {
    const Tensor a = zeros({2, 3}) + 1;
    const Tensor b = zeros({3, 4}, f16);
    const Tensor pair[] = {a, b};
    const std::vector<Attribute> none{std::string("none")};
    const std::uint64_t recorded = graph_stats().recorded;
    const functional::CallPlan plan = functional::validate("matmul", pair, none);
    EXPECT_EQ(graph_stats().recorded, recorded);
    EXPECT_EQ(plan.result.str(), "f32[2, 4]");
    EXPECT_EQ(functional::capture(plan).spec(), plan.result);
    const Tensor wrong[] = {a, a};
    EXPECT_THROW((void)functional::validate("matmul", wrong, none), ShapeError);
}

TEST(Functional, PoliciesAreSetAndScoped) {
    using functional::Policy;
    EXPECT_EQ(functional::implementations("softmax"),
              (std::vector<std::string>{"stable", "logsumexp"}));
    EXPECT_EQ(functional::policy_of("softmax"), Policy::standard());
    {
        const functional::PolicyScope scope("softmax", Policy::force("logsumexp"));
        EXPECT_EQ(functional::policy_of("softmax"), Policy::force("logsumexp"));
        const functional::PolicyScope inner("softmax", Policy::benchmark(3));
        EXPECT_EQ(functional::policy_of("softmax"), Policy::benchmark(3));
    }
    EXPECT_EQ(functional::policy_of("softmax"), Policy::standard());
    functional::set_policies_json(R"({"softmax": {"force": "logsumexp"}, "*": {"benchmark": 5}})");
    EXPECT_EQ(functional::policy_of("softmax"), Policy::force("logsumexp"));
    EXPECT_EQ(functional::policy_of("matmul"), Policy::benchmark(5));
    setenv("LAZULI_POLICY", "matmul=force:multiply_sum;softmax=benchmark:7", 1);
    functional::reset_policies();
    EXPECT_EQ(functional::policy_of("matmul"), Policy::force("multiply_sum"));
    EXPECT_EQ(functional::policy_of("softmax"), Policy::benchmark(7));
    unsetenv("LAZULI_POLICY");
    functional::reset_policies();
    EXPECT_THROW(functional::set_policy("softmax", Policy::force("magic")), ArgumentError);
    EXPECT_THROW(functional::set_policy("add", Policy::standard()), ArgumentError);
    EXPECT_THROW(functional::set_policies_json("{\"softmax\": 3}"), ArgumentError);
    EXPECT_THROW(functional::set_policies_json("nonsense"), ArgumentError);
    EXPECT_THROW(functional::load_policies("/nonexistent.json"), FileError);
}

}  // namespace
}  // namespace lazuli
