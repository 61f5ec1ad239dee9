#pragma once

// The commands of a stream: collected, committed in groups, and run in order by the stream's
// worker, or by a thread that waits for one of them while nobody runs any.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/flight.h"

namespace lazuli {
struct StreamLimits;
}

namespace lazuli::runtime {

struct Command {
    std::shared_ptr<ir::Flight> flight;  // over when `run` returns
    std::function<void()> run;           // throws nothing
    std::function<void()> lose;          // instead of `run`, or amid it: it will never end
    std::size_t launches = 0;            // of kernels
    std::uint64_t moved_bytes = 0;       // that it reads and writes
    std::uint64_t held_bytes = 0;        // that it makes, or keeps alive until it has run
};

class Queue {
   public:
    /// The one that all threads share.
    static std::shared_ptr<Queue> shared();
    /// One that nobody else has. Queues live forever, since nodes in flight point to them: one that
    /// was given back serves again.
    static std::shared_ptr<Queue> make();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /// Takes a command in, and commits where a limit is reached. Waits while more is pending than
    /// may be run ahead of.
    void add(Command command);
    /// Lets all commands that were added run. The flight of the last, or null where there was none.
    std::shared_ptr<ir::Flight> commit();
    /// Returns when all commands that were added have run.
    void synchronize();
    /// Commits, and runs commands on the calling thread until that flight is over or another thread
    /// runs them.
    void run_until(const ir::Flight& flight);
    /// The thread that runs a command now; nobody's id where none does.
    std::thread::id runner() const { return runner_.load(std::memory_order_acquire); }

    /// All queues there are.
    static std::vector<Queue*> all();
    /// Returns when no command runs, and lets none begin any more.
    void stop();

   private:
    Queue() = default;
    friend struct Queues;
    void work();
    void lose_worker();
    void call_worker();
    void run_first(std::unique_lock<std::mutex>& lock);
    void commit_all() { committed_ = commands_.size(); }
    bool is_full(const StreamLimits& limits) const;

    std::mutex mutex_;
    std::condition_variable changed_;  // for the worker
    std::condition_variable room_;     // for who adds, and who waits for the end
    std::deque<Command> commands_;
    std::size_t committed_ = 0;  // of these, the first
    std::size_t launches_ = 0;   // of those behind, and
    std::uint64_t moved_bytes_ = 0;
    std::uint64_t held_bytes_ = 0;  // by all
    std::shared_ptr<ir::Flight> last_;
    std::shared_ptr<ir::Flight> running_;
    const Command* command_ = nullptr;  // of it
    std::atomic<std::thread::id> runner_{};
    bool has_worker_ = false;
    pthread_t worker_ = {};
    int worker_avoids_ = -1;  // the processor of who woke it last
    bool stopping_ = false;
};

}  // namespace lazuli::runtime
