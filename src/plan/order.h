#pragma once

// The order in which the steps of a plan run decides how much memory is alive at once: an order
// with a low peak.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace lazuli::plan {

/// A step as memory sees it.
struct OrderStep {
    std::vector<std::uint32_t> reads;   // values, without repetition
    std::vector<std::uint32_t> writes;  // values it makes; no other step makes them
    std::int64_t scratch = 0;           // bytes it needs while it runs
    // Pairs (input, output): the output may take the input's place where the step is the last that
    // reads it.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place;
};

/// What is alive while a step runs: each value that was made before, and that this step or a later
/// one reads or that is kept; the step's outputs; its scratch. A value nobody reads and that is not
/// kept is alive during its step only.
///
/// An output that takes an input's place costs nothing while the step runs; behind the step the
/// input is gone and the output counts its own bytes. A step's pairs are gone through as they
/// stand, and one is taken where the input dies with the step (nobody reads it later, it is not
/// kept, and a step made it), the output is no larger than the input, and neither is in a pair
/// taken before.
struct OrderProblem {
    std::vector<std::int64_t> bytes;  // of each value. One that no step makes costs nothing
    std::vector<bool> kept;           // values that live to the end
    std::vector<OrderStep> steps;     // in an order that works
};

struct Order {
    std::vector<std::uint32_t> steps;
    std::int64_t peak = 0;
    std::int64_t given_peak = 0;  // of the order as given
    std::int64_t bound = 0;       // no order has a lower peak
    std::string_view method;      // what found it

    /// Whether nothing better exists, by the bound.
    bool is_optimal() const { return peak == bound; }
};

/// An order with a low peak: the order as given where none with a lower one is found. At most
/// `effort` sets of steps are looked at in searches, so the answer does not depend on the clock.
/// InternalError where the order as given reads a value before it is made, two steps make one
/// value, or a value is not in the table.
Order order_steps(const OrderProblem& problem, std::int64_t effort = 100'000);

/// The most bytes alive at once when the steps run in this order.
std::int64_t peak_of(const OrderProblem& problem, std::span<const std::uint32_t> order);

}  // namespace lazuli::plan
