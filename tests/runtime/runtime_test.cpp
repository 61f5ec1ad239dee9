// The engine with a backend of the test's own: this test links no built-in backend.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "lazuli/backend.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/graph.h"
#include "lazuli/ops.h"

namespace lazuli {
namespace {

/// Counts what it is asked to do, and fails when told to. Every result is filled with the number of
/// operations of its program.
class Probe final : public Backend {
   public:
    std::string name() const override { return "probe"; }
    DeviceInfo describe() const override { return {"a test", 0}; }
    bool supports(const OpDef&, std::span<const TensorSpec>, const TensorSpec&) const override {
        return true;
    }
    std::shared_ptr<const void> prepare(const Program& program) override {
        ++prepared;
        return std::make_shared<Program>(program);
    }
    std::vector<BufferPtr> run(const void* data, std::span<const Binding>) override {
        ++ran;
        const auto& program = *static_cast<const Program*>(data);
        operations = program.size();
        results = program.results().size();
        if (delay > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay));
        if (fail_with == 1) throw ExecutionError("probe", "told to");
        if (fail_with == 2) throw OutOfMemory("told to", 1, 0);
        for (std::size_t i = 0; i < program.size(); ++i) {
            if (program.operation(i).def().name == fail_on)
                throw ExecutionError(fail_on, "told to");
        }
        std::vector<BufferPtr> out;
        for (const ProgramResult& result : program.results()) {
            const TensorSpec spec = program.spec(result.value);
            out.push_back(allocate(static_cast<std::size_t>(spec.nbytes())));
            auto* to = static_cast<unsigned char*>(out.back()->host_mutable());
            for (std::int64_t i = 0; i < spec.shape.numel(); ++i)
                store_scalar(program.size(), spec.dtype,
                             to + static_cast<std::size_t>(i) * size_of(spec.dtype));
        }
        return out;
    }
    BufferPtr allocate(std::size_t bytes) override { return allocate_host(device(), bytes); }
    void copy_in(Buffer& to, const void* from, std::size_t bytes) override {
        std::memcpy(to.host_mutable(), from, bytes);
    }
    void copy_out(void* to, const Buffer& from, std::size_t bytes) override {
        std::memcpy(to, from.host_data(), bytes);
    }

    std::atomic<int> prepared{0};
    std::atomic<int> ran{0};
    std::atomic<std::size_t> operations{0};
    std::atomic<std::size_t> results{0};
    std::atomic<int> fail_with{0};
    std::atomic<int> delay{0};
    std::string fail_on;
};

Probe& probe() {
    static Probe* p = [] {
        auto owned = std::make_unique<Probe>();
        Probe* raw = owned.get();
        set_default_device(register_backend(std::move(owned)));
        return raw;
    }();
    p->fail_with = 0;
    p->fail_on = "";
    p->delay = 0;
    return *p;
}

TEST(Engine, ComputesOnlyWhatTheTargetNeeds) {
    Probe& p = probe();
    const Tensor x = Tensor{1.0, 2.0};
    const Tensor wanted = x.exp();
    const Tensor other = wanted.tanh().sum();
    wanted.eval();
    EXPECT_EQ(p.operations, 1U);
    EXPECT_TRUE(wanted.is_materialized());
    EXPECT_FALSE(other.is_materialized());
    EXPECT_EQ(other.graph_size(), 2U);
    other.eval();
    EXPECT_EQ(p.operations, 2U) << "what was computed is a parameter now";
}

TEST(Engine, TheSameGraphIsPlannedOnce) {
    Probe& p = probe();
    const Tensor x = Tensor{1.0, 2.0};
    const auto work = [&](double factor) { return ((x * factor).tanh() + x).eval(); };
    (void)work(3.5);
    const int prepared = p.prepared;
    const CacheStats before = cache_stats();
    for (int i = 0; i < 10; ++i) (void)work(3.5 + i);
    EXPECT_EQ(p.prepared, prepared) << "another number is no other plan";
    EXPECT_EQ(cache_stats().hits - before.hits, 10U);
    (void)((x * 2.0).tanh() + x).eval();
    EXPECT_EQ(p.prepared, prepared + 1) << "a number that rules may use is";
}

TEST(Engine, KeepsHeldReductionsAndRecomputesHeldElementwise) {
    Probe& p = probe();
    const Tensor x = Tensor{1.0, 2.0};
    const Tensor held_sum = x.sum();
    const Tensor held_exp = x.exp();
    const Tensor y = (held_exp + held_sum).tanh();
    y.eval();
    EXPECT_TRUE(held_sum.is_materialized());
    EXPECT_FALSE(held_exp.is_materialized());
    EXPECT_EQ(p.results, 2U);
    const Tensor z = (x.exp() + x.sum()).tanh();
    z.eval();
    EXPECT_EQ(p.results, 1U) << "nobody holds the sum here";
}

TEST(Engine, EvaluatesSeveralTargetsTogether) {
    Probe& p = probe();
    const Tensor x = Tensor{1.0, 2.0};
    const Tensor shared = x.exp();
    const Tensor a = shared + 1;
    const Tensor b = shared * 2;
    const int ran = p.ran;
    eval(a, b, a);
    EXPECT_EQ(p.ran, ran + 1);
    EXPECT_TRUE(a.is_materialized() && b.is_materialized());
}

TEST(Engine, AFailureStaysWithTheTensorsItTouches) {
    Probe& p = probe();
    const Tensor x = Tensor{1.0, 2.0};
    p.fail_on = "tanh";
    const Tensor bad = x.tanh();
    const Tensor good = x.exp();
    EXPECT_THROW(eval(bad, good), ExecutionError);
    EXPECT_TRUE(good.is_materialized());
    p.fail_on = "";
    EXPECT_THROW(bad.eval(), ExecutionError) << "the error is kept";
    EXPECT_THROW((bad + 1).eval(), ExecutionError) << "and reaches what depends on it";
    EXPECT_EQ(bad.str(), "Tensor(op=tanh, shape=[2], dtype=f32, failed)");
    x.tanh().eval();
}

TEST(Engine, OutOfMemoryCanBeTriedAgain) {
    Probe& p = probe();
    const Tensor y = Tensor{1.0, 2.0}.exp();
    p.fail_with = 2;
    EXPECT_THROW(y.eval(), OutOfMemory);
    EXPECT_EQ(y.str(), "Tensor(op=exp, shape=[2], dtype=f32, lazy)");
    p.fail_with = 0;
    y.eval();
    EXPECT_TRUE(y.is_materialized());
}

TEST(Engine, TwoThreadsComputeASharedTensorOnce) {
    Probe& p = probe();
    p.delay = 30;
    const Tensor shared = Tensor{1.0, 2.0}.sum();
    const int ran = p.ran;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([copy = shared] { copy.eval(); });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(p.ran, ran + 1);
}

TEST(Engine, AGraphAboveATensorInFlightWaitsForIt) {
    Probe& p = probe();
    p.delay = 30;
    const Tensor shared = Tensor{1.0, 2.0}.sum();
    std::thread first([copy = shared] { copy.eval(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Tensor above = shared + 1;
    above.eval();
    first.join();
    EXPECT_TRUE(above.is_materialized());
}

TEST(Engine, EvaluatedNodesLetGoOfTheirInputs) {
    (void)probe();
    Tensor x = Tensor{1.0, 2.0};
    const std::uint64_t live = graph_stats().live_nodes;
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y + x;
    y.eval();
    EXPECT_EQ(graph_stats().live_nodes, live + 1);
    EXPECT_EQ(y.graph_size(), 0U);
}

TEST(Engine, LongLoopsAreFlushedByThemselves) {
    Probe& p = probe();
    Tensor x = Tensor{1.0, 2.0};
    const Tensor y = x;
    const std::uint64_t flushes = graph_stats().flushes;
    const int ran = p.ran;
    for (int i = 0; i < 300'000; ++i) x = x + y;
    EXPECT_GT(p.ran, ran);
    EXPECT_GT(graph_stats().flushes, flushes);
    EXPECT_LT(graph_stats().live_nodes, 100'000U);
}

TEST(Engine, ManyChainsSideBySideAreFlushedToo) {
    (void)probe();
    std::vector<Tensor> chains(1000, Tensor{1.0, 2.0});
    const Tensor y = Tensor{1.0, 2.0};
    std::uint64_t most = 0;
    for (int i = 0; i < 3'000'000; ++i) {
        Tensor& x = chains[static_cast<std::size_t>(i) % chains.size()];
        x = x + y;
        if (i % 50'000 == 0) most = std::max(most, graph_stats().live_nodes);
    }
    EXPECT_LT(most, 1'500'000U);
}

TEST(Engine, AFlushThatFailsIsNotTriedAtEveryOperation) {
    Probe& p = probe();
    Tensor x = Tensor{1.0, 2.0};
    const Tensor y = x;
    p.fail_with = 2;
    const int ran = p.ran;
    for (int i = 0; i < 200'000; ++i) x = x + y;
    EXPECT_LT(p.ran - ran, 20);
    p.fail_with = 0;
    x.eval();
    EXPECT_TRUE(x.is_materialized());
}

TEST(Devices, AreNamedAndChecked) {
    Probe& p = probe();
    EXPECT_EQ(Device("probe"), p.device());
    EXPECT_EQ(default_device().name(), "probe");
    EXPECT_THROW(Device("nowhere"), DeviceError);
    EXPECT_THROW(register_backend(std::make_unique<Probe>()), ArgumentError);
    EXPECT_THROW((void)backend_of(Device(60)), DeviceError);
}

TEST(Memory, LimitsAndAlignment) {
    const BufferPtr buffer = allocate_host(probe().device(), 100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->host_data()) % 64, 0U);
    try {
        (void)allocate_host(probe().device(), std::size_t{1} << 60);
        FAIL();
    } catch (const OutOfMemory& e) {
        EXPECT_EQ(e.demand, std::uint64_t{1} << 60);
        EXPECT_GT(e.limit, 0U);
        EXPECT_EQ(e.largest.front(), std::uint64_t{1} << 60);
    }
    const Tensor huge = zeros({1LL << 50});
    EXPECT_THROW(
        (void)allocate_host(probe().device(), static_cast<std::size_t>(huge.spec().nbytes())),
        OutOfMemory);
}

}  // namespace
}  // namespace lazuli
