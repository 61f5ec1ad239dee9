#pragma once

// Code that is made behind the kernels that wait for it.

#include <functional>

namespace lazuli::cpu {

/// Runs a job on a thread of its own, behind those given before.
void run_behind(std::function<void()> job);
/// Starts that thread again where a fork has lost it.
void remind_queue();
/// Returns when all jobs given so far are done.
void finish_queue();
/// Waits for the job that has begun, and begins no other until one is added: for the end of the
/// process.
void stop_queue();

/// Held while the compiler works: a fork waits until nobody is inside it.
class InsideCompiler {
   public:
    InsideCompiler();
    ~InsideCompiler();
    InsideCompiler(const InsideCompiler&) = delete;
    InsideCompiler& operator=(const InsideCompiler&) = delete;
};

}  // namespace lazuli::cpu
