#pragma once

// An evaluation under way: what nodes in flight point to, and threads that need their values wait
// for.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ir/node.h"

namespace lazuli::runtime {
class Queue;
}

namespace lazuli {

struct ir::Flight : std::enable_shared_from_this<ir::Flight> {
    using Clock = std::chrono::steady_clock;

    /// Of what is to run in a queue, which lives forever; without one, of what the thread that
    /// makes this runs itself.
    explicit Flight(runtime::Queue* queue = nullptr) : queue_(queue) {}

    /// Wakes who waits, and calls what was asked for. Once.
    void finish() noexcept;
    bool is_done() const { return done_.load(std::memory_order_acquire); }

    /// Waits until it is done, or until then: false where time is up. Runs the queue that it stands
    /// in where nobody else does and there is no end to the time. CycleError where the calling
    /// thread is waited for.
    bool wait(std::optional<Clock::time_point> until = std::nullopt);
    /// Calls that when it is done, on the thread that finds out; at once where it is.
    void when_done(std::function<void()> call);
    /// Lets the queue that it stands in run.
    void commit();

    /// Says that its command is in the queue now, and whether somebody waits for it already.
    bool place();
    /// Waits until it is in its queue, or done: between being marked and that lies only planning.
    void wait_until_placed();

    /// Says that the calling thread computes it now.
    void start() { owner_.store(std::this_thread::get_id(), std::memory_order_release); }
    /// Who computes it, or runs the queue that it stands in; nobody's id where neither is known.
    std::thread::id owner() const;

   private:
    bool is_placed();

    runtime::Queue* const queue_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> done_{false};
    std::atomic<std::thread::id> owner_{};
    bool placed_ = false;
    int waiting_ = 0;
    std::vector<std::function<void()>> calls_;
};

}  // namespace lazuli
