#include "runtime/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/env.h"
#include "frontend/record.h"
#include "ir/graph.h"
#include "lazuli/error.h"
#include "lazuli/stream.h"
#include "runtime/attempt.h"
#include "runtime/queue.h"

namespace lazuli {

namespace runtime {

namespace {

using ir::Capture;
using ir::Flight;
using ir::Node;
using ir::State;

/// A capture whose vectors have kept their room since the thread's last evaluation. A function
/// called by an evaluation may evaluate in turn; the inner one then starts with an empty capture.
class ScratchCapture {
   public:
    ScratchCapture() : capture_(std::move(kept())) {}
    ~ScratchCapture() { kept() = std::move(capture_); }
    ScratchCapture(const ScratchCapture&) = delete;
    ScratchCapture& operator=(const ScratchCapture&) = delete;
    Capture& get() { return capture_; }

   private:
    static Capture& kept() {
        static thread_local Capture capture;
        return capture;
    }
    Capture capture_;
};

/// What the targets lack. Under the graph lock.
struct Lack {
    ir::NodeList lazy;  // of one device
    std::shared_ptr<Flight> in_flight;

    explicit Lack(std::span<Node* const> targets) {
        for (Node* target : targets) {
            switch (target->state.load(std::memory_order_acquire)) {
                case State::available: break;
                case State::failed: ir::rethrow_failure(*target);
                case State::in_flight: in_flight = target->flight->shared_from_this(); break;
                case State::lazy:
                    if (lazy.empty() || lazy.front()->device == target->device)
                        lazy.push_back(target);
                    break;
            }
        }
    }
};

void make_available(std::span<Node* const> targets, bool keep_held);

/// Runs an attempt. Where several results failed each is tried alone, so that the error stays with
/// those it touches. Throws what is kept on no node.
void run(Attempt& attempt) {
    try {
        attempt.run();
    } catch (...) {
        if (!attempt.failed_together()) throw;
        const std::vector<Held> outputs = attempt.take_outputs();
        for (const Held& output : outputs) {
            Node* node = output.get();
            try {
                make_available({&node, 1}, false);
            } catch (...) {
                // kept on the node
            }
        }
        for (const Held& output : outputs) {  // out of memory leaves no mark
            if (output->state.load(std::memory_order_acquire) == State::lazy) throw;
        }
    }
}

/// `keep_held`: also interior results that somebody else holds.
void make_available(std::span<Node* const> targets, bool keep_held) {
    ScratchCapture scratch;
    for (;;) {
        std::shared_ptr<Flight> other;
        std::optional<Attempt> attempt;
        {
            const std::scoped_lock lock(ir::graph_lock());
            const Lack lack(targets);
            other = lack.in_flight;
            if (!lack.lazy.empty()) {
                attempt.emplace(lack.lazy, keep_held, nullptr, scratch.get());
                other = attempt->blocked_by();
            }
        }
        if (attempt && other == nullptr && !attempt->lacks().empty()) {
            for (const Held& operand : attempt->lacks()) {
                Node* node = operand.get();
                make_available({&node, 1}, true);
            }
        } else if (attempt && other == nullptr) {
            attempt->flight()->start();
            attempt->plan(scratch.get());
            run(*attempt);
        } else if (other != nullptr) {
            attempt.reset();
            other->wait();
        } else {
            return;
        }
    }
}

// ---- streams

thread_local std::shared_ptr<Queue> own_queue;

std::shared_ptr<Queue> current_queue() {
    return own_queue != nullptr ? own_queue : Queue::shared();
}

/// Each target is tried once: one that runs out of memory is lazy again, and says so when it is
/// asked for.
void evaluate_later(std::vector<Node*> targets, Queue& queue) {
    ScratchCapture scratch;
    std::set<Node*> tried;  // operands of other devices
    while (!targets.empty()) {
        std::shared_ptr<Attempt> attempt;
        std::vector<Node*> lazy;
        {
            const std::scoped_lock lock(ir::graph_lock());
            const Lack lack(targets);
            lazy.assign(lack.lazy.begin(), lack.lazy.end());
            if (lazy.empty()) return;
            attempt = std::make_shared<Attempt>(lazy, true, &queue, scratch.get());
        }
        if (!attempt->lacks().empty()) {
            for (const Held& operand : attempt->lacks()) {
                if (!tried.insert(operand.get()).second) return;
                evaluate_later({operand.get()}, queue);
            }
            continue;
        }
        attempt->plan(scratch.get());
        const auto work = [attempt] {
            try {
                run(*attempt);
            } catch (...) {
                // kept on the nodes, or these are lazy again and throw it when asked for
            }
        };
        try {
            for (const auto& operand : attempt->waits_for()) operand->wait_until_placed();
            queue.add({.flight = attempt->flight(),
                       .run = work,
                       .lose = [attempt] { attempt->lose(); },
                       .launches = attempt->launches(),
                       .moved_bytes = attempt->moved_bytes(),
                       .held_bytes = attempt->held_bytes()});
        } catch (...) {
            attempt->abandon();
            throw;
        }
        std::erase_if(targets, [&](Node* target) {
            return std::find(lazy.begin(), lazy.end(), target) != lazy.end();
        });
    }
}

std::vector<Node*> owners_of(std::string_view asker, std::span<const Tensor> tensors) {
    std::vector<Node*> owners;
    for (const Tensor& tensor : tensors)
        owners.push_back(ir::owner_of(&frontend::require_node(asker, tensor)));
    return owners;
}

/// The flight of a node that is being computed, or null.
std::shared_ptr<Flight> flight_of(const Node& node) {
    const std::scoped_lock lock(ir::graph_lock());
    return node.state.load(std::memory_order_acquire) == State::in_flight
               ? node.flight->shared_from_this()
               : nullptr;
}

struct Limits {
    std::mutex mutex;
    StreamLimits now;
    Limits() {
        const auto set = [](env::Var var, auto& field) {
            field = static_cast<std::remove_reference_t<decltype(field)>>(env::integer(var));
            if (field == 0) throw ArgumentError(fmt::format("{} must not be 0", env::name(var)));
        };
        set(env::Var::max_ops_per_commit, now.max_ops_per_commit);
        set(env::Var::max_bytes_per_commit, now.max_bytes_per_commit);
        set(env::Var::max_run_ahead_bytes, now.max_run_ahead_bytes);
    }
};

Limits& limits() {
    static Limits& l = *new Limits;
    return l;
}

}  // namespace

void evaluate(std::span<Node* const> targets) {
    ir::NodeList owners;
    for (Node* target : targets) owners.push_back(ir::owner_of(target));
    make_available(owners, true);
}

}  // namespace runtime

using namespace runtime;

// ---- the public face

bool Event::is_done() const {
    if (flight_ == nullptr || flight_->is_done()) return true;
    flight_->commit();
    return false;
}

void Event::wait() const {
    if (flight_ != nullptr) flight_->wait();
}

void Event::wait(std::chrono::nanoseconds timeout) const {
    if (flight_ == nullptr) return;
    using Clock = ir::Flight::Clock;
    const Clock::time_point now = Clock::now();
    const bool ends = timeout < Clock::time_point::max() - now;
    if (!flight_->wait(ends ? now + timeout : Clock::time_point::max())) {
        throw Timeout(fmt::format("the work was not over within {:.3g} s",
                                  std::chrono::duration<double>(timeout).count()));
    }
}

void Event::on_ready(std::function<void()> call) const {
    if (flight_ == nullptr) return call();
    // A coroutine that goes on may destroy this.
    const std::shared_ptr<ir::Flight> flight = flight_;
    flight->when_done(std::move(call));
    flight->commit();
}

Stream Stream::make() { return Stream(Queue::make()); }
Stream Stream::current() { return Stream(current_queue()); }
Event Stream::commit() const { return Event(queue_->commit()); }
void Stream::synchronize() const { queue_->synchronize(); }

StreamScope::StreamScope(Stream stream) : before_(std::exchange(own_queue, stream.queue_)) {}
StreamScope::~StreamScope() { own_queue = std::move(before_); }

void async_eval(std::span<const Tensor> tensors) {
    evaluate_later(owners_of("async_eval", tensors), *current_queue());
}

Event ready(const Tensor& tensor) {
    const std::vector<ir::Node*> owners = owners_of("ready", {&tensor, 1});
    evaluate_later(owners, *current_queue());
    return Event(flight_of(*owners[0]));
}

void synchronize() {
    for (Queue* queue : Queue::all()) queue->synchronize();
}

StreamLimits stream_limits() {
    const std::scoped_lock lock(limits().mutex);
    return limits().now;
}

void set_stream_limits(const StreamLimits& set) {
    if (set.max_ops_per_commit == 0 || set.max_bytes_per_commit == 0 ||
        set.max_run_ahead_bytes == 0 || set.max_run_ahead_commands == 0)
        throw ArgumentError("set_stream_limits: a limit of 0 would let nothing run");
    const std::scoped_lock lock(limits().mutex);
    limits().now = set;
}

}  // namespace lazuli
