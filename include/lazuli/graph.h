#pragma once

/// @file
/// The recorded graph, made visible: scopes that gather what is recorded, and figures about it.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazuli/program.h"
#include "lazuli/tensor.h"

namespace lazuli {

/// Gathers what its thread records while it lives into one program. Tensors from outside become
/// parameters, evaluated or not. Nothing is evaluated by itself meanwhile, and what was recorded
/// stays alive with the scope.
/// A tensor that is evaluated inside the scope becomes a parameter too: take the program first.
class GraphScope {
   public:
    /// Gathers from here on.
    GraphScope();
    ~GraphScope();
    GraphScope(const GraphScope&) = delete;
    GraphScope& operator=(const GraphScope&) = delete;
    /// What was recorded so far, in order.
    std::vector<Tensor> recorded() const;
    /// The program of everything recorded so far; its results are the tensors no other recorded
    /// operation uses.
    Program program() const;
    /// The program of these results.
    Program program(std::span<const Tensor> results) const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Figures about recorded graphs, all threads together.
struct GraphStats {
    std::uint64_t live_nodes = 0;    ///< Nodes there are.
    std::uint64_t peak_nodes = 0;    ///< The most slots that were in use at once, thread by thread.
    std::uint64_t recorded = 0;      ///< Nodes there ever were.
    std::uint64_t slots_reused = 0;  ///< How many of them took the place of one that was gone.
    std::uint64_t bytes_held = 0;    ///< Memory the nodes' slabs take.
    std::uint64_t bytes_per_node = 0;  ///< Size of a node.
    std::uint64_t buffer_bytes = 0;    ///< Memory that tensors' values take.
    std::uint64_t flushes = 0;         ///< How often pending work was evaluated by itself.
};
/// The figures now.
GraphStats graph_stats();

/// How often something that is not an explicit `eval` had to wait for values, and why.
struct Wait {
    std::string reason;       ///< `item`, `data`, `to_vector`, `boolean mask`.
    std::uint64_t count = 0;  ///< How often.
};
/// The waits so far, by reason.
std::vector<Wait> waits();

/// Why an evaluation had to make a plan: what about its graph was new.
enum class Miss : std::uint8_t {
    new_op,   ///< Operations that were never planned together.
    shape,    ///< The operations are known, with other shapes,
    dtype,    ///< with other types,
    layout,   ///< through other views,
    device,   ///< on another device,
    policy,   ///< or under other policies or passes.
    evicted,  ///< It was planned before, and the plan was dropped.
};
/// The reasons' names, in their order.
inline constexpr std::array<std::string_view, 7> kMissNames{"new op", "shape",  "dtype",  "layout",
                                                            "device", "policy", "evicted"};

/// Figures about plans.
struct CacheStats {
    std::uint64_t plans = 0;                                ///< In the cache.
    std::uint64_t bytes = 0;                                ///< Their size.
    std::uint64_t limit = 0;                                ///< The bound.
    std::uint64_t hits = 0;                                 ///< Evaluations that found their plan.
    std::uint64_t misses = 0;                               ///< Evaluations that made one.
    std::array<std::uint64_t, kMissNames.size()> missed{};  ///< The misses by `Miss`.
    std::uint64_t evicted = 0;  ///< Plans dropped to stay below the bound.
    std::uint64_t fallbacks =
        0;  ///< Evaluations that ran on the reference backend because theirs lacks an op.
    std::uint64_t general_plans = 0;  ///< Plans made for all sizes that graphs returned with.
    std::uint64_t general_hits = 0;   ///< Of the hits, those by such a plan at sizes new to it.
    std::uint64_t specialised = 0;    ///< Plans for many sizes that one for theirs took over from.
    std::uint64_t open_plans = 0;     ///< Plans made for all sizes of a compiled function.
    std::uint64_t bindings = 0;       ///< How often sizes were put into such plans.
    std::uint64_t own_plans = 0;      ///< Plans made for single sizes of compiled functions.
};
/// The figures now.
CacheStats cache_stats();
/// The figures as a small table.
std::string describe(const CacheStats& stats);

/// Whether a graph that returns with a third value of some size gets a plan for all values of it,
/// so that later ones find a plan. It is on unless LAZULI_GENERALISE=0.
bool generalising();
/// Switches it for the whole process. Off: each size is planned by itself.
void set_generalising(bool on);

/// Whether a plan for many sizes that is often used at some of them gets kernels made for these:
/// behind the calls, with the same bits. It is on unless LAZULI_SPECIALISE=0.
bool specialising();
/// Switches it for the whole process.
void set_specialising(bool on);

/// Drops cached plans and measurements, and gives memory without content back to the system.
void clear_caches();

}  // namespace lazuli
