#pragma once

// A plan for all values of a program's variables, and what it becomes at some of them.

#include <memory>
#include <span>
#include <string>

#include "plan/cache.h"

namespace lazuli::runtime {

class ForAllSizes {
   public:
    /// Plans a program by the policies that hold on this thread.
    ForAllSizes(const Program& program, Device device);

    const Program& program() const { return program_; }
    Device device() const { return device_; }
    /// Why there is no plan for all sizes; empty where there is one.
    const std::string& why_not() const { return why_not_; }
    /// An ordinary plan for `instance`, which is the program at these values; null where they need
    /// one of their own. Called by one thread at a time.
    std::shared_ptr<plan::Plan> bound(std::span<const SizeBinding> values,
                                      const Program& instance) const;

   private:
    void ensure_supported() const;

    Program program_;
    Program expanded_;
    Device device_;
    std::shared_ptr<const void> open_;
    std::string why_not_;
};

}  // namespace lazuli::runtime
