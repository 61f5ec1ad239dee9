#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>
#include <unordered_map>

#include "base/hash.h"
#include "ir/arena.h"
#include "ir/encoding.h"
#include "ir/sources.h"
#include "ir/text.h"
#include "lazuli/error.h"

namespace lazuli::ir {

std::mutex& graph_lock() {
    static std::mutex& lock = *new std::mutex;
    return lock;
}

// ---- names ----

namespace {

struct Names {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::string> by_id;
};

Names& names() {
    static Names& n = *new Names;
    return n;
}

}  // namespace

void set_name(Node& node, std::string name) {
    if (!is_name(name)) {
        throw ArgumentError(
            fmt::format("name: '{}' is not a name (letters, digits, '_' and '.')", name));
    }
    const std::scoped_lock lock(graph_lock(), names().mutex);
    names().by_id[node.id] = std::move(name);
    node.flags.fetch_or(kNamedFlag, std::memory_order_relaxed);
}

std::optional<std::string> name_of(const Node& node) {
    Names& n = names();
    const std::scoped_lock lock(n.mutex);
    const auto it = n.by_id.find(node.id);
    if (it == n.by_id.end()) return std::nullopt;
    return it->second;
}

// ---- gradients ----

namespace {

struct KeptGradients {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, NodeHeader*> by_id;
};

KeptGradients& kept_gradients() {
    static KeptGradients& kept = *new KeptGradients;
    return kept;
}

}  // namespace

NodeHeader* gradient_of(const Node& node) {
    if (!node.has_flag(kGradKeptFlag)) return nullptr;
    const std::scoped_lock lock(kept_gradients().mutex);
    const auto it = kept_gradients().by_id.find(node.id);
    if (it == kept_gradients().by_id.end()) return nullptr;
    retain(it->second);
    return it->second;
}

void set_gradient(Node& node, NodeHeader* gradient) {
    NodeHeader* before = nullptr;
    {
        const std::scoped_lock lock(kept_gradients().mutex);
        auto& by_id = kept_gradients().by_id;
        if (const auto it = by_id.find(node.id); it != by_id.end()) {
            before = it->second;
            by_id.erase(it);
        }
        if (gradient != nullptr) by_id.emplace(node.id, gradient);
    }
    node.flags.fetch_or(kGradKeptFlag, std::memory_order_relaxed);
    if (before != nullptr) release(before);
}

// ---- dropping ----

void destroy(NodeHeader* header) noexcept {
    // A list instead of recursion: dropping the end of a chain of a million nodes must not need a
    // million stack frames.
    auto* first = static_cast<Node*>(header);
    const auto free_value = [](Node& node) {
        switch (node.state.load(std::memory_order_relaxed)) {
            case State::available: delete node.value; break;
            case State::failed: delete node.failure; break;
            case State::lazy:
            case State::in_flight:
                break;  // whoever computes a node holds it, so none in flight comes here
        }
        if (node.has_flag(kNamedFlag)) {
            const std::scoped_lock lock(names().mutex);
            names().by_id.erase(node.id);
        }
        if (node.has_flag(kSourceFlag)) drop_source(node);
        if (node.has_flag(kGradKeptFlag)) set_gradient(node, nullptr);
    };
    free_value(*first);
    first->next = nullptr;
    while (first != nullptr) {
        Node* node = first;
        first = node->next;
        for (Node* input : node->inputs()) {
            if (!drop(input)) continue;
            free_value(*input);
            input->next = first;
            first = input;
        }
        if (node->input_count > Node::kInlineInputs) {
            if (node->input_count > kSlotWords) {
                delete[] node->inputs_far;
            } else {
                Arena::free(node->inputs_far);
            }
        }
        if (node->word_count > Node::kInlineWords) {
            if (node->word_count > kSlotWords) {
                delete[] node->words_far;
            } else {
                Arena::free(node->words_far);
            }
        }
        node->~Node();
        Arena::free(node);
    }
}

void detach_inputs(Node& node, NodeList& released) {
    for (Node* input : node.inputs()) released.push_back(input);
    if (node.input_count > Node::kInlineInputs) {
        if (node.input_count > kSlotWords) {
            delete[] node.inputs_far;
        } else {
            Arena::free(node.inputs_far);
        }
    }
    node.input_count = 0;
}

void keep_failure(Node& node, const std::exception_ptr& error) noexcept {
    node.failure = new (std::nothrow) std::exception_ptr(error);
    node.state.store(State::failed, std::memory_order_release);
}

void rethrow_failure(const Node& node) {
    if (node.failure == nullptr) throw OutOfMemory("out of memory: not even the error fits", 0, 0);
    std::rethrow_exception(*node.failure);
}

// ---- capturing ----

namespace {

std::uint32_t next_epoch() {
    static std::uint32_t epoch = 0;  // under the graph lock
    // A node that was last seen four thousand million captures ago would look seen; 0 is what a new
    // node has.
    if (++epoch == 0) ++epoch;
    return epoch;
}

bool is_leaf(const Node& node, const CaptureBounds& bounds) {
    if (bounds.tape) return !node.is_on_tape();
    if (node.state.load(std::memory_order_acquire) != State::lazy) return true;
    // Asked first, since an id lies in a cache line that a walk needs for nothing else.
    if (!bounds.everything() && (node.id < bounds.first || node.id > bounds.last)) return true;
    return node.has_flag(kLeafFlag);
}

class Capturer {
   public:
    Capturer(const CaptureBounds& bounds, bool keep_held, Capture& out)
        : bounds_(bounds), keep_held_(keep_held), out_(out), epoch_(next_epoch()) {}

    void run(std::span<Node* const> targets) {
        if (!targets.empty()) device_ = targets[0]->device;
        for (Node* end : bounds_.ends) {
            if (end->epoch != epoch_) add_param(*end);
        }
        for (Node* target : targets) {
            if (target->epoch == epoch_) continue;
            if (is_leaf(*target, bounds_)) {
                add_param(*target);
            } else {
                visit(target);
            }
        }
        for (Node* target : targets) {
            out_.results.push_back(target->position);
            out_.outputs.push_back(target);
            target->uses = UINT32_MAX;  // a result: not to be kept a second time, and held anyhow
        }
        for (Node* node : out_.kept) {
            // More references than the captured graph accounts for: somebody else may ask for this
            // value.
            if (node->refs.load(std::memory_order_relaxed) <= node->uses) continue;
            out_.results.push_back(node->position);
            out_.outputs.push_back(node);
            node->uses = UINT32_MAX;
        }
    }

   private:
    void visit(Node* root) {
        std::vector<Node*>& stack = out_.stack;
        stack.push_back(root);
        while (!stack.empty()) {
            Node* node = stack.back();
            if (node->epoch == epoch_) {
                stack.pop_back();
                continue;
            }
            const std::size_t before = stack.size();
            const auto inputs = node->inputs();
            for (std::size_t i = inputs.size(); i > 0; --i) {
                Node* input = inputs[i - 1];
                // What another device computes is an operand here.
                if (input->epoch != epoch_ && (bounds_.tape || input->device == device_) &&
                    !is_leaf(*input, bounds_))
                    stack.push_back(input);
            }
            if (stack.size() != before) continue;
            stack.pop_back();
            emit(*node);
        }
    }

    void add_param(Node& node) {
        if (node.state.load(std::memory_order_acquire) == State::failed) rethrow_failure(node);
        node.epoch = epoch_;
        node.uses = 0;
        node.position = ValueRef::param(out_.params.size()).raw;
        out_.params.push_back(&node);
        const Shape& shape = node.spec.shape;
        std::uint64_t* w = out_.rest.append(1 + shape.size());
        *w++ = header_word(0, node.spec.dtype, shape.rank(), 0, 0);
        for (const std::int64_t dim : shape.raw()) *w++ = static_cast<std::uint64_t>(dim);
    }

    void emit(Node& node) {
        const auto inputs = node.inputs();
        const auto attrs = node.words();
        const Shape& shape = node.spec.shape;
        std::uint64_t* w =
            out_.words.append(1 + input_words(inputs.size()) + shape.size() + attrs.size());
        *w++ = header_word(node.op, node.spec.dtype, shape.rank(), inputs.size(), attrs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            Node& input = *inputs[i];
            if (input.epoch != epoch_) add_param(input);
            ++input.uses;
            if (i % 2 == 0) {
                *w = input.position;
            } else {
                *w++ |= static_cast<std::uint64_t>(input.position) << 32;
            }
        }
        if (inputs.size() % 2 == 1) ++w;
        for (const std::int64_t dim : shape.raw()) *w++ = static_cast<std::uint64_t>(dim);
        for (const std::uint64_t word : attrs) *w++ = word;
        node.epoch = epoch_;
        node.uses = 0;
        node.position = ValueRef::op(out_.op_count++).raw;
        out_.nodes.push_back(&node);
        if (keep_held_ && node.has_flag(kKeepFlag)) out_.kept.push_back(&node);
    }

    const CaptureBounds& bounds_;
    const bool keep_held_;
    Capture& out_;
    const std::uint32_t epoch_;
    Device device_;  // of the targets
};

}  // namespace

std::uint64_t program_hash(std::span<const std::uint64_t> words,
                           std::span<const std::uint64_t> rest) {
    return hash_words(rest, hash_words(words));
}

void capture(std::span<Node* const> targets, const CaptureBounds& bounds, bool keep_held,
             Capture& out) {
    out.words.clear();
    out.rest.clear();
    out.params.clear();
    out.outputs.clear();
    out.nodes.clear();
    out.stack.clear();
    out.kept.clear();
    out.results.clear();
    out.op_count = 0;
    Capturer(bounds, keep_held, out).run(targets);
    std::copy(out.results.begin(), out.results.end(), out.rest.append(out.results.size()));
    out.hash = program_hash(out.words.words(), out.rest.words());
}

bool Capture::is_private() const {
    return std::all_of(nodes.begin(), nodes.end(), [](const Node* node) {
        return node->refs.load(std::memory_order_relaxed) <= node->uses;
    });
}

Program Capture::program() const {
    std::vector<Param> list;
    std::set<std::string> taken;
    for (std::size_t i = 0; i < params.size(); ++i) {
        std::string name = name_of(*params[i]).value_or("");
        if (name.empty() || taken.contains(name)) name = fmt::format("p{}", i);
        while (taken.contains(name)) name += '_';
        taken.insert(name);
        list.push_back({std::move(name), params[i]->spec});
    }
    std::vector<ProgramResult> result_list;
    std::set<std::string> taken_results;
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::string name = name_of(*outputs[i]).value_or("");
        if (name.empty() || taken_results.contains(name)) name = default_result_name(i);
        while (taken_results.contains(name)) name += '_';
        taken_results.insert(name);
        result_list.push_back({std::move(name), ValueRef{results[i]}});
    }
    return ProgramBuilder::from_words(std::move(list), {words.words().begin(), words.words().end()},
                                      std::move(result_list));
}

std::size_t graph_size(Node* target) {
    const std::uint32_t epoch = next_epoch();
    std::vector<Node*> stack{target};
    std::size_t count = 0;
    while (!stack.empty()) {
        Node* node = stack.back();
        stack.pop_back();
        if (node->epoch == epoch || is_leaf(*node, {})) continue;
        node->epoch = epoch;
        ++count;
        stack.insert(stack.end(), node->inputs().begin(), node->inputs().end());
    }
    return count;
}

}  // namespace lazuli::ir
