#include "runtime/attempt.h"

#include <atomic>
#include <optional>

#include "ir/layout.h"
#include "lazuli/error.h"
#include "runtime/memory.h"
#include "runtime/planning.h"
#include "runtime/running.h"
#include "runtime/values.h"

namespace lazuli::runtime {

using ir::Flight;
using ir::Node;
using ir::State;

namespace {

std::atomic<std::uint64_t> fallbacks{0};

}  // namespace

std::uint64_t fallback_count() { return fallbacks.load(std::memory_order_relaxed); }

Attempt::Attempt(std::span<Node* const> lazy, bool keep_held, Queue* queue, ir::Capture& captured)
    : device_(lazy.front()->device),
      in_queue_(queue != nullptr),
      flight_(std::make_shared<Flight>(queue)) {
    ir::capture(lazy, {}, keep_held, captured);
    find_unneeded(captured);
    params_.reserve(captured.params.size());
    for (Node* param : captured.params) {
        params_.emplace_back(param);
        if (is_number(*param)) continue;
        const State state = param->state.load(std::memory_order_relaxed);
        if (state == State::in_flight) waits_for_.push_back(param->flight->shared_from_this());
        if (state == State::lazy) lacks_.emplace_back(param);
    }
    if (blocked_by() != nullptr || !lacks_.empty()) return;
    for (const Node* node : is_inspecting() ? std::span(captured.nodes) : std::span<Node*>())
        recorded_.push_back({ir::name_of(*node).value_or(""), ir::source_of(*node)});
    outputs_.reserve(captured.outputs.size());
    std::size_t inputs = 0;
    for (Node* output : captured.outputs) {
        outputs_.emplace_back(output);
        inputs += output->input_count;
    }
    released_.reserve(inputs);
    values_.reserve(outputs_.size());
    while (values_.size() < outputs_.size())
        values_.push_back(std::make_unique<ir::Materialized>());
    // Nothing throws from here on.
    for (const Held& output : outputs_) {
        if (output->state.load(std::memory_order_relaxed) != State::lazy)
            continue;  // the same target twice
        output->flight = flight_.get();
        output->state.store(State::in_flight, std::memory_order_release);
    }
}

std::shared_ptr<Flight> Attempt::blocked_by() const {
    return !in_queue_ && !waits_for_.empty() ? waits_for_.front() : nullptr;
}

/// Operands whose memory may become that of a result: only operations that end with this evaluation
/// read them, and nobody else has the memory.
void Attempt::find_unneeded(const ir::Capture& captured) {
    for (std::size_t i = 0; i < captured.params.size(); ++i) {
        const Node& node = *captured.params[i];
        if (is_number(node) || node.state.load(std::memory_order_relaxed) != State::available ||
            node.refs.load(std::memory_order_acquire) > node.uses)
            continue;
        const BufferPtr& buffer = node.value->binding.buffer;
        if (buffer.use_count() == 1 && !buffer->is_frozen() && !buffer->may_release() &&
            buffer->host_mutable() != nullptr)
            unneeded_.push_back(i);
    }
    if (!unneeded_.empty() && !captured.is_private()) unneeded_.clear();
}

std::uint64_t Attempt::moved_bytes() const {
    std::int64_t bytes = 0;
    for (const Held& param : params_) bytes += param->spec.nbytes();
    for (const Held& output : outputs_) bytes += output->spec.nbytes();
    return static_cast<std::uint64_t>(bytes);
}

std::uint64_t Attempt::held_bytes() const {
    std::int64_t bytes = 0;
    for (const std::size_t i : unneeded_) bytes += params_[i]->spec.nbytes();
    for (const Held& output : outputs_) bytes += output->spec.nbytes();
    return static_cast<std::uint64_t>(bytes);
}

void Attempt::plan(const ir::Capture& captured) {
    try {
        plan_ = find_plan(captured, device_, finding_);
    } catch (const std::bad_alloc&) {
        abandon();
        throw OutOfMemory("out of memory while planning", 0, memory_limit());
    } catch (...) {
        abandon();
        throw;
    }
}

void Attempt::abandon() noexcept { give_up(nullptr); }

void Attempt::lose() noexcept {
    blame_ = Blame::none;
    give_up(std::make_exception_ptr(ExecutionError(
        "fork", "the process was forked while this was computed in an operand's place")));
}

void Attempt::run() {
    try {
        blame_ = Blame::running;
        wait_for_operands();
        compute();
    } catch (const OutOfMemory&) {
        blame_ = Blame::none;
        give_up(std::current_exception());
        throw;
    } catch (const std::bad_alloc&) {
        blame_ = Blame::none;
        give_up(std::current_exception());
        throw OutOfMemory("out of memory while evaluating", 0, memory_limit());
    } catch (...) {
        give_up(std::current_exception());
        throw;
    }
    complete();
}

void Attempt::wait_for_operands() {
    for (const auto& flight : waits_for_) flight->wait();
    if (waits_for_.empty()) return;
    for (const Held& param : params_) {
        if (is_number(*param.get())) continue;
        switch (param->state.load(std::memory_order_acquire)) {
            case State::available: break;
            case State::failed: ir::rethrow_failure(*param.get());
            case State::lazy:
            case State::in_flight:  // tried again by somebody
                throw OutOfMemory("an operand ran out of memory", 0, memory_limit());
        }
    }
}

void Attempt::compute() {
    InlineVector<Binding, 4> bindings;
    bindings.reserve(params_.size());
    for (const Held& param : params_) bindings.push_back(bind(*param.get(), plan_->device));
    const bool at_home = plan_->device == device_;
    if (at_home) {
        // A trace writes down what a plan was given, when it has run.
        const bool keeps = is_traced() || !recorded_.empty();
        for (const std::size_t i : keeps ? std::span<const std::size_t>() : unneeded_)
            bindings[i].given_away = &given_away_;
    } else {
        fallbacks.fetch_add(1, std::memory_order_relaxed);
    }
    std::vector<BufferPtr> buffers;
    try {
        buffers = run_plan(bindings);
    } catch (SomeFailed& some) {
        buffers = std::move(some.results);
        errors_ = std::move(some.errors);
    }
    if (buffers.size() != outputs_.size())
        throw InternalError("a backend returned another number of results than the program has");
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i] == nullptr) continue;
        const TensorSpec& spec = outputs_[i]->spec;
        Binding value = {std::move(buffers[i]), 0, ir::dense_byte_strides(spec), true};
        if (!at_home) value.buffer = copied(value, spec, device_);  // bring the results there
        values_[i]->binding = std::move(value);
    }
}

std::vector<BufferPtr> Attempt::run_plan(std::span<const Binding> bindings) {
    if (!recorded_.empty())
        return run_inspected(plan_->program, plan_->device, bindings, recorded_);
    return run_watched(*plan_, finding_, bindings, given_away_);
}

void Attempt::complete() noexcept {
    {
        const std::scoped_lock lock(ir::graph_lock());
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            Node& node = *outputs_[i].get();
            if (node.state.load(std::memory_order_relaxed) != State::in_flight) continue;
            if (!errors_.empty() && errors_[i] != nullptr) {
                ir::keep_failure(node, errors_[i]);
                continue;
            }
            node.value = values_[i].release();
            node.state.store(State::available, std::memory_order_release);
            if (!node.is_on_tape()) ir::detach_inputs(node, released_);  // there is room for them
        }
    }
    flight_->finish();
    for (Node* node : released_) ir::release(node);
}

/// Results become lazy again, so that they can be tried anew, or keep the error where it is theirs
/// alone.
void Attempt::give_up(const std::exception_ptr& error) noexcept {
    {
        const std::scoped_lock lock(ir::graph_lock());
        for (const Held& output : outputs_) {
            if (output->state.load(std::memory_order_relaxed) != State::in_flight) continue;
            // What was computed in an operand's place cannot be tried again.
            if (given_away_ || (blame_ == Blame::running && !failed_together())) {
                ir::keep_failure(*output.get(), error);
            } else {
                output->value = nullptr;
                output->state.store(State::lazy, std::memory_order_release);
            }
        }
    }
    flight_->finish();
}

}  // namespace lazuli::runtime
