#pragma once

// Ops that have a fast kernel of their own in host memory: sorting, scanning, factorising. Their
// records say what they mean; these compute the same, on all threads, and tests compare the two.

#include <string_view>
#include <vector>

#include "lazuli/op.h"

namespace lazuli::backend {

/// Computes an op's result out of dense operands, as its record's `evaluate` does.
using HostKernel = void (*)(const EvalArgs& args);

/// The kernel of an op; its record's `evaluate` where it has none.
HostKernel host_kernel(const OpDef& op);

namespace host {

/// Memory that a plan has for the kernel that runs on this thread, as long as it lives: what the
/// kernel takes of it cannot run out.
class PlannedRoom {
   public:
    PlannedRoom(char* data, std::size_t bytes);
    ~PlannedRoom();
    PlannedRoom(const PlannedRoom&) = delete;
    PlannedRoom& operator=(const PlannedRoom&) = delete;
    /// All of it, for the first who asks; null where it is smaller, or none is planned.
    static char* take(std::size_t bytes);
};

/// What an op that updates its first operand in place is going to overwrite.
class UpdatedWindow {
   public:
    explicit UpdatedWindow(const EvalArgs& args);
    /// Needs no memory.
    void put_back() const;

   private:
    Shape box_;
    Ints box_strides_;
    Ints strides_;
    std::size_t element_;
    std::vector<char> content_;
    char* at_ = nullptr;
};

}  // namespace host

}  // namespace lazuli::backend
