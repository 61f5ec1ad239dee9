#include "frontend/scopes.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "base/env.h"
#include "frontend/record.h"
#include "ir/engine.h"
#include "ir/graph.h"
#include "lazuli/eager.h"
#include "lazuli/error.h"
#include "lazuli/graph.h"

namespace lazuli {

namespace frontend {

namespace {

std::atomic<std::uint64_t> flushes{0};

}  // namespace

std::uint64_t flush_count() { return flushes.load(std::memory_order_relaxed); }

void flush(ir::Arena& arena, ir::Node& node) noexcept {
    ir::RecordingMode& mode = arena.mode;
    ++mode.hold_flush;
    try {
        ir::Node* target = &node;
        ir::engine().eval({&target, 1});
        flushes.fetch_add(1, std::memory_order_relaxed);
        mode.flush_backoff = 0;
    } catch (...) {
        mode.flush_backoff = node.depth > UINT32_MAX / 2 ? UINT32_MAX : 2 * node.depth;
    }
    arena.update_flush_limit();
    --mode.hold_flush;
    mode.pressure = false;
    mode.update();
}

}  // namespace frontend

eager::Scope::Scope() {
    ir::RecordingMode& mode = ir::arena().mode;
    ++mode.eager;
    mode.update();
}

eager::Scope::~Scope() {
    ir::RecordingMode& mode = ir::arena().mode;
    --mode.eager;
    mode.update();
}

struct GraphScope::State : frontend::ScopeState {};

GraphScope::GraphScope() : state_(std::make_unique<State>()) {
    ir::Arena& arena = ir::arena();
    state_->outer = arena.mode.graph_scope;
    state_->first_id = arena.current_id() + 1;
    arena.mode.graph_scope = static_cast<frontend::ScopeState*>(state_.get());
    ++arena.mode.hold_flush;
    arena.mode.update();
}

GraphScope::~GraphScope() {
    ir::RecordingMode& mode = ir::arena().mode;
    mode.graph_scope = state_->outer;
    --mode.hold_flush;
    mode.update();
}

std::vector<Tensor> GraphScope::recorded() const { return state_->nodes; }

Program GraphScope::program() const {
    // Results: recorded operations that no other recorded operation uses, each held by its own
    // entry of the list alone or by the user too.
    std::set<const ir::Node*> used;
    {
        const std::scoped_lock lock(ir::graph_lock());
        for (const Tensor& t : state_->nodes) {
            for (const ir::Node* input : frontend::node_of(t)->inputs()) used.insert(input);
        }
    }
    std::vector<Tensor> results;
    for (const Tensor& t : state_->nodes) {
        const ir::Node* node = frontend::node_of(t);
        if (!used.contains(node) && !has(op_def(node->op).traits, Trait::leaf))
            results.push_back(t);
    }
    return program(results);
}

Program GraphScope::program(std::span<const Tensor> results) const {
    std::vector<ir::Node*> targets;
    for (const Tensor& t : results)
        targets.push_back(&frontend::require_node("GraphScope::program", t));
    ir::Capture captured;
    const std::scoped_lock lock(ir::graph_lock());
    ir::capture(targets, {.first = state_->first_id, .last = ir::arena().current_id()}, false,
                captured);
    return captured.program();
}

}  // namespace lazuli
