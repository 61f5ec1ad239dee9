#pragma once

// An execution that somebody watches: what was planned, when each kernel ran, and how long. Where
// nobody does, asking costs a load.

#include <atomic>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "lazuli/graph.h"
#include "lazuli/trace.h"
#include "plan/cache.h"

namespace lazuli::runtime {

/// How a plan was come by.
struct Finding {
    bool found = false;       // in the cache, or made
    Miss why = Miss::new_op;  // it was not
    bool is_bound = false;    // or a plan for many sizes was bound to those
    double microseconds = 0;  // that looking for it, or making it, took
};

/// False where it is known that nobody watches, so that asking costs a load.
extern std::atomic<bool> may_watch;
/// Whether somebody does, asked of all who could.
bool watches();

#ifdef LAZULI_NO_TRACING  // a build to measure against what watching costs where nobody does
constexpr bool is_watching() { return false; }
constexpr bool is_traced() { return false; }
#else
/// Whether executions are watched: LAZULI_DEBUG is set, or a trace is on.
inline bool is_watching() { return may_watch.load(std::memory_order_relaxed) && watches(); }
/// Whether a trace is on.
inline bool is_traced() { return may_watch.load(std::memory_order_relaxed) && trace::is_on(); }
#endif

/// Says that a plan was made: programs and kernels, as far as LAZULI_DEBUG asks for them.
void report_plan(const plan::Plan& plan);

/// One execution of a plan on this thread, from its construction to its end.
class Execution {
   public:
    Execution(const plan::Plan& plan, const Finding& finding, std::span<const Binding> params);
    /// Prints what is asked for, and hands it to the trace.
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    /// The innermost of this thread; null where nobody watches.
    static Execution* current() { return is_watching() ? innermost() : nullptr; }

    /// Says when a kernel ran, and how long, in seconds of `trace::now`.
    void ran(std::size_t kernel, double start, double seconds) {
        if (kernel >= seconds_.size()) return;
        starts_[kernel] = start;
        seconds_[kernel] = seconds;
    }
    /// Says that it failed.
    void failed(std::exception_ptr error) { error_ = std::move(error); }

    /// What runs while this lives is part of a kernel: the body of a loop.
    class Pause {
       public:
        Pause();
        ~Pause();
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

       private:
        Execution* const paused_;
    };

   private:
    static Execution* innermost();

    const plan::Plan& plan_;
    const Finding finding_;
    std::span<const Binding> params_;
    const double start_;
    std::vector<double> starts_;   // of each kernel, and
    std::vector<double> seconds_;  // -1: did not run
    std::exception_ptr error_;
    PreparedInfo info_;
    Execution* const outer_;
};

}  // namespace lazuli::runtime
