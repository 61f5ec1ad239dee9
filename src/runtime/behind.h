#pragma once

// Work behind the calls that gain by it: code that is compiled, plans that are specialised.

#include <functional>

namespace lazuli::runtime {

/// Runs a job on a thread of its own, behind those given before.
void run_behind(std::function<void()> job);
/// Starts that thread again where a fork has lost it.
void remind_behind();
/// Returns when all jobs given so far are done, and those that they gave.
void finish_behind();
/// Waits for the job that has begun, and begins no other until one is added: for the end of the
/// process.
void stop_behind();

/// A fork waits until nobody holds one; whoever runs a job does.
class NoFork {
   public:
    NoFork();
    ~NoFork();
    NoFork(const NoFork&) = delete;
    NoFork& operator=(const NoFork&) = delete;
};

}  // namespace lazuli::runtime
