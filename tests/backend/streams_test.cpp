// Work beside the thread that records it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <thread>

#include "base/env.h"
#include "lazuli/lazuli.h"
#include "lazuli/stream.h"
#include "long_option.h"

namespace lazuli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// A function of a tensor that waits until it is let go, and then doubles it.
class Gate {
   public:
    Gate() {
        static int made = 0;
        name_ = "gate" + std::to_string(++made);
        register_custom(name_, [state = state_](std::span<const HostArray> in,
                                                const TensorSpec& spec, void* out) {
            std::unique_lock lock(state->mutex);
            ++state->entered;
            state->changed.notify_all();
            state->changed.wait(lock, [&] { return state->is_open; });
            for (std::int64_t i = 0; i < spec.shape.numel(); ++i)
                static_cast<float*>(out)[i] = 2 * in[0].as<float>()[i];
        });
    }
    ~Gate() { open(); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    Tensor operator()(const Tensor& x) const { return custom_call(name_, {&x, 1}, x.spec()); }
    void wait_until_entered(int times = 1) {
        std::unique_lock lock(state_->mutex);
        state_->changed.wait(lock, [&] { return state_->entered >= times; });
    }
    int entered() {
        const std::scoped_lock lock(state_->mutex);
        return state_->entered;
    }
    void open() {
        const std::scoped_lock lock(state_->mutex);
        state_->is_open = true;
        state_->changed.notify_all();
    }

    /// In a forked process, whose other threads are gone.
    void open_unlocked() { state_->is_open = true; }

   private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        int entered = 0;
        bool is_open = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
    std::string name_;
};

/// Limits for the time of a test.
class Limits {
   public:
    explicit Limits(const StreamLimits& limits) { set_stream_limits(limits); }
    ~Limits() { set_stream_limits(before_); }
    Limits(const Limits&) = delete;
    Limits& operator=(const Limits&) = delete;

   private:
    StreamLimits before_ = stream_limits();
};

TEST(Streams, RecordingGoesOnWhileAKernelRuns) {
    Gate gate;
    Tensor y = gate(Tensor{1.0F, 2.0F});
    async_eval(y);
    Stream::current().commit();
    gate.wait_until_entered();
    // Recording, evaluating something else, and giving the stream more all return.
    const Tensor z = y * 3.0;
    EXPECT_EQ((Tensor{1.0F} + 1.0).item<float>(), 2);
    async_eval(z);
    EXPECT_FALSE(ready(y).is_done());
    EXPECT_FALSE(ready(z).is_done());
    gate.open();
    EXPECT_THAT(z.to_vector<float>(), ElementsAre(6, 12));
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, 4));
    EXPECT_TRUE(ready(y).is_done());
}

TEST(Streams, AWaitThatTimesOutLeavesTheWorkRunning) {
    Gate gate;
    const Tensor y = gate(Tensor{3.0F});
    EXPECT_THROW(ready(y).wait(20ms), Timeout);
    EXPECT_EQ(gate.entered(), 1);
    EXPECT_THROW(ready(y).wait(0ns), Timeout);
    gate.open();
    ready(y).wait(10s);
    EXPECT_TRUE(y.is_materialized());
    EXPECT_EQ(y.item<float>(), 6);
    EXPECT_EQ(gate.entered(), 1);
}

TEST(Streams, WorkIsCommittedWhenSomebodyWaitsOrThereIsMuch) {
    const Limits limits({.max_ops_per_commit = 4, .max_bytes_per_commit = 1 << 30});
    std::atomic<int> runs = 0;
    register_custom("count", [&](std::span<const HostArray>, const TensorSpec&, void* out) {
        *static_cast<float*>(out) = static_cast<float>(++runs);
    });
    const auto counted = [](double salt) {
        const Tensor x = Tensor{static_cast<float>(salt)}.eval();
        return custom_call("count", {&x, 1}, x.spec());
    };
    std::vector<Tensor> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(counted(i));
        async_eval(all.back());
    }
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(runs, 0);
    all.push_back(counted(3));
    async_eval(all.back());  // the fourth
    for (int i = 0; i < 500 && runs < 4; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(runs, 4);
    all.push_back(counted(4));
    async_eval(all.back());
    const Event event = Stream::current().commit();
    event.wait();
    EXPECT_TRUE(event.is_done());
    EXPECT_EQ(runs, 5);
    all.push_back(counted(5));
    async_eval(all.back());
    EXPECT_EQ(all.back().item<float>(), 6);  // who waits runs it
}

TEST(Streams, AFailureReachesWhatDependsOnItAndNothingElse) {
    register_custom("fails", [](auto, const auto&, void*) { throw std::runtime_error("no luck"); });
    const Tensor x{1.0F, 2.0F};
    const Tensor bad = custom_call("fails", {&x, 1}, x.spec());
    const Tensor worse = bad + 1.0;
    const Tensor good = x + 1.0;
    const Tensor later = good * 2.0;
    async_eval(bad, good);
    async_eval(worse, later);
    synchronize();
    EXPECT_THAT(good.to_vector<float>(), ElementsAre(2, 3));
    EXPECT_THAT(later.to_vector<float>(), ElementsAre(4, 6));
    for (const Tensor& t : {bad, worse, worse * 2.0}) {
        try {
            t.eval();
            ADD_FAILURE() << "no error";
        } catch (const ExecutionError& e) {
            EXPECT_THAT(e.what(), testing::HasSubstr("no luck"));
        }
    }
    EXPECT_THROW(async_eval(worse), ExecutionError);
}

TEST(Streams, WhatRanOutOfMemoryIsTriedAgain) {
    const Tensor x = full({1 << 20}, 1.0).eval();
    const Tensor y = x + 1.0;
    const Tensor z = y * 2.0;
    const std::uint64_t before = set_memory_limit(memory_stats().bytes + (1 << 20));
    async_eval(y);
    async_eval(z);
    synchronize();
    EXPECT_FALSE(y.is_materialized());
    EXPECT_THROW(z.eval(), OutOfMemory);
    set_memory_limit(before);
    EXPECT_EQ(z.data<float>()[5], 4);
}

TEST(Streams, RunAheadIsBounded) {
    const Limits limits({.max_ops_per_commit = 1, .max_run_ahead_bytes = 4 << 20});
    Gate gate;
    const Tensor first = gate(full({1 << 18}, 1.0));  // a megabyte
    async_eval(first);
    gate.wait_until_entered();
    std::atomic<int> added = 0;
    std::vector<Tensor> all;
    std::thread recording([&] {
        for (int i = 0; i < 8; ++i) {
            all.push_back(first + static_cast<double>(i + 3));
            async_eval(all.back());
            ++added;
        }
    });
    std::this_thread::sleep_for(50ms);
    EXPECT_LE(added, 4);
    gate.open();
    recording.join();
    EXPECT_EQ(added, 8);
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(all[static_cast<std::size_t>(i)].data<float>()[7], 5 + static_cast<float>(i));
}

TEST(Streams, StreamsRunBesideEachOtherAndWaitForOperands) {
    Gate gate;
    const Stream other = Stream::make();
    EXPECT_FALSE(other == Stream::current());
    Tensor slow = gate(Tensor{1.0F});
    async_eval(slow);
    Stream::current().commit();
    gate.wait_until_entered();
    Tensor quick = Tensor{5.0F} + 1.0;
    Tensor both = slow + quick;
    {
        const StreamScope scope(other);
        EXPECT_TRUE(other == Stream::current());
        async_eval(quick);
        other.synchronize();  // though the first stream is busy
        EXPECT_TRUE(quick.is_materialized());
        async_eval(both);
    }
    EXPECT_FALSE(other == Stream::current());
    EXPECT_FALSE(ready(both).is_done());
    gate.open();
    EXPECT_EQ(both.item<float>(), 8);
}

TEST(Streams, CallsWhenItIsReady) {
    Gate gate;
    const Tensor y = gate(Tensor{1.0F});
    std::atomic<int> calls = 0;
    const Event event = ready(y);
    event.on_ready([&] { ++calls; });
    event.on_ready([&] { ++calls; });
    gate.wait_until_entered();
    EXPECT_EQ(calls, 0);
    gate.open();
    event.wait();
    for (int i = 0; i < 500 && calls < 2; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(calls, 2);
    event.on_ready([&] { ++calls; });  // at once
    EXPECT_EQ(calls, 3);
    ready(y).on_ready([&] { ++calls; });
    EXPECT_EQ(calls, 4);
}

/// A coroutine that starts at once and that nobody waits for.
struct Detached {
    struct promise_type {
        Detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

TEST(Streams, CoroutinesWait) {
    Gate gate;
    std::atomic<float> got = 0;
    const auto sum = [&](Tensor x) -> Detached {
        const Tensor y = gate(x);
        co_await ready(y);
        const Tensor z = y.sum();
        co_await ready(z);
        got = z.item<float>();
    };
    sum(Tensor{1.0F, 2.0F});
    gate.wait_until_entered();
    EXPECT_EQ(got, 0);
    gate.open();
    for (int i = 0; i < 500 && got == 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(got, 6);
}

TEST(Streams, AFunctionMayWaitForWorkBehindItself) {
    Tensor inner = Tensor{1.0F, 2.0F} * 3.0;
    register_custom("outer", [&](std::span<const HostArray>, const TensorSpec&, void* out) {
        async_eval(inner);
        *static_cast<float*>(out) = inner.sum().item<float>();
    });
    const Tensor x{0.0F};
    Tensor y = custom_call("outer", {&x, 1}, x.spec());
    async_eval(y);
    EXPECT_EQ((y + 1.0).item<float>(), 10);
    // One that waits for itself is told so.
    Tensor z;
    register_custom("itself", [&](std::span<const HostArray>, const TensorSpec&, void* out) {
        *static_cast<float*>(out) = (z + 1.0).item<float>();
    });
    z = custom_call("itself", {&x, 1}, x.spec());
    async_eval(z);
    EXPECT_THROW(z.eval(), Error);
    z = Tensor();
}

TEST(Streams, ManyThreadsOnOneStream) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 200;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            Tensor y = full({64}, static_cast<double>(t));
            for (int i = 0; i < kRounds; ++i) {
                y = y + 1.0;
                async_eval(y);
                if (i % 17 == 0 && y.data<float>()[3] != static_cast<float>(t + i + 1)) ++wrong;
            }
            if (y.data<float>()[63] != static_cast<float>(t + kRounds)) ++wrong;
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    synchronize();
}

TEST(Streams, TensorsMoveBetweenDevicesAsPartOfThePlan) {
    const Device there("reference");
    const Device here("cpu");
    Gate gate;
    const Tensor x = gate(Tensor{1.0F, 2.0F, 3.0F}.to(here));
    const Tensor moved = x.to(there);
    EXPECT_EQ(gate.entered(), 0);  // nothing ran
    EXPECT_EQ(moved.device(), there);
    const Tensor y = moved + 1.0;
    const Tensor back = y(slice(1, 3)).to(here) * 10.0;
    EXPECT_EQ(back.device(), here);
    async_eval(back);
    EXPECT_FALSE(ready(back).is_done());
    gate.open();
    EXPECT_THAT(back.to_vector<float>(), ElementsAre(50, 70));
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(3, 5, 7));
    EXPECT_TRUE(moved.is_materialized());  // it is held, and moved once
    EXPECT_EQ(gate.entered(), 1);
}

TEST(Streams, WhoWaitsWhileItIsPlannedIsNotForgotten) {
    // Other threads see what is in flight before its command is in the queue.
    for (int round = 0; round < 60; ++round) {
        const Tensor x = Tensor{1.0F, 2.0F} * static_cast<double>(round + 3);
        const Tensor y = (x + 1.0).tanh() + static_cast<double>(round % 5);
        std::atomic<int> calls = 0;
        std::thread other([&] {
            if (round % 2 == 0) {
                (void)y.to_vector<float>();
            } else {
                ready(y).on_ready([&] { ++calls; });
                ready(y).wait();
            }
        });
        std::thread behind([&] {
            const Tensor z = y * 2.0;
            async_eval(z);
            (void)z.to_vector<float>();
        });
        async_eval(y);
        other.join();
        behind.join();
        for (int i = 0; i < 500 && round % 2 == 1 && calls == 0; ++i)
            std::this_thread::sleep_for(1ms);
        EXPECT_EQ(calls, round % 2);
    }
}

TEST(Streams, WaitingThreadsAreNotTakenForACircle) {
    for (int round = 0; round < 100; ++round) {
        const Tensor a = Tensor{1.0F, 2.0F} + static_cast<double>(round + 3);
        const Tensor b = a * 2.0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&, t] {
                if (t == 0) async_eval(a);
                EXPECT_NO_THROW((void)(t == 1 ? a : b).to_vector<float>());
                EXPECT_NO_THROW((void)a.to_vector<float>());
            });
        for (std::thread& t : threads) t.join();
    }
}

TEST(Streams, OutOfMemoryOnAFullStreamReturns) {
    const Limits limits({.max_ops_per_commit = 1, .max_run_ahead_bytes = 1});
    const Tensor y = full({1 << 20}, 1.0) + 1.0;
    const std::uint64_t before = set_memory_limit(memory_stats().bytes + (1 << 20));
    async_eval(y);
    set_memory_limit(before);
    EXPECT_EQ(y.data<float>()[3], 2);
}

TEST(Streams, AStreamThatNobodyHasRunsWhatItWasGiven) {
    const Tensor y = Tensor{1.0F} + 1.0;
    {
        const StreamScope scope(Stream::make());
        async_eval(y);
    }
    for (int i = 0; i < 500 && !y.is_materialized(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(y.is_materialized());
}

TEST(Streams, AForkedProcessComputesWhatWasInFlight) {
    if (tests::kSanitized) GTEST_SKIP() << "sanitizers do not like forks among threads";
    Gate gate;
    const Tensor y = gate(Tensor{4.0F}.to(Device("cpu")));
    const Tensor behind = y + 1.0;
    async_eval(y);
    async_eval(behind);
    Stream::current().commit();
    gate.wait_until_entered();
    const pid_t child = fork();
    if (child == 0) {
        gate.open_unlocked();
        _exit(behind.item<float>() == 9 ? 0 : 1);
    }
    int status = -1;
    for (int i = 0; i < 1000; ++i) {  // one that hangs is not waited for
        if (waitpid(child, &status, WNOHANG) == child) break;
        std::this_thread::sleep_for(10ms);
        if (i == 999) kill(child, SIGKILL);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    gate.open();
    EXPECT_EQ(behind.item<float>(), 9);
}

TEST(Streams, ForeverIsLong) {
    Gate gate;
    const Tensor y = gate(Tensor{1.0F});
    async_eval(y);
    std::thread later([&] {
        std::this_thread::sleep_for(20ms);
        gate.open();
    });
    EXPECT_NO_THROW(ready(y).wait(std::chrono::nanoseconds::max()));
    later.join();
}

TEST(Streams, LimitsAreChecked) {
    EXPECT_THROW(set_stream_limits({.max_ops_per_commit = 0}), ArgumentError);
    EXPECT_THROW(set_stream_limits({.max_run_ahead_bytes = 0}), ArgumentError);
    EXPECT_THROW(async_eval(Tensor()), ArgumentError);
    EXPECT_THROW(ready(Tensor()), ArgumentError);
    Event over;
    over.wait();
    EXPECT_TRUE(over.is_done());
}

TEST(Streams, TheDefaultLimitsAreThoseOfTheEnvironmentsTable) {
    const auto fallback = [](env::Var var) {
        for (const env::VarInfo& info : env::all()) {
            if (info.var == var) return std::stoull(std::string(info.fallback));
        }
        return 0ULL;
    };
    const StreamLimits limits;
    EXPECT_EQ(limits.max_ops_per_commit, fallback(env::Var::max_ops_per_commit));
    EXPECT_EQ(limits.max_bytes_per_commit, fallback(env::Var::max_bytes_per_commit));
    EXPECT_EQ(limits.max_run_ahead_bytes, fallback(env::Var::max_run_ahead_bytes));
}

}  // namespace
}  // namespace lazuli
