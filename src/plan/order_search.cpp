// The best order of a few steps. A state is the set of steps that have run; what is alive follows
// from it. States are taken up by the peak of the way to them, so the first way to the full set is
// the best, and what was taken up last is a bound for all that is to come.
//
// Two moves need no alternative. What is alive is a submodular function of the set, so where steps
// that follow each other stay below the bound, and end with no more alive than at their start for
// the first time, they may run at once: whatever runs later finds no more alive than it would have.
// And a step that nothing in the set follows, and that leaves no less alive than before it, may run
// last, where nobody could take the place of what it reads.

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <tuple>

#include "plan/order_parts.h"

namespace lazuli::plan::ordering {

namespace {

using Set = std::uint64_t;
using Step = std::uint8_t;

constexpr Set set_of(std::size_t step) { return Set{1} << step; }
std::size_t first_of(Set set) { return static_cast<std::size_t>(std::countr_zero(set)); }

/// The values' bytes, as a list.
struct Bytes {
    const std::vector<Piece::Value>& values;
    std::int64_t operator[](Id v) const { return values[v].bytes; }
};

/// The lowest peak with which each set was reached.
class Peaks {
   public:
    /// Whether the set is new, or this peak lower than the one before; then it is remembered.
    bool lower(Set set, std::int64_t peak) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        Slot& slot = find(set);
        if (slot.peak <= peak) return false;
        if (slot.peak == none) ++count_;
        slot = {set, peak};
        return true;
    }

   private:
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    struct Slot {
        Set set = 0;
        std::int64_t peak = none;
    };
    Slot& find(Set set) {
        std::size_t i = static_cast<std::size_t>((set * 0x9e3779b97f4a7c15ULL) >> 20);
        for (;; ++i) {
            Slot& slot = slots_[i & (slots_.size() - 1)];
            if (slot.peak == none || slot.set == set) return slot;
        }
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 256 : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.peak != none) find(slot.set) = slot;
    }
    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

struct State {
    Set done = 0;
    Set ready = 0;
    std::int64_t alive = 0;
    std::int64_t peak = std::numeric_limits<std::int64_t>::min();
};

/// A state, and the way to it.
struct Node {
    State state;
    std::uint32_t parent = 0;
    std::uint32_t way = 0;  // where the steps from the parent end; they begin where the last's end
};

class Search {
   public:
    Search(const Piece& piece, std::int64_t floor, std::int64_t beat, std::int64_t& effort)
        : piece_(piece), floor_(floor), beat_(beat), effort_(effort) {
        const std::size_t n = piece.steps.size();
        goal_ = n == Piece::most_steps ? ~Set{0} : set_of(n) - 1;
        set_aside();
    }

    Found run() {
        Found out;
        if (floor_ >= beat_) {
            out.is_best = true;
            return out;
        }
        out.is_best = search_all();
        for (int turn = 0; turn < 4 && !out.is_best && search_wide(); ++turn) continue;
        if (!has_best_) return out;
        for (const Step s : best_) out.order.push_back(s);
        out.order.insert(out.order.end(), last_.rbegin(), last_.rend());
        out.peak = beat_;
        return out;
    }

   private:
    static constexpr std::size_t chain_length = 4;  // of steps that are run at once
    static constexpr std::size_t width = 12;  // states of a level, in a search that is not exact

    struct Cost {
        std::int64_t run = 0;
        std::int64_t change = 0;
    };
    Cost cost(Set done, std::size_t s) const {
        const Piece::Step& step = piece_.steps[s];
        Cost out{step.needs, step.leaves};
        const Set rest = ~(done | set_of(s));
        for (const Id v : step.reads)
            if ((piece_.values[v].readers & rest) == 0) out.change -= piece_.values[v].bytes;
        if (!step.in_place.empty()) out.run -= in_place(step, rest);
        return out;
    }
    std::int64_t in_place(const Piece::Step& step, Set rest) const {
        if (step.in_place.size() == 1) {
            const auto [input, output] = step.in_place[0];
            return (piece_.values[input].readers & rest) == 0 ? piece_.values[output].bytes : 0;
        }
        return bytes_in_place(std::span(step.in_place), Bytes{piece_.values},
                              [&](Id v) { return (piece_.values[v].readers & rest) == 0; });
    }
    bool is_ready(Set done, std::size_t s) const { return (piece_.steps[s].before & ~done) == 0; }

    /// Takes steps off the end that may as well run last.
    void set_aside() {
        std::int64_t alive = 0;
        for (const Piece::Step& step : piece_.steps) alive += step.leaves;
        for (const Piece::Value& value : piece_.values)
            if (value.dies && value.readers != 0) alive -= value.bytes;
        for (Set rest = goal_; rest != 0;) {
            const std::size_t s =
                std::size_t{63} - static_cast<std::size_t>(std::countl_zero(rest));
            rest &= ~set_of(s);
            const Piece::Step& step = piece_.steps[s];
            if ((step.behind & goal_) != 0 || !step.can_wait) continue;
            // Readers that were set aside run later: they are not done here.
            const Cost c = cost(goal_ & ~set_of(s), s);
            if (c.change < 0 || alive - c.change + c.run > floor_) continue;
            goal_ &= ~set_of(s);
            alive -= c.change;
            last_.push_back(static_cast<Step>(s));
            rest = goal_;
        }
    }

    /// Whether the step, and others that follow it, may run at once; they are then on the way.
    bool follow(const State& from, State at, std::size_t s, std::int64_t bound,
                std::size_t length) {
        const Cost c = cost(at.done, s);
        if (at.alive + c.run > bound) return false;
        way_.push_back(static_cast<Step>(s));
        at.alive += c.change;
        at.done |= set_of(s);
        if (at.alive <= from.alive) return true;
        if (length < chain_length)
            for (Set next = piece_.steps[s].behind & goal_; next != 0; next &= next - 1)
                if (is_ready(at.done, first_of(next)) &&
                    follow(from, at, first_of(next), bound, length + 1))
                    return true;
        way_.pop_back();
        return false;
    }

    void advance(State& state, std::size_t s) const {
        const Cost c = cost(state.done, s);
        state.peak = std::max(state.peak, state.alive + c.run);
        state.alive += c.change;
        state.done |= set_of(s);
        state.ready &= ~set_of(s);
        for (Set next = piece_.steps[s].behind & goal_; next != 0; next &= next - 1)
            if (is_ready(state.done, first_of(next))) state.ready |= next & -next;
    }

    /// Runs what may run at once.
    void settle(State& state, std::int64_t bound) {
        for (Set rest = state.ready; rest != 0;) {
            const std::size_t s = first_of(rest);
            const std::size_t begin = way_.size();
            if (follow(state, state, s, bound, 1)) {
                for (std::size_t i = begin; i < way_.size(); ++i) advance(state, way_[i]);
                rest = state.ready;
            } else {
                rest &= rest - 1;
            }
        }
    }

    /// Adds the state behind a step; false where it is no better than what is known.
    bool add(std::uint32_t parent, std::size_t s, std::int64_t bound) {
        --effort_;
        State state = nodes_[parent].state;
        way_.resize(nodes_.back().way);
        advance(state, s);
        if (state.peak >= beat_) return false;
        way_.push_back(static_cast<Step>(s));
        settle(state, std::max(bound, state.peak));
        if (!peaks_.lower(state.done, state.peak)) return false;
        nodes_.push_back({state, parent, static_cast<std::uint32_t>(way_.size())});
        if (state.done == goal_) keep(static_cast<std::uint32_t>(nodes_.size() - 1));
        return true;
    }

    void keep(std::uint32_t node) {
        beat_ = std::max(nodes_[node].state.peak, floor_);
        has_best_ = true;
        best_.clear();
        for (std::uint32_t i = node; i != 0; i = nodes_[i].parent)
            for (std::uint32_t w = nodes_[i].way; w-- > nodes_[i - 1].way;)
                best_.push_back(way_[w]);
        for (std::uint32_t w = nodes_[0].way; w-- > 0;) best_.push_back(way_[w]);
        std::reverse(best_.begin(), best_.end());
    }

    void start(std::int64_t bound) {
        nodes_.clear();
        way_.clear();
        peaks_ = {};
        State state;
        for (Set steps = goal_; steps != 0; steps &= steps - 1)
            if (is_ready(0, first_of(steps))) state.ready |= steps & -steps;
        settle(state, bound);
        nodes_.push_back({state, 0, static_cast<std::uint32_t>(way_.size())});
        if (state.done == goal_) keep(0);
    }

    /// True where nothing better than what is kept exists.
    bool search_all() {
        struct Open {
            std::int64_t peak;
            int done;
            std::int64_t alive;
            std::uint32_t node;
            bool operator>(const Open& other) const {
                return std::tie(peak, other.done, alive, node) >
                       std::tie(other.peak, done, other.alive, other.node);
            }
        };
        std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
        const auto push = [&](std::uint32_t node) {
            const State& s = nodes_[node].state;
            open.push({std::max(s.peak, floor_), std::popcount(s.done), s.alive, node});
        };
        start(floor_);
        push(0);
        while (!open.empty() && open.top().peak < beat_) {
            if (effort_ <= 0) return false;
            const auto [bound, done, alive, node] = open.top();
            open.pop();
            for (Set next = nodes_[node].state.ready; next != 0; next &= next - 1)
                if (add(node, first_of(next), bound))
                    push(static_cast<std::uint32_t>(nodes_.size() - 1));
        }
        return true;
    }

    /// Keeps only the states with the least alive, level by level, and takes any way below the peak
    /// to beat. True where it found one.
    bool search_wide() {
        const std::int64_t before = beat_;
        const std::int64_t bound = beat_ - 1;
        start(bound);
        Ids level{0};
        while (!level.empty() && beat_ == before) {
            Ids next;
            for (const std::uint32_t node : level) {
                Set steps = nodes_[node].state.ready;
                for (; steps != 0 && beat_ == before; steps &= steps - 1)
                    if (add(node, first_of(steps), bound))
                        next.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
            }
            const auto is_better = [&](std::uint32_t a, std::uint32_t b) {
                return std::tie(nodes_[a].state.alive, a) < std::tie(nodes_[b].state.alive, b);
            };
            if (next.size() > width) {
                std::nth_element(next.begin(), next.begin() + width, next.end(), is_better);
                next.resize(width);
            }
            std::sort(next.begin(), next.end(), is_better);
            level = std::move(next);
        }
        return beat_ < before && beat_ > floor_;
    }

    const Piece& piece_;
    std::int64_t floor_;
    std::int64_t beat_;  // only what is below is of use
    std::int64_t& effort_;
    Set goal_ = 0;            // the steps that are not set aside
    std::vector<Step> last_;  // those that are, the very last first
    bool has_best_ = false;
    std::vector<Step> best_;  // without those: it is empty where all are set aside
    std::vector<Node> nodes_;
    std::vector<Step> way_;  // of all nodes, and behind these of the one being made
    Peaks peaks_;
};

}  // namespace

Found search_piece(const Piece& piece, std::int64_t floor, std::int64_t beat,
                   std::int64_t& effort) {
    return Search(piece, floor, beat, effort).run();
}

std::int64_t bound_of(const Piece& piece) {
    const std::size_t n = piece.steps.size();
    std::vector<Set> before(n, 0);
    std::vector<Set> behind(n, 0);
    for (std::size_t s = 0; s < n; ++s)
        for (Set b = before[s] = piece.steps[s].before; b != 0; b &= b - 1)
            before[s] |= before[first_of(b)];
    for (std::size_t s = n; s-- > 0;)
        for (Set b = behind[s] = piece.steps[s].behind; b != 0; b &= b - 1)
            behind[s] |= behind[first_of(b)];
    std::int64_t out = 0;
    for (std::size_t s = 0; s < n; ++s) {
        const Set later = behind[s] | set_of(s);
        std::int64_t alive = 0;
        for (const Piece::Value& value : piece.values) {
            const bool may_die = value.dies && (value.readers & later) == 0;
            if (value.writer == nobody)
                alive -= may_die ? value.bytes : 0;
            else if ((before[s] & set_of(value.writer)) != 0)
                alive += may_die ? 0 : value.bytes;
        }
        alive += piece.steps[s].needs -
                 bytes_in_place(std::span(piece.steps[s].in_place), Bytes{piece.values},
                                [&](Id v) { return (piece.values[v].readers & behind[s]) == 0; });
        out = s == 0 ? alive : std::max(out, alive);
    }
    return out;
}

}  // namespace lazuli::plan::ordering
