#pragma once

// One attempt to make lazy nodes available: captured, planned, run, and settled, whatever happens.

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/inline_vector.h"
#include "ir/graph.h"
#include "ir/node.h"
#include "plan/cache.h"
#include "runtime/flight.h"
#include "runtime/inspect.h"
#include "runtime/watch.h"

namespace lazuli::runtime {

class Queue;

/// A reference to a node, given back at the end.
class Held {
   public:
    explicit Held(ir::Node* node) : node_(node) { ir::retain(node); }
    Held(Held&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
        if (node_ != nullptr) ir::release(node_);
    }
    ir::Node* operator->() const { return node_; }
    ir::Node* get() const { return node_; }

   private:
    ir::Node* node_;
};

class Attempt {
   public:
    /// Under the graph lock: captures, takes hold of what is needed, and marks the results as in
    /// flight. What is to run now is not marked where an operand is in flight: whoever waits holds
    /// nothing that others may wait for. What is to run in a queue waits for operands then.
    Attempt(std::span<ir::Node* const> lazy, bool keep_held, Queue* queue, ir::Capture& captured);

    /// What must be waited for before trying anew, or null where the attempt can run.
    std::shared_ptr<ir::Flight> blocked_by() const;
    /// Operands of other devices that nobody computes yet: nothing is marked where there are any.
    const std::vector<Held>& lacks() const { return lacks_; }

    /// Finds the plan. Where that fails, the results are lazy again.
    void plan(const ir::Capture& captured);
    /// Computes the results and hands them over, or keeps the error on them.
    void run();
    /// As if the plan had not been found: the results are lazy again.
    void abandon() noexcept;
    /// The same while it is run by a thread that is gone.
    void lose() noexcept;

    /// Whether it failed while running several results, so that the failure may be that of one of
    /// them.
    bool failed_together() const {
        return blame_ == Blame::running && outputs_.size() > 1 && !given_away_;
    }
    /// The results, for trying them one by one.
    std::vector<Held> take_outputs() {
        std::vector<Held> out;
        for (Held& output : outputs_) out.push_back(std::move(output));
        outputs_.clear();
        return out;
    }

    const std::shared_ptr<ir::Flight>& flight() const { return flight_; }
    /// Operands' flights, which must be in their queues before this is put behind them.
    const std::vector<std::shared_ptr<ir::Flight>>& waits_for() const { return waits_for_; }
    std::size_t launches() const { return plan_->launches; }
    /// Bytes that it reads and writes, and that it makes or keeps alive until it has run.
    std::uint64_t moved_bytes() const;
    std::uint64_t held_bytes() const;

   private:
    /// What went wrong, as far as it decides what becomes of the nodes.
    enum class Blame : std::uint8_t { none, planning, running };

    void find_unneeded(const ir::Capture& captured);
    void wait_for_operands();
    void compute();
    std::vector<BufferPtr> run_plan(std::span<const Binding> bindings);
    void complete() noexcept;
    void give_up(const std::exception_ptr& error) noexcept;

    Device device_;
    const bool in_queue_;
    std::shared_ptr<ir::Flight> flight_;
    InlineVector<Held, 4> params_;
    InlineVector<Held, 2> outputs_;
    InlineVector<std::unique_ptr<ir::Materialized>, 2> values_;
    ir::NodeList released_;                               // inputs that the results give up
    std::vector<std::shared_ptr<ir::Flight>> waits_for_;  // of operands
    std::vector<Held> lacks_;
    std::shared_ptr<const plan::Plan> plan_;
    Finding finding_;
    std::vector<Recorded> recorded_;          // of each operation, where somebody inspects
    std::vector<std::size_t> unneeded_;       // parameters
    bool given_away_ = false;                 // whether one of them was overwritten
    std::vector<std::exception_ptr> errors_;  // of single results; none: all are there
    Blame blame_ = Blame::planning;
};

/// How many evaluations ran on the reference backend because their device lacks an op.
std::uint64_t fallback_count();

}  // namespace lazuli::runtime
