// Threads that record, share, evaluate and drop tensors.

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "lazuli/lazuli.h"
#include "long_option.h"
#include "property/generator.h"

namespace lazuli {
namespace {

using tests::Random;

/// A tensor and the number all its elements must have.
struct Known {
    Tensor tensor;
    std::int64_t value = 0;
};

/// One random step on two known tensors. Values stay small: they wrap at 1,000 by a comparison.
Known step(const Known& a, const Known& b, Random& random) {
    const auto bounded = [](Tensor t, std::int64_t v) -> Known {
        if (v < 1000 && v > -1000) return {std::move(t), v};
        return {select(t > 0, t * 0 + 1, t * 0 - 1), v > 0 ? 1 : -1};
    };
    switch (random.below(6)) {
        case 0: return bounded(a.tensor + b.tensor, a.value + b.value);
        case 1: return bounded(a.tensor - b.tensor, a.value - b.value);
        case 2: return bounded(a.tensor * 3, a.value * 3);
        case 3: return {maximum(a.tensor, b.tensor), std::max(a.value, b.value)};
        case 4: return bounded(a.tensor.sum().reshape({1}).broadcast_to({4}), 4 * a.value);
        default: return {-a.tensor, -a.value};
    }
}

void check(const Known& known) {
    for (const std::int64_t v : known.tensor.to_vector<std::int64_t>()) ASSERT_EQ(v, known.value);
}

Known fresh(Random& random) {
    const std::int64_t v = random.between(-9, 9);
    if (random.one_in(2)) return {full({4}, v, i64), v};
    return {Tensor::from(std::vector<std::int64_t>(4, v)), v};
}

/// Tensors that threads hand to each other.
class Exchange {
   public:
    void put(Known known) {
        const std::scoped_lock lock(mutex_);
        shared_.push_back(std::move(known));
        if (shared_.size() > 64) shared_.pop_front();
    }
    Known take(Random& random) {
        const std::scoped_lock lock(mutex_);
        if (shared_.empty()) return fresh(random);
        return shared_[random.below(shared_.size())];
    }

   private:
    std::mutex mutex_;
    std::deque<Known> shared_;
};

TEST(Threads, EightThreadsRecordShareEvaluateAndDrop) {
    const auto duration = std::chrono::seconds(tests::count(5, 60));
    const auto end = std::chrono::steady_clock::now() + duration;
    Exchange exchange;
    std::atomic<std::uint64_t> steps{0};
    std::atomic<std::uint64_t> checked{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            Random random(tests::seed + t);
            std::vector<Known> mine{fresh(random), fresh(random)};
            while (std::chrono::steady_clock::now() < end && !testing::Test::HasFailure()) {
                for (int i = 0; i < 50; ++i) {
                    mine.push_back(step(mine[random.below(mine.size())],
                                        random.one_in(3) ? exchange.take(random) : mine.back(),
                                        random));
                    if (random.one_in(4)) exchange.put(mine.back());
                    if (random.one_in(10)) mine[random.below(mine.size())] = exchange.take(random);
                    if (random.one_in(16)) {
                        check(mine[random.below(mine.size())]);
                        ++checked;
                    }
                    if (mine.size() > 24) mine.erase(mine.begin(), mine.begin() + 12);
                    ++steps;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    fmt::print("threads: {} steps on 8 threads in {} s, {} tensors checked\n", steps.load(),
               duration.count(), checked.load());
}

// Short runs with a given interleaving of three threads' actions, each compared with what one
// thread would have computed. A run is decided by its seed: which thread does what next. The
// threads then run freely, synchronised only by the tensors they hand on.
TEST(Threads, InterleavingsAgreeWithOneThread) {
    const int runs = tests::count(1000, 100'000);
    for (int run = 0; run < runs && !testing::Test::HasFailure(); ++run) {
        Exchange exchange;
        {
            Random random(tests::seed + static_cast<std::uint64_t>(run));
            Known start = fresh(random);
            for (int i = 0; i < 3; ++i) {
                start = step(start, fresh(random), random);
                exchange.put(start);  // lazy graphs that all three threads build on
            }
        }
        std::vector<std::thread> threads;
        for (std::uint64_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                Random random(tests::seed + 3 * static_cast<std::uint64_t>(run) + t);
                Known mine = exchange.take(random);
                for (int i = 0; i < 8; ++i) {
                    switch (random.below(5)) {
                        case 0: check(mine); break;
                        case 1: exchange.put(mine); break;
                        case 2: mine = exchange.take(random); break;
                        default: mine = step(mine, exchange.take(random), random); break;
                    }
                }
                check(mine);
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    fmt::print("interleavings: {} runs on 3 threads\n", runs);
    EXPECT_LT(graph_stats().live_nodes, 1000U) << "nodes were lost";
}

}  // namespace
}  // namespace lazuli
