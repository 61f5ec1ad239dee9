#pragma once

/// @file
/// Looking into evaluations: what every operation computed, and which one made the first NaN. While
/// somebody looks, operations are computed one after the other, each by a kernel of its own, so
/// that values that fused kernels never write down are seen as well; results are what they would be
/// without, up to rounding.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lazuli/scalar.h"
#include "lazuli/shape.h"

namespace lazuli {

/// What the result of an operation is like.
struct TensorSummary {
    std::string op;             ///< The operation, as it was recorded.
    std::string name;           ///< That the tensor was given; empty: none.
    TensorSpec spec;            ///< Type and shape.
    double min = 0;             ///< Of the elements that are not NaN; of complex ones the size.
    double max = 0;             ///< NaN where there are none.
    double mean = 0;            ///< Of the finite ones.
    std::int64_t nans = 0;      ///< How many are NaN,
    std::int64_t infs = 0;      ///< and how many infinite.
    std::vector<Scalar> first;  ///< Up to six, in their order.
    std::string source;  ///< `file:line in function` that recorded it; empty where nobody knows.

    /// All of it in a line.
    std::string str() const;
};

/// Shows what every operation of the process computes, for as long as it lives: also values within
/// fused kernels and loops. LAZULI_DEBUG_TENSORS=1 does so for the whole process. Places in the
/// source are known of what its own thread records meanwhile, and need debug information.
class DebugTensors {
   public:
    /// Prints them on standard error.
    DebugTensors();
    /// Hands them to `see`, on the threads that evaluate.
    explicit DebugTensors(std::function<void(const TensorSummary&)> see);
    ~DebugTensors();
    DebugTensors(const DebugTensors&) = delete;
    DebugTensors& operator=(const DebugTensors&) = delete;

   private:
    std::shared_ptr<const std::function<void(const TensorSummary&)>> see_;
};

/// For bindings of other languages: `hook` says where in them an operation is being recorded, as
/// `file:line in function`, or nothing where the place in C++ is to be taken.
void set_source_hook(std::string (*hook)());

/// Stops evaluations at the first operation that makes a NaN of operands without one, for as long
/// as it lives: an ExecutionError that names the operation, its operands, the elements and the line
/// that recorded it. LAZULI_NAN_CHECK=1 does so for the whole process.
class NanCheck {
   public:
    /// Begins.
    NanCheck();
    ~NanCheck();
    NanCheck(const NanCheck&) = delete;
    NanCheck& operator=(const NanCheck&) = delete;
};

}  // namespace lazuli
