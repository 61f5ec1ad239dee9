#include "runtime/behind.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace lazuli::runtime {

namespace {

/// The thread lives only while there are jobs: an idle process has none, and a fork seldom loses
/// it.
class Behind {
   public:
    Behind() {
        pthread_atfork([] { the().before_fork(); }, [] { the().after_fork(false); },
                       [] { the().after_fork(true); });
    }
    static Behind& the() {
        static Behind& behind = *new Behind;
        return behind;
    }

    void add(std::function<void()> job) {
        const std::scoped_lock lock(mutex_);
        if (!is_worker()) stopped_ = false;  // a job's jobs wait where it is the last
        jobs_.push_back(std::move(job));
        start();
    }
    void remind() {
        if (!orphaned_.load(std::memory_order_relaxed)) return;
        const std::scoped_lock lock(mutex_);
        orphaned_.store(false, std::memory_order_relaxed);
        if (!jobs_.empty()) start();
    }
    void finish() {
        remind();
        std::unique_lock lock(mutex_);
        changed_->wait(lock, [&] { return !working_; });
    }
    void stop() {
        std::unique_lock lock(mutex_);
        stopped_ = true;
        changed_->wait(lock, [&] { return !working_; });
    }
    void enter() {
        const std::scoped_lock lock(mutex_);
        ++inside_;
    }
    void leave() {
        const std::scoped_lock lock(mutex_);
        if (--inside_ == 0) changed_->notify_all();
    }

   private:
    static bool& is_worker() {
        static thread_local bool is = false;
        return is;
    }
    void start() {
        if (working_) return;
        try {
            std::thread([this] { work(); }).detach();
            working_ = true;
        } catch (const std::system_error&) {
            // No thread to be had: kernels are interpreted until the next one is asked for.
        }
    }
    void work() {
        is_worker() = true;
        std::unique_lock lock(mutex_);
        while (!jobs_.empty() && !stopped_) {
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            ++inside_;  // a fork does not come between taking a job and doing it
            lock.unlock();
            job();
            // What was registered last is done first, and the compiler makes objects of its own
            // while it works, most of them at first.
            if (++done_ <= kFirstJobs) std::atexit(stop_behind);
            lock.lock();
            if (--inside_ == 0) changed_->notify_all();
        }
        working_ = false;
        changed_->notify_all();
    }
    /// Holds the queue over the fork, with nobody inside the compiler.
    void before_fork() {
        std::unique_lock lock(mutex_);
        changed_->wait(lock, [&] { return inside_ == 0; });
        lock.release();
    }
    void after_fork(bool child) {
        if (child) {
            // Who waited is not here, and still counted as waiting: this one is left behind.
            changed_ = new std::condition_variable;
            orphaned_.store(working_, std::memory_order_relaxed);
            working_ = false;
        }
        mutex_.unlock();
    }

    static constexpr int kFirstJobs = 64;
    int done_ = 0;  // by the thread
    std::mutex mutex_;
    std::condition_variable* changed_ = new std::condition_variable;
    int inside_ = 0;
    std::deque<std::function<void()>> jobs_;
    bool working_ = false;
    bool stopped_ = false;
    std::atomic<bool> orphaned_{false};
};

/// The compiler must not be taken down while it works. When the main thread leaves, its own objects
/// go before all others.
struct AtTheEnd {
    ~AtTheEnd() {
        if (gettid() == getpid()) Behind::the().stop();
    }
};

}  // namespace

void run_behind(std::function<void()> job) {
    thread_local const AtTheEnd here;
    (void)here;
    Behind::the().add(std::move(job));
}
void remind_behind() { Behind::the().remind(); }
void stop_behind() { Behind::the().stop(); }
void finish_behind() { Behind::the().finish(); }
NoFork::NoFork() { Behind::the().enter(); }
NoFork::~NoFork() { Behind::the().leave(); }

}  // namespace lazuli::runtime
