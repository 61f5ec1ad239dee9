#pragma once

// What loops and conditions take and give, for those who record and run them.

#include <string>
#include <string_view>
#include <vector>

#include "lazuli/op.h"

namespace lazuli::ops {

/// Attributes of each, by index.
struct LoopAttr {
    enum : int { body, carried, scanned, trips, reverse };
};
struct CondAttr {
    enum : int { then, otherwise };
};
struct WhileAttr {
    enum : int { test, body, carried };
};

/// DTypeError or ShapeError that names `op` and both where `given` is not as `wanted`.
void expect_spec(std::string_view op, const std::string& what, const TensorSpec& wanted,
                 const TensorSpec& given);

/// The results in the bundle of each, for these operands; throws where they do not fit.
///
/// loop: operands are the number of trips (where the attribute is negative), what is carried, what
/// is scanned, and what the body takes from outside; the body's parameters are the step's number
/// and these. Its results are what is carried on, and what is stacked.
std::vector<TensorSpec> loop_results(const InferArgs& args);
/// cond: operands are the condition and what both bodies take.
std::vector<TensorSpec> cond_results(const InferArgs& args);
/// while_loop: operands are what is carried and what test and body take from outside.
std::vector<TensorSpec> while_results(const InferArgs& args);

}  // namespace lazuli::ops
