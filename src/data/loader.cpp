// Batches that are made ahead of who asks for them.

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "lazuli/data.h"
#include "lazuli/error.h"
#include "runtime/behind.h"

namespace lazuli {

struct Loader::State {
    State(std::function<Batch(std::int64_t)> function, const LoaderOptions& options)
        : make(std::move(function)), ahead(options.ahead), next_step(options.first) {
        try {
            thread = std::thread([this] { work(); });
        } catch (const std::system_error& e) {
            throw Error(fmt::format("Loader: no thread can be started: {}", e.what()));
        }
    }
    ~State() {
        {
            const std::scoped_lock lock(mutex);
            stopped = true;
        }
        has_room.notify_all();
        thread.join();
    }

    /// What the thread does: makes batches while there is room, until one fails or nobody wants
    /// them.
    void work() {
        std::unique_lock lock(mutex);
        for (std::int64_t step = next_step; !stopped; ++step) {
            lock.unlock();
            Batch batch;
            std::exception_ptr error;
            try {
                batch = make(step);
                eval(batch);
            } catch (...) {
                error = std::current_exception();
            }
            lock.lock();
            if (error == nullptr) {
                ready.push_back(std::move(batch));
            } else {
                failure = error;
            }
            has_batch.notify_one();
            if (error != nullptr) break;
            has_room.wait(lock, [&] { return has_free_place() || stopped; });
        }
        has_batch.notify_all();  // for all who wait, where it failed
    }
    bool has_free_place() const { return static_cast<std::int64_t>(ready.size()) < ahead; }
    bool has_news() const { return !ready.empty() || failure != nullptr; }

    const std::function<Batch(std::int64_t)> make;
    const std::int64_t ahead;
    const pid_t process = ::getpid();

    std::mutex mutex;  // of all below, but for the thread
    std::condition_variable has_batch;
    std::condition_variable has_room;
    std::deque<Batch> ready;  // of next_step and those that follow
    std::int64_t next_step;
    std::exception_ptr failure;  // of the step behind those that are ready
    Waited waited;
    bool stopped = false;
    std::thread thread;
};

namespace {

const LoaderOptions& checked(const LoaderOptions& options) {
    if (options.first < 0)
        throw ArgumentError(fmt::format("Loader: there is no step {}", options.first));
    if (options.ahead < 1)
        throw ArgumentError(fmt::format("Loader: {} batches ahead", options.ahead));
    return options;
}

std::function<Batch(std::int64_t)> batches_of(Dataset data, Batches batches) {
    if (data.size() != batches.examples()) {
        throw ArgumentError(
            fmt::format("Loader: the dataset has {} examples, and the order is one "
                        "of {}",
                        data.size(), batches.examples()));
    }
    return [data = std::move(data), batches](std::int64_t step) {
        const runtime::NoFork whole;  // a child must not find half a batch, and its locks held
        return data.batch(batches.at(step));
    };
}

}  // namespace

Loader::Loader(Dataset data, Batches batches, const LoaderOptions& options)
    : Loader(batches_of(std::move(data), batches), options) {}

Loader::Loader(std::function<Batch(std::int64_t step)> make, const LoaderOptions& options)
    : state_(std::make_unique<State>(std::move(make), checked(options))) {}

Loader::Loader(Loader&& other) noexcept = default;

Loader& Loader::operator=(Loader&& other) noexcept {
    Loader(std::move(other)).state_.swap(state_);
    return *this;
}

Loader::~Loader() {
    // A forked process has no such thread, and nobody would ever be done with it.
    if (state_ != nullptr && state_->process != ::getpid()) (void)state_.release();
}

Loader::State& Loader::live(std::string_view asked) const {
    if (state_ == nullptr)
        throw ArgumentError(fmt::format("Loader::{}: it was moved to another loader", asked));
    if (state_->process != ::getpid()) {
        throw Error(fmt::format("Loader::{}: this loader is process {}'s, from which {} was forked",
                                asked, state_->process, ::getpid()));
    }
    return *state_;
}

Batch Loader::next() {
    State& s = live("next");
    std::unique_lock lock(s.mutex);
    if (!s.has_news()) {
        const auto start = std::chrono::steady_clock::now();
        ++s.waited.times;
        s.has_batch.wait(lock, [&] { return s.has_news(); });
        s.waited.total += std::chrono::steady_clock::now() - start;
    }
    if (s.ready.empty()) std::rethrow_exception(s.failure);
    Batch batch = std::move(s.ready.front());
    s.ready.pop_front();
    ++s.next_step;
    lock.unlock();
    s.has_room.notify_one();
    return batch;
}

std::int64_t Loader::step() const {
    State& s = live("step");
    const std::scoped_lock lock(s.mutex);
    return s.next_step;
}

Waited Loader::waited() const {
    State& s = live("waited");
    const std::scoped_lock lock(s.mutex);
    return s.waited;
}

}  // namespace lazuli
