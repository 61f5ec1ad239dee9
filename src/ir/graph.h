#pragma once

// The recorded graph: its lock, the dropping of nodes, and what a capture of it is.

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/inline_vector.h"
#include "ir/encoding.h"
#include "ir/node.h"
#include "lazuli/program.h"

namespace lazuli::ir {

/// The one lock under which graphs are captured, states change and inputs are dropped. Held
/// briefly; nothing runs under it.
std::mutex& graph_lock();

using NodeList = InlineVector<Node*, 6>;

/// Takes the inputs of an available node away from it. The caller holds the lock and releases them
/// after giving it up.
void detach_inputs(Node& node, NodeList& released);

/// Throws what a failed node keeps.
[[noreturn]] void rethrow_failure(const Node& node);
/// Makes a node keep an error. The caller holds the lock.
void keep_failure(Node& node, const std::exception_ptr& error) noexcept;

/// Which nodes a capture may look into.
struct CaptureBounds {
    // Only lazy nodes with ids in [first, last] are operations; any other node is a parameter. Set
    // by GraphScope.
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;
    // What gradients flow through is looked into, values there or not, up to these nodes.
    bool tape = false;
    std::span<Node* const> ends = {};
    bool everything() const { return first == 0 && last == UINT64_MAX; }
};

/// A graph as a program's canonical words, before it is one: cheap to make, to hash and to compare,
/// and reused from capture to capture. `rest` holds the parameters' specs and the results, as
/// Program hashes them.
struct Capture {
    WordBuffer words;
    WordBuffer rest;
    std::vector<Node*> params;
    std::vector<Node*> outputs;  // one a result: the targets, then interior nodes that are kept
                                 // because somebody holds them
    std::size_t op_count = 0;
    std::uint64_t hash = 0;

    /// The program, with the names that tensors were given.
    Program program() const;

    /// Whether nobody outside the captured graph holds one of its operations, but for the outputs:
    /// what only they read is needed by nobody once the outputs are there. The caller has held the
    /// lock since the capture.
    bool is_private() const;

    std::vector<Node*> nodes;  // the operations
    std::vector<Node*> stack;  // scratch
    std::vector<Node*> kept;   // scratch
    std::vector<std::uint32_t> results;
};

/// Captures the graph above the parameters and below `targets`. The caller holds the lock. Throws
/// the error of a failed node.
void capture(std::span<Node* const> targets, const CaptureBounds& bounds, bool keep_held,
             Capture& out);

/// The hash of a program, whether captured or built.
std::uint64_t program_hash(std::span<const std::uint64_t> words,
                           std::span<const std::uint64_t> rest);

/// The number of lazy operations a target stands on. The caller holds the lock.
std::size_t graph_size(Node* target);

/// The gradient that a node has, kept beside the graph; null for none. The caller owns a reference.
NodeHeader* gradient_of(const Node& node);
/// Gives a node a gradient, or takes it away. Takes over the reference.
void set_gradient(Node& node, NodeHeader* gradient);

/// Names given to tensors, kept beside the graph and outside every hash.
void set_name(Node& node, std::string name);
std::optional<std::string> name_of(const Node& node);

}  // namespace lazuli::ir
