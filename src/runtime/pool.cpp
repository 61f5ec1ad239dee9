#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/env.h"

namespace lazuli::runtime {

namespace {

/// The processors that a cgroup grants, rounded up; a large number where it sets no limit.
int granted_by_cgroup() {
    constexpr int kUnlimited = 1 << 20;
    long long quota = 0;
    long long period = 0;
    if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
        const int read = std::fscanf(file, "%lld %lld", &quota, &period);
        std::fclose(file);
        if (read == 2 && quota > 0 && period > 0)
            return static_cast<int>((quota + period - 1) / period);
    }
    const auto number_in = [](const char* path) {
        long long value = -1;
        if (std::FILE* file = std::fopen(path, "r")) {
            if (std::fscanf(file, "%lld", &value) != 1) value = -1;
            std::fclose(file);
        }
        return value;
    };
    quota = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (quota > 0 && period > 0) return static_cast<int>((quota + period - 1) / period);
    return kUnlimited;
}

/// Those that the process may use, as the first thread that asked might; none where that is
/// unknown.
const cpu_set_t& allowed() {
    static const cpu_set_t set = [] {
        cpu_set_t found;
        CPU_ZERO(&found);
        if (sched_getaffinity(0, sizeof found, &found) != 0) CPU_ZERO(&found);
        return found;
    }();
    return set;
}

int processors() {
    const int count = CPU_COUNT(&allowed());
    return count > 0 ? count : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct Job {
    std::int64_t steps = 0;
    std::int64_t grain = 1;
    void (*body)(void*, std::int64_t, std::int64_t) = nullptr;
    void* data = nullptr;
};

class Pool {
   public:
    explicit Pool(int threads) {
        workers_.reserve(static_cast<std::size_t>(std::max(threads, 1)));
        try {
            for (int i = 1; i < threads; ++i) {
                std::thread worker([this] { serve(); });
                workers_.push_back(worker.native_handle());
                worker.detach();
            }
        } catch (const std::system_error&) {
            // Fewer will do: pieces go to whoever is there.
        }
    }

    void run(const Job& job) {
        if (const int here = sched_getcpu(); here != caller_at_) leave_to_caller(here);
        job_ = job;
        next_.store(0, std::memory_order_relaxed);
        const std::uint64_t open = ((state_.load(std::memory_order_relaxed) >> kRoundShift) + 1)
                                   << kRoundShift;
        state_.store(open, std::memory_order_release);
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
        work();
        // Who has not started by now will not; who has is about to be done, since pieces are small.
        std::uint64_t now = state_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
        for (int i = 0; (now & kCount) != 0; ++i) {
            if (i < kSpins) {
                __builtin_ia32_pause();
            } else {
                state_.wait(now, std::memory_order_acquire);
            }
            now = state_.load(std::memory_order_acquire);
        }
        if (failed_.load(std::memory_order_acquire)) {
            failed_.store(false, std::memory_order_relaxed);
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

    std::mutex busy;

   private:
    static constexpr int kSpins = 5'000;  // about 0.2 ms

    void leave_to_caller(int processor) {
        caller_at_ = processor;
        for (const pthread_t worker : workers_) keep_off(worker, processor);
    }

    void work() {
        for (;;) {
            const std::int64_t begin = next_.fetch_add(job_.grain, std::memory_order_relaxed);
            if (begin >= job_.steps) return;
            try {
                job_.body(job_.data, begin, std::min(begin + job_.grain, job_.steps));
            } catch (...) {
                // The first failure is the caller's; nobody begins another piece.
                next_.store(job_.steps, std::memory_order_relaxed);
                const std::scoped_lock lock(failing_);
                if (failure_ == nullptr) failure_ = std::current_exception();
                failed_.store(true, std::memory_order_release);
                return;
            }
        }
    }

    void serve() {
        std::uint32_t seen = 0;
        for (;;) {
            for (int i = 0; i < kSpins && round_.load(std::memory_order_acquire) == seen; ++i)
                __builtin_ia32_pause();
            round_.wait(seen, std::memory_order_acquire);
            seen = round_.load(std::memory_order_acquire);
            if (!join()) continue;
            work();
            const std::uint64_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
            if ((before & kClosed) != 0 && (before & kCount) == 1) state_.notify_one();
        }
    }
    /// Counts the thread among those that work, unless the job is over.
    bool join() {
        std::uint64_t now = state_.load(std::memory_order_acquire);
        while ((now & kClosed) == 0) {
            if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
        }
        return false;
    }

    // The job's number, whether it takes nobody any more, and how many others work at it.
    static constexpr int kRoundShift = 32;
    static constexpr std::uint64_t kClosed = std::uint64_t{1} << 31;
    static constexpr std::uint64_t kCount = kClosed - 1;

    std::vector<pthread_t> workers_;
    int caller_at_ = -1;

    Job job_;
    std::exception_ptr failure_;
    std::atomic<bool> failed_{false};
    std::mutex failing_;
    std::atomic<std::int64_t> next_{0};
    std::atomic<std::uint64_t> state_{kClosed};
    std::atomic<std::uint32_t> round_{0};
};

std::atomic<Pool*> the_pool{nullptr};

/// The pool; it lives as long as the process. A forked child has none of its threads, and makes one
/// of its own.
Pool& pool() {
    Pool* known = the_pool.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    static std::mutex making;
    const std::scoped_lock lock(making);
    known = the_pool.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork(nullptr, nullptr,
                       [] { the_pool.store(nullptr, std::memory_order_release); });
    });
    known = new Pool(thread_count());
    the_pool.store(known, std::memory_order_release);
    return *known;
}

thread_local bool inside = false;

}  // namespace

void keep_off(pthread_t thread, int processor) {
    cpu_set_t others = allowed();
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) > 0) (void)pthread_setaffinity_np(thread, sizeof others, &others);
}

int thread_count() {
    static const int count = [] {
        const auto wanted = static_cast<int>(env::integer(env::Var::num_threads));
        return wanted > 0 ? wanted : std::min(processors(), granted_by_cgroup());
    }();
    return count;
}

void share_out(std::int64_t steps, std::int64_t grain,
               void (*body)(void* data, std::int64_t begin, std::int64_t end), void* data) {
    if (steps > grain && !inside && thread_count() > 1) {
        Pool& threads = pool();
        const std::unique_lock lock(threads.busy, std::try_to_lock);
        if (lock.owns_lock()) {
            struct Inside {
                Inside() { inside = true; }
                ~Inside() { inside = false; }
            } const here;
            threads.run({steps, grain, body, data});
            return;
        }
    }
    for (std::int64_t begin = 0; begin < steps; begin += grain)
        body(data, begin, std::min(begin + grain, steps));
}

}  // namespace lazuli::runtime
