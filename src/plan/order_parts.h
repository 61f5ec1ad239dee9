#pragma once

// What the ways to order steps share: the problem in flat tables, and small pieces of it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plan/order.h"

namespace lazuli::plan::ordering {

using Id = std::uint32_t;
using Ids = std::vector<Id>;
using Pair = std::pair<Id, Id>;

/// A list of lists, one behind the other.
template <typename T>
class Lists {
   public:
    void add(T item) { items_.push_back(item); }
    void close() { ends_.push_back(items_.size()); }
    std::size_t size() const { return ends_.size(); }
    std::span<const T> operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::span<const T>(items_).subspan(begin, ends_[i] - begin);
    }

   private:
    std::vector<T> items_;
    std::vector<std::size_t> ends_;
};

inline constexpr Id nobody = ~Id{0};

/// The problem without the values that cost nothing and the pairs that can never be taken.
struct Graph {
    explicit Graph(const OrderProblem& problem);

    std::size_t steps = 0;
    std::vector<std::int64_t> bytes;  // of values
    std::vector<char> kept;           // of values
    Ids writer;                       // of values; nobody: there from the start
    Lists<Id> readers;                // of values
    Lists<Id> reads;                  // of steps, as all below
    Lists<Id> writes;
    Lists<Pair> in_place;
    std::vector<std::int64_t> needs;   // outputs and scratch: added while it runs
    std::vector<std::int64_t> leaves;  // outputs that are read or kept: added behind it
};

/// The bytes of outputs that take an input's place; `dies` tells which inputs die.
template <typename Bytes, typename Dies>
std::int64_t bytes_in_place(std::span<const Pair> pairs, const Bytes& bytes, const Dies& dies) {
    std::int64_t out = 0;
    std::array<Pair, 8> few;  // taken pairs: this runs for every state of a search, and
    std::size_t count = 0;    // memory for them would take most of its time
    std::vector<Pair> more;
    for (const Pair& pair : pairs) {
        const auto [input, output] = pair;
        const auto meets = [&](const Pair& taken) {
            return taken.first == input || taken.second == output;
        };
        if (!dies(input) || std::any_of(few.begin(), few.begin() + count, meets) ||
            std::any_of(more.begin(), more.end(), meets))
            continue;
        out += bytes[output];
        if (count < few.size())
            few[count++] = pair;
        else
            more.push_back(pair);
    }
    return out;
}

/// The bytes alive while each step of the order runs.
std::vector<std::int64_t> profile_of(const Graph& graph, std::span<const Id> order);

/// A peak that no order is below: the results, or what one of the steps reads, makes and needs.
std::int64_t bound_of(const Graph& graph);

/// The least bytes that are alive while this step runs, in any order, by what must have run before
/// and must run behind it.
std::int64_t bound_at(const Graph& graph, Id step);

/// Positions at which every order runs the same step, since all others are before or behind it.
/// What lies between two of them is ordered by itself.
std::vector<std::size_t> waists(const Graph& graph);

/// Which of the steps that could run is next: the one that comes first in the order followed, or
/// the one that adds least (or, from the end, leaves most to those before it).
enum class Choice : std::uint8_t { followed, memory };

/// Runs steps from the start. One that leaves no more alive than before runs as soon as it can,
/// unless it exceeds `limit`; else `choice` decides.
Ids order_from_start(const Graph& graph, std::span<const Id> followed, Choice choice,
                     std::int64_t limit);
/// The same from the end: a step that leaves more alive than before runs as late as it can.
Ids order_from_end(const Graph& graph, std::span<const Id> followed, Choice choice,
                   std::int64_t limit);
/// Each step when it is first asked for, from the results back; of the inputs of a step, first that
/// which needs most beyond what it leaves.
Ids order_on_demand(const Graph& graph);

/// A few steps of a problem, to be ordered by themselves. Bytes count from what is alive before
/// them.
struct Piece {
    static constexpr std::size_t most_steps = 64;
    struct Step {
        std::uint64_t before = 0;  // steps of the piece whose values it reads
        std::uint64_t behind = 0;  // steps that read its values
        std::int64_t needs = 0;
        std::int64_t leaves = 0;
        Ids reads = {};  // values of the piece that die in it
        std::vector<Pair> in_place = {};
        bool can_wait = true;  // whether nobody else could take the place of what it reads
    };
    struct Value {
        std::int64_t bytes = 0;
        std::uint64_t readers = 0;
        Id writer = nobody;
        bool dies = false;  // in the piece
    };
    std::vector<Step> steps;
    std::vector<Value> values;  // that a step of the piece reads or makes
};

struct Found {
    std::vector<std::uint8_t> order;  // of the piece's steps; empty: none below the peak to beat
    std::int64_t peak = 0;
    bool is_best = false;  // nothing better exists, or nothing below the floor was asked for
};

/// An order of the piece with a peak below `beat`, the best there is if at most `effort` states
/// are enough; a peak of `floor` is good enough. Takes from `effort` what it looked at.
Found search_piece(const Piece& piece, std::int64_t floor, std::int64_t beat, std::int64_t& effort);

/// The least peak that any order of the piece can have, step by step.
std::int64_t bound_of(const Piece& piece);

/// Lowers the peak of an order by searching pieces of it, at the peak first, until that helps no
/// more. `floor` is a bound of the whole: it is raised where all that lies between two waists
/// shows more.
void improve_pieces(const Graph& graph, std::span<const std::size_t> waists, Ids& order,
                    std::int64_t& floor, std::int64_t effort);

}  // namespace lazuli::plan::ordering
