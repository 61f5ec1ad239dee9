#pragma once

/// @file
/// Work that runs beside the thread that records it: streams, their command lists, events.

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "lazuli/device.h"
#include "lazuli/tensor.h"

namespace lazuli {

namespace ir {
struct Flight;
}
namespace runtime {
class Queue;
}

/// The end of some work. Errors stay with the tensors they touch: an event says that nothing is
/// under way any more. Cheap to copy.
class Event {
   public:
    /// Over already.
    Event() = default;
    /// Of an evaluation; for the implementation.
    explicit Event(std::shared_ptr<ir::Flight> flight) : flight_(std::move(flight)) {}
    /// Whether it is over.
    bool is_done() const;
    /// Returns when it is over.
    void wait() const;
    /// Returns when it is over; Timeout where that takes longer. The work goes on, and can be
    /// waited for again.
    void wait(std::chrono::nanoseconds timeout) const;
    /// Calls that when it is over, on whatever thread finds out; at once where it is. It must not
    /// wait for anything, nor throw.
    void on_ready(std::function<void()> call) const;

    /// `co_await event`: goes on when it is over, on whatever thread finds out.
    auto operator co_await() const {
        struct Awaiter {
            Event event;
            bool await_ready() const { return event.is_done(); }
            void await_suspend(std::coroutine_handle<> rest) const {
                event.on_ready([rest] { rest.resume(); });
            }
            void await_resume() const {}
        };
        return Awaiter{*this};
    }

   private:
    std::shared_ptr<ir::Flight> flight_;  // null: over
};

/// Work that runs in the order it was given. Cheap to copy; copies are the same stream. What it was
/// given runs even when nobody has the stream any more.
class Stream {
   public:
    /// A new stream, with a worker and memory to compute in of its own.
    static Stream make();
    /// Where `async_eval` of this thread puts its work: a stream that was set, or the one stream
    /// that all threads share.
    static Stream current();

    /// Lets all work that it was given run, and says when that is over.
    Event commit() const;
    /// Returns when all work that it was given is over.
    void synchronize() const;
    /// Whether both are the same stream.
    bool operator==(const Stream&) const = default;

   private:
    friend class StreamScope;
    explicit Stream(std::shared_ptr<runtime::Queue> queue) : queue_(std::move(queue)) {}
    std::shared_ptr<runtime::Queue> queue_;
};

/// Sets the stream that `async_eval` of this thread uses, for as long as this lives.
class StreamScope {
   public:
    /// From now on that one.
    explicit StreamScope(Stream stream);
    ~StreamScope();
    StreamScope(const StreamScope&) = delete;
    StreamScope& operator=(const StreamScope&) = delete;

   private:
    std::shared_ptr<runtime::Queue> before_;
};

/// Starts to compute the tensors, and returns: their values are there when somebody has waited for
/// them, as all that reads values does. Work is committed when somebody waits, or asks whether it
/// is ready, and when there is much of it (`set_stream_limits`).
void async_eval(std::span<const Tensor> tensors);
/// The same for tensors one by one.
template <class... Ts>
void async_eval(const Tensor& first, const Ts&... rest) {
    const Tensor all[] = {first, rest...};
    async_eval(std::span<const Tensor>(all));
}
/// Returns when all work of all streams is over.
void synchronize();
/// When the tensor's value will be there: starts to compute it where nobody has.
Event ready(const Tensor& tensor);

/// How work is committed, and how much may be pending.
struct StreamLimits {
    std::size_t max_ops_per_commit = 4;                          ///< Kernels.
    std::uint64_t max_bytes_per_commit = 1 << 20;                ///< That they read and write.
    std::uint64_t max_run_ahead_bytes = std::uint64_t{1} << 30;  ///< That pending work makes or
                                                                 ///< keeps.
    std::size_t max_run_ahead_commands = 4096;                   ///< Evaluations that are pending.
};
/// The limits now: LAZULI_MAX_OPS_PER_COMMIT, LAZULI_MAX_BYTES_PER_COMMIT and
/// LAZULI_MAX_RUN_AHEAD_BYTES at the start.
StreamLimits stream_limits();
/// Sets them, for all streams. Who records beyond what may be pending waits. ArgumentError where
/// one is 0.
void set_stream_limits(const StreamLimits& limits);

}  // namespace lazuli
