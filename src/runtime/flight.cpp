#include "runtime/flight.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "lazuli/error.h"
#include "lazuli/trace.h"
#include "runtime/queue.h"
#include "runtime/trace.h"
#include "runtime/watch.h"

namespace lazuli {

namespace {

using ir::Flight;

/// Which flight each waiting thread waits for. A function called by an evaluation may evaluate in
/// turn, so a thread can wait while others wait for it; where that closes a circle, waiting would
/// never end.
class Waiting {
   public:
    explicit Waiting(const Flight& flight) {
        const std::thread::id me = std::this_thread::get_id();
        const std::scoped_lock lock(all().mutex);
        // A circle of others is theirs to find. What is done is waited for by nobody, though who
        // did may not have noticed yet.
        std::set<const Flight*> seen;
        for (const Flight* at = &flight; at != nullptr && !at->is_done();) {
            if (!seen.insert(at).second) break;
            const std::thread::id owner = at->owner();
            if (owner == me) {
                throw CycleError(
                    "a function that is being evaluated asks for a tensor that waits for that "
                    "function");
            }
            const auto next = all().flights.find(owner);
            at = next == all().flights.end() ? nullptr : next->second;
        }
        all().flights[me] = &flight;
    }
    ~Waiting() {
        const std::scoped_lock lock(all().mutex);
        all().flights.erase(std::this_thread::get_id());
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    struct All {
        std::mutex mutex;
        std::map<std::thread::id, const Flight*> flights;
    };
    static All& all() {
        static All& a = *new All;
        return a;
    }
};

}  // namespace

void ir::Flight::finish() noexcept {
    std::vector<std::function<void()>> calls;
    {
        const std::scoped_lock lock(mutex_);
        done_.store(true, std::memory_order_release);
        calls.swap(calls_);
        // Under the lock: who waits may be gone, and this with it, as soon as it is given up.
        changed_.notify_all();
    }
    for (const auto& call : calls) {
        try {
            call();
        } catch (const std::exception& e) {  // nobody is there to catch it
            fmt::print(stderr, "lazuli: a function that was to be called at an event threw: {}\n",
                       e.what());
        } catch (...) {
            fmt::print(stderr, "lazuli: a function that was to be called at an event threw\n");
        }
    }
}

std::thread::id ir::Flight::owner() const {
    const std::thread::id own = owner_.load(std::memory_order_acquire);
    return own == std::thread::id() && queue_ != nullptr ? queue_->runner() : own;
}

bool ir::Flight::place() {
    const std::scoped_lock lock(mutex_);
    placed_ = true;
    changed_.notify_all();
    return waiting_ > 0 || !calls_.empty();
}

bool ir::Flight::is_placed() {
    const std::scoped_lock lock(mutex_);
    return placed_;
}

void ir::Flight::wait_until_placed() {
    if (queue_ == nullptr) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return placed_ || done_.load(std::memory_order_relaxed); });
}

void ir::Flight::commit() {
    if (queue_ != nullptr) queue_->commit();
}

bool ir::Flight::wait(std::optional<Clock::time_point> until) {
    if (is_done()) return true;
    // One that is not in its queue yet is committed as soon as it is, because of who waits.
    if (queue_ != nullptr && is_placed()) {
        if (until) {
            queue_->commit();
        } else {
            queue_->run_until(*this);
        }
        if (is_done()) return true;
    }
    const Waiting waiting(*this);
    std::unique_lock lock(mutex_);
    ++waiting_;
    const bool commits = placed_ && queue_ != nullptr;
    if (commits) {  // it may have been placed in between
        lock.unlock();
        queue_->commit();
        lock.lock();
    }
    const auto is_over = [&] { return done_.load(std::memory_order_relaxed); };
    bool in_time = true;
    const double start = runtime::is_traced() ? trace::now() : 0;
    if (until) {
        in_time = changed_.wait_until(lock, *until, is_over);
    } else {
        changed_.wait(lock, is_over);
    }
    --waiting_;
    lock.unlock();
    if (start > 0) trace::add_wait(start, trace::now() - start);
    return in_time;
}

void ir::Flight::when_done(std::function<void()> call) {
    {
        const std::scoped_lock lock(mutex_);
        if (!done_.load(std::memory_order_relaxed)) {
            calls_.push_back(std::move(call));
            return;
        }
    }
    call();
}

}  // namespace lazuli
