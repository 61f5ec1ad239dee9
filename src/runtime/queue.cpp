#include "runtime/queue.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "ir/graph.h"
#include "lazuli/stream.h"
#include "runtime/pool.h"

namespace lazuli::runtime {

/// All queues, and those that nobody has.
struct Queues {
    std::mutex mutex;
    std::vector<Queue*> all;
    std::vector<Queue*> free;

    static Queues& get() {
        static Queues& q = *new Queues;
        return q;
    }
    Queue* take() {
        static const int registered =
            std::atexit([] {
                for (Queue* queue : Queue::all()) queue->stop();
            }) +
            pthread_atfork([] { get().before_fork(); }, [] { get().after_fork(false); },
                           [] { get().after_fork(true); });
        (void)registered;
        const std::scoped_lock lock(mutex);
        if (free.empty()) {
            all.reserve(all.size() + 1);
            free.reserve(all.size() + 1);
            all.push_back(new Queue);
            free.push_back(all.back());
        }
        Queue* queue = free.back();
        free.pop_back();
        return queue;
    }
    /// A fork finds no lock held by a thread that the new process does not have.
    void before_fork() {
        ir::graph_lock().lock();
        mutex.lock();
        for (Queue* queue : all) queue->mutex_.lock();
    }
    void after_fork(bool in_child) {
        for (Queue* queue : all) queue->mutex_.unlock();
        mutex.unlock();
        ir::graph_lock().unlock();
        if (!in_child) return;
        for (Queue* queue : all) queue->lose_worker();
    }
    void give_back(Queue* queue) {
        queue->commit();  // what it was given runs
        const std::scoped_lock lock(mutex);
        free.push_back(queue);  // reserved when it was made
    }
};

std::shared_ptr<Queue> Queue::make() {
    return {Queues::get().take(), [](Queue* queue) { Queues::get().give_back(queue); }};
}

std::shared_ptr<Queue> Queue::shared() {
    static auto& queue = *new std::shared_ptr<Queue>(make());
    return queue;
}

std::vector<Queue*> Queue::all() {
    const std::scoped_lock lock(Queues::get().mutex);
    return Queues::get().all;
}

/// At the end of the process: a command that runs then would find destroyed what it needs. One that
/// needs what the end has taken already would never end, so it is not waited for long.
void Queue::stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    room_.wait_for(lock, std::chrono::seconds(5), [&] { return runner() == std::thread::id(); });
}

/// A forked process has no worker, and nobody who runs what was being run.
void Queue::lose_worker() {
    has_worker_ = false;
    if (runner() == std::thread::id() || runner() == std::this_thread::get_id()) return;
    runner_.store({}, std::memory_order_release);
    running_ = nullptr;
    if (const Command* lost = std::exchange(command_, nullptr)) lost->lose();
}

bool Queue::is_full(const StreamLimits& limits) const {
    return !commands_.empty() && (held_bytes_ > limits.max_run_ahead_bytes ||
                                  commands_.size() >= limits.max_run_ahead_commands);
}

void Queue::add(Command command) {
    const StreamLimits limits = stream_limits();
    std::unique_lock lock(mutex_);
    const std::shared_ptr<ir::Flight> flight = command.flight;
    commands_.push_back(std::move(command));
    // Nothing throws from here on: what is in the queue runs.
    last_ = flight;
    launches_ += commands_.back().launches;
    moved_bytes_ += commands_.back().moved_bytes;
    held_bytes_ += commands_.back().held_bytes;
    const bool awaited = flight->place();
    if (awaited || launches_ >= limits.max_ops_per_commit ||
        moved_bytes_ >= limits.max_bytes_per_commit || is_full(limits)) {
        commit_all();
        call_worker();
    }
    // A command that adds commands must not wait for them: it stands before them.
    if (runner() == std::this_thread::get_id()) return;
    room_.wait(lock, [&] { return stopping_ || !is_full(limits); });
}

std::shared_ptr<ir::Flight> Queue::commit() {
    const std::scoped_lock lock(mutex_);
    commit_all();
    call_worker();
    return last_;
}

void Queue::synchronize() {
    for (;;) {
        std::shared_ptr<ir::Flight> next;
        {
            const std::scoped_lock lock(mutex_);
            commit_all();
            call_worker();
            next = !commands_.empty() ? commands_.back().flight : running_;
            if (next == nullptr || next->is_done()) return;
        }
        next->wait();
    }
}

void Queue::run_until(const ir::Flight& flight) {
    std::unique_lock lock(mutex_);
    commit_all();
    const std::thread::id me = std::this_thread::get_id();
    while (!flight.is_done() && committed_ > 0 && (runner() == std::thread::id() || runner() == me))
        run_first(lock);
    call_worker();
}

void Queue::run_first(std::unique_lock<std::mutex>& lock) {
    Command command = std::move(commands_.front());
    commands_.pop_front();
    --committed_;
    const std::thread::id before = runner();
    const std::shared_ptr<ir::Flight> outer = std::exchange(running_, command.flight);
    const Command* const outer_command = std::exchange(command_, &command);
    runner_.store(std::this_thread::get_id(), std::memory_order_release);
    lock.unlock();
    command.flight->start();
    command.run();
    const std::uint64_t held = command.held_bytes;
    lock.lock();
    command_ = outer_command;
    lock.unlock();
    command = {};  // without the lock: it may be the last to hold tensors
    lock.lock();
    runner_.store(before, std::memory_order_release);
    running_ = outer;
    held_bytes_ -= held;
    room_.notify_all();
}

/// Sees to it that somebody runs what is committed.
void Queue::call_worker() {
    if (committed_ == commands_.size()) {
        launches_ = 0;
        moved_bytes_ = 0;
    }
    if (committed_ == 0) return;
    if (!has_worker_) {
        try {
            (void)thread_count();  // before a thread is kept off a processor
            std::thread worker([this] { work(); });
            worker_ = worker.native_handle();
            worker.detach();
            has_worker_ = true;
            worker_avoids_ = -1;
        } catch (const std::system_error&) {
            // No thread is to be had: who waits for a command runs it.
        }
    }
    if (!has_worker_ || runner() != std::thread::id()) return;
    if (const int here = sched_getcpu(); here != worker_avoids_) {
        keep_off(worker_, here);
        worker_avoids_ = here;
    }
    changed_.notify_one();
}

void Queue::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(
            lock, [&] { return stopping_ || (committed_ > 0 && runner() == std::thread::id()); });
        // The process ends: a thread that ended now would meet what looks at all threads then.
        if (stopping_) changed_.wait(lock, [] { return false; });
        run_first(lock);
    }
}

}  // namespace lazuli::runtime
