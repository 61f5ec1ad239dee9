// Allocations that fail, one after the other: an error each, nothing lost, and the next evaluation
// is right.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "failing.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

/// What is recorded and evaluated: products, a softmax, a reduction, a position, an order; three
/// results.
class Work {
   public:
    Work() {
        w.eval();
        x.eval();
        positions.eval();
    }
    std::vector<float> run() const {
        const Tensor h = x.matmul(w).softmax();
        const Tensor y = gather(h, positions, 0).matmul(w);
        const Tensor s = h.sum(0);
        const Tensor ordered = sort(y);
        eval(y, s, ordered);
        std::vector<float> out = y.to_vector<float>();
        const std::vector<float> in_order = ordered.to_vector<float>();
        out.insert(out.end(), in_order.begin(), in_order.end());
        const std::vector<float> sums = s.to_vector<float>();
        out.insert(out.end(), sums.begin(), sums.end());
        return out;
    }

   private:
    Tensor w = key(1).random_uniform({24, 24});
    Tensor x = key(2).random_uniform({24, 24});
    Tensor positions = Tensor::from(std::vector<std::int64_t>{3, 1, 2});
};

/// Lets every `step`th allocation of `run` fail in turn; `prepare` comes before each. How many did.
template <class Prepare>
int fail_each(const Work& work, const std::vector<float>& wanted, long step,
              const Prepare& prepare) {
    int failures = 0;
    for (long n = 0;; n += step) {
        prepare();
        std::vector<float> got;
        tests::until_failure = n;
        try {
            got = work.run();
        } catch (const std::bad_alloc&) {
        } catch (const Error&) {
        }
        const bool none_failed = tests::until_failure >= 0;
        tests::until_failure = -1;
        // What could do without that memory is right all the same.
        if (!got.empty()) {
            EXPECT_EQ(got, wanted) << "allocation " << n;
        }
        EXPECT_EQ(work.run(), wanted) << "behind allocation " << n;
        if (none_failed || testing::Test::HasFailure()) return failures;
        ++failures;
    }
}

TEST(NoMemory, EveryAllocationOfAnEvaluationMayFail) {
    const Work work;
    const std::vector<float> wanted = work.run();
    const std::uint64_t nodes = graph_stats().live_nodes;
    const std::uint64_t bytes = memory_stats().bytes;
    const int failures = fail_each(work, wanted, 1, [] {});
    fmt::print("no memory: {} allocations of an evaluation failed in turn\n", failures);
    EXPECT_GT(failures, 20);
    EXPECT_EQ(graph_stats().live_nodes, nodes);
    EXPECT_EQ(memory_stats().bytes, bytes);
}

TEST(NoMemory, EveryAllocationOfPlanningMayFail) {
    const Work work;
    const std::vector<float> wanted = work.run();
    const std::uint64_t nodes = graph_stats().live_nodes;
    const std::uint64_t bytes = memory_stats().bytes;
    const bool all = std::getenv("LAZULI_LONG") != nullptr;  // thousands, in a minute
    const int failures = fail_each(work, wanted, all ? 1 : 29, [] { clear_caches(); });
    fmt::print("no memory: {} allocations of planning and an evaluation failed in turn\n",
               failures);
    EXPECT_GT(failures, 200);
    EXPECT_EQ(graph_stats().live_nodes, nodes);
    EXPECT_EQ(memory_stats().bytes, bytes);
}

TEST(NoMemory, EveryBufferMayFail) {
    const Work work;
    const std::vector<float> wanted = work.run();
    const std::uint64_t bytes = memory_stats().bytes;
    int failures = 0;
    for (std::uint64_t more = 0;; more += 64) {
        const std::uint64_t before = set_memory_limit(bytes + more);
        bool failed = false;
        try {
            EXPECT_EQ(work.run(), wanted);
        } catch (const OutOfMemory& e) {
            failed = true;
            EXPECT_EQ(e.limit, bytes + more);
        }
        set_memory_limit(before);
        EXPECT_EQ(work.run(), wanted);
        EXPECT_EQ(memory_stats().bytes, bytes);
        if (!failed) break;
        ++failures;
    }
    fmt::print("no memory: {} limits were too low\n", failures);
    EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace lazuli
