#pragma once

// A recorded operation, or a value. Fields marked * change under the graph lock only (ir/graph.h);
// the others never change after recording, so that recording on any thread reads them without a
// lock.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include "lazuli/backend.h"
#include "lazuli/detail/ref.h"
#include "lazuli/op.h"

namespace lazuli::ir {

enum class State : std::uint8_t { lazy, in_flight, available, failed };

/// What capture must know of a node's op without looking at its record; bits of Node::flags.
enum Flag : std::uint8_t {
    kLeafFlag = 1,
    kKeepFlag = 2,
    kNamedFlag = 4,
    kViewFlag = 8,
    kSourceFlag = 16,
    kGradFlag = 32,      // gradients are wanted of it, or of what it is computed from
    kGradKeptFlag = 64,  // it has one
    kNumberFlag = 128,   // within a body: gradients take it for a number from outside
};

inline std::uint8_t flags_of(const OpDef& def) {
    return static_cast<std::uint8_t>((has(def.traits, Trait::leaf) ? kLeafFlag : 0) |
                                     (has(def.traits, Trait::keep_if_held) ? kKeepFlag : 0) |
                                     (has(def.traits, Trait::view) ? kViewFlag : 0));
}

/// Set while a thread computes the node; others wait on it. Defined by the runtime.
struct Flight;

/// The value of an available node.
struct Materialized {
    Binding binding;
};

struct Node : NodeHeader {
    static constexpr int kInlineInputs = 3;
    static constexpr int kInlineWords = 7;

    Node() = default;
    explicit Node(const TensorSpec& like) : spec(like) {}
    /// Infers the type in its place.
    template <std::invocable Infer>
    explicit Node(const Infer& infer) : spec(infer()) {}

    // The first cache line: all that walking a graph needs.
    OpId op = 0;
    std::uint16_t input_count = 0;  // *
    std::uint32_t depth = 0;        // longest chain of lazy nodes ending here, when it was recorded
    std::uint32_t epoch = 0;        // * of the last capture that saw this node
    std::uint32_t uses = 0;         // * within that capture
    std::uint32_t position = 0;     // * within that capture: a ValueRef
    std::atomic<State> state{State::lazy};  // *
    // Bits of Flag; a name may be given while another thread records.
    std::atomic<std::uint8_t> flags{0};
    std::uint8_t word_count = 0;
    Device device;
    union {                             // *
        Materialized* value = nullptr;  // available
        Flight* flight;                 // in flight
        std::exception_ptr* failure;    // failed
        Node* next;                     // while being destroyed
    };
    union {  // *
        Node* inputs_inline[kInlineInputs];
        Node** inputs_far;
    };
    // The second: type and shape.
    TensorSpec spec;
    // The third: what capture needs only where there are attributes.
    std::uint64_t id = 0;
    union {
        std::uint64_t words_inline[kInlineWords];
        std::uint64_t* words_far;
    };

    std::span<Node* const> inputs() const {
        return {input_count > kInlineInputs ? inputs_far : inputs_inline, input_count};
    }
    std::span<const std::uint64_t> words() const {
        return {word_count > kInlineWords ? words_far : words_inline, word_count};
    }
    Attrs attrs() const { return {op_def(op), words()}; }
    /// A view keeps its operand for life and has no value of its own.
    bool is_view() const { return has_flag(kViewFlag); }
    /// Whether gradients flow through it to its inputs: it keeps them when it has its value.
    bool is_on_tape() const {
        if (!has_flag(kGradFlag)) return false;
        for (const Node* input : inputs()) {
            if (input->has_flag(kGradFlag)) return true;
        }
        return false;
    }
    bool has_flag(Flag flag) const { return (flags.load(std::memory_order_relaxed) & flag) != 0; }
};

/// The node that has, or will have, the value that is looked at.
inline Node* owner_of(Node* node) {
    while (node->is_view()) node = node->inputs_inline[0];
    return node;
}
inline const Node& owner_of(const Node& node) { return *owner_of(const_cast<Node*>(&node)); }

static_assert(sizeof(Node) == 192, "a node is three cache lines");

}  // namespace lazuli::ir
