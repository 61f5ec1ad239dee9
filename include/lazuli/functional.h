#pragma once

/// @file
/// The functional layer: checking a call without making it, and choosing among the implementations
/// of a composite op.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazuli/tensor.h"

namespace lazuli::functional {

/// A call that was checked: op, operands, attributes and the result it will have. `capture` records
/// it.
struct CallPlan {
    OpId op = 0;                        ///< The op.
    std::vector<Tensor> inputs;         ///< Operands, as given.
    std::vector<Attribute> attributes;  ///< Attributes, in the record's order.
    TensorSpec result;                  ///< Type and shape of the result.
};

/// Checks a call of an op and says what its result would be. Pure: records nothing. Throws the
/// error that making the call would throw, with op, operands and shapes.
CallPlan validate(std::string_view op, std::span<const Tensor> inputs,
                  std::span<const Attribute> attributes = {}, const TensorSpec* wanted = nullptr);
/// Records a checked call.
Tensor capture(const CallPlan& plan);

/// How the implementation of an op is chosen, where it has several.
struct Policy {
    /// The ways to choose.
    enum class Kind : std::uint8_t {
        standard,   ///< The op's first implementation that serves the arguments.
        force,      ///< The one named; an error where it does not serve the arguments.
        benchmark,  ///< The fastest for these types and shapes, measured once and remembered.
    };
    Kind kind = Kind::standard;       ///< The way.
    std::string implementation = {};  ///< The one to force.
    std::size_t cache = 64;  ///< How many measurements `benchmark` remembers, the least recently
                             ///< used dropped first.
    /// Whether both say the same.
    bool operator==(const Policy&) const = default;

    /// The op's first implementation that serves the arguments.
    static Policy standard() { return {}; }
    /// The one named.
    static Policy force(std::string implementation) {
        return {Kind::force, std::move(implementation), 64};
    }
    /// The fastest, remembering `cache` measurements.
    static Policy benchmark(std::size_t cache = 64) { return {Kind::benchmark, "", cache}; }
};

/// Sets the policy of an op for the whole process; "*" is every op that has none of its own. Throws
/// ArgumentError for an unknown op or implementation.
void set_policy(std::string_view op, const Policy& policy);
/// Drops the policies set for the process and reads LAZULI_POLICY and LAZULI_POLICY_FILE anew.
void reset_policies();
/// Sets policies from JSON: `{"softmax": {"force": "logsumexp"}, "matmul": {"benchmark": 16}, "*":
/// "default"}`.
void set_policies_json(std::string_view json);
/// Sets policies from a JSON file.
void load_policies(const std::string& path);
/// The policy that holds for an op on this thread.
Policy policy_of(std::string_view op);

/// Sets the policy of an op for its thread while it lives.
class PolicyScope {
   public:
    /// For this op.
    PolicyScope(std::string_view op, const Policy& policy);
    ~PolicyScope();
    PolicyScope(const PolicyScope&) = delete;
    PolicyScope& operator=(const PolicyScope&) = delete;
};

/// The names of an op's implementations, the default first: kernels that backends may have for it,
/// and for a composite the ways to build it out of others.
std::vector<std::string> implementations(std::string_view op);

}  // namespace lazuli::functional
