// Orders made in one go: of the steps that could run, one is chosen again and again.
//
// Let f be what is alive when a set of steps has run. A step that leaves no more alive than before
// does so at any later time too, since ever more of its inputs die with it; so it may run at once,
// where it fits. Seen from the end the same holds for a step that leaves more: it may wait.

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "plan/order_parts.h"

namespace lazuli::plan::ordering {

namespace {

/// A step that could be next; the least key is chosen.
struct Candidate {
    std::int64_t key = 0;
    Id rank = 0;
    Id step = 0;
    bool operator>(const Candidate& other) const {
        return std::tie(key, rank) > std::tie(other.key, other.rank);
    }
};
using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

/// What a step does to memory.
struct Cost {
    std::int64_t run = 0;     // added while it runs
    std::int64_t change = 0;  // behind it
};

/// The steps that could be next. One may be offered anew when its cost has changed; it is taken
/// once.
class Offers {
   public:
    Offers(const Graph& graph, Choice choice, std::int64_t limit)
        : choice_(choice), limit_(limit), taken_(graph.steps, 0) {}

    /// `at_once`: the step helps whatever else runs, and `run` is what it adds meanwhile.
    void offer(Id step, Id rank, bool at_once, std::int64_t run, std::int64_t key) {
        if (at_once) helping_.push({run, rank, step});
        others_.push({choice_ == Choice::memory ? key : 0, rank, step});
    }
    Id take(std::int64_t alive) {
        drop_taken(helping_);
        drop_taken(others_);
        const bool fits = !helping_.empty() && alive + helping_.top().key <= limit_;
        Queue& queue = fits ? helping_ : others_;
        const Id step = queue.top().step;
        queue.pop();
        taken_[step] = 1;
        return step;
    }
    bool is_taken(Id step) const { return taken_[step] != 0; }

   private:
    void drop_taken(Queue& queue) const {
        while (!queue.empty() && is_taken(queue.top().step)) queue.pop();
    }

    Choice choice_;
    std::int64_t limit_;
    std::vector<char> taken_;
    Queue helping_;
    Queue others_;
};

Ids ranks_of(std::span<const Id> order) {
    Ids out(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) out[order[p]] = static_cast<Id>(p);
    return out;
}

class FromStart {
   public:
    FromStart(const Graph& graph, std::span<const Id> followed, Choice choice, std::int64_t limit)
        : graph_(graph),
          rank_(ranks_of(followed)),
          offers_(graph, choice, limit),
          looks_ahead_(choice == Choice::memory),
          left_(graph.bytes.size()),
          waits_(graph.steps) {
        for (std::size_t v = 0; v < left_.size(); ++v)
            left_[v] = static_cast<Id>(graph.readers[v].size());
        for (std::size_t s = 0; s < graph.steps; ++s)
            waits_[s] = static_cast<Id>(graph.reads[s].size());
    }

    Ids run() {
        for (Id s = 0; s < graph_.steps; ++s)
            if (waits_[s] == 0) offer(s);
        Ids out;
        out.reserve(graph_.steps);
        std::int64_t alive = 0;
        while (out.size() < graph_.steps) {
            const Id s = offers_.take(alive);
            out.push_back(s);
            alive += cost(s).change;
            finish(s);
        }
        return out;
    }

   private:
    Cost cost(Id s) const {
        Cost out{graph_.needs[s], graph_.leaves[s]};
        for (const Id v : graph_.reads[s])
            if (left_[v] == 1 && graph_.kept[v] == 0) out.change -= graph_.bytes[v];
        out.run -=
            bytes_in_place(graph_.in_place[s], graph_.bytes, [&](Id v) { return left_[v] == 1; });
        return out;
    }

    void offer(Id s) {
        const Cost c = cost(s);
        std::int64_t change = c.change;
        if (looks_ahead_ && change > 0)
            for (const Id v : graph_.writes[s])
                if (graph_.readers[v].size() == 1 && waits_[graph_.readers[v][0]] == 1)
                    change = std::min(change, c.change + cost(graph_.readers[v][0]).change);
        offers_.offer(s, rank_[s], c.change <= 0, c.run, change);
    }

    void finish(Id s) {
        for (const Id v : graph_.reads[s]) {
            if (--left_[v] != 1) continue;
            for (const Id reader :
                 graph_.readers[v])  // one of them is left, and now ends the value
                if (!offers_.is_taken(reader) && waits_[reader] == 0) offer(reader);
        }
        for (const Id v : graph_.writes[s])
            for (const Id reader : graph_.readers[v])
                if (--waits_[reader] == 0) offer(reader);
    }

    const Graph& graph_;
    Ids rank_;
    Offers offers_;
    bool looks_ahead_;
    Ids left_;   // readers of a value that are to run
    Ids waits_;  // values a step waits for
};

class FromEnd {
   public:
    FromEnd(const Graph& graph, std::span<const Id> followed, Choice choice, std::int64_t limit)
        : graph_(graph),
          rank_(ranks_of(followed)),
          offers_(graph, choice, limit),
          is_alive_(graph.kept),
          waits_(graph.steps, 0) {
        for (std::size_t s = 0; s < graph.steps; ++s)
            for (const Id v : graph.writes[s])
                waits_[s] += static_cast<Id>(graph.readers[v].size());
    }

    Ids run() {
        std::int64_t alive = 0;
        for (std::size_t v = 0; v < graph_.bytes.size(); ++v)
            if (graph_.kept[v] != 0 && graph_.writer[v] != nobody) alive += graph_.bytes[v];
        for (Id s = 0; s < graph_.steps; ++s)
            if (waits_[s] == 0) offer(s);
        Ids out(graph_.steps);
        for (std::size_t p = graph_.steps; p-- > 0;) {
            const Id s = offers_.take(alive);
            out[p] = s;
            alive += cost(s).change;
            finish(s);
        }
        return out;
    }

   private:
    /// Of having the step still to run, seen from behind it.
    Cost cost(Id s) const {
        Cost out{0, -graph_.leaves[s]};
        for (const Id v : graph_.reads[s])
            if (is_alive_[v] == 0) out.change += graph_.bytes[v];
        out.run = out.change + graph_.needs[s] -
                  bytes_in_place(graph_.in_place[s], graph_.bytes,
                                 [&](Id v) { return is_alive_[v] == 0; });
        return out;
    }

    void offer(Id s) {
        const Cost c = cost(s);
        offers_.offer(s, static_cast<Id>(graph_.steps) - rank_[s], c.change <= 0, c.run, c.change);
    }

    void finish(Id s) {
        for (const Id v : graph_.reads[s]) {
            if (is_alive_[v] != 0) continue;
            is_alive_[v] = 1;
            for (const Id reader : graph_.readers[v])
                if (reader != s && !offers_.is_taken(reader) && waits_[reader] == 0) offer(reader);
        }
        for (const Id v : graph_.reads[s])
            if (--waits_[graph_.writer[v]] == 0) offer(graph_.writer[v]);
    }

    const Graph& graph_;
    Ids rank_;
    Offers offers_;
    std::vector<char> is_alive_;  // values that a step behind reads, or that are kept
    Ids waits_;                   // reads of its values that are to be undone
};

}  // namespace

Ids order_from_start(const Graph& graph, std::span<const Id> followed, Choice choice,
                     std::int64_t limit) {
    return FromStart(graph, followed, choice, limit).run();
}

Ids order_from_end(const Graph& graph, std::span<const Id> followed, Choice choice,
                   std::int64_t limit) {
    return FromEnd(graph, followed, choice, limit).run();
}

Ids order_on_demand(const Graph& graph) {
    // What a step and all it needs take, as if nobody else read any of it; then the inputs that
    // take most beyond what they leave come first, which is the best order of a tree.
    std::vector<std::int64_t> most(graph.steps, 0);
    Lists<Id> inputs;  // writers of what a step reads, in that order
    for (std::size_t s = 0; s < graph.steps; ++s) {
        Ids writers;
        for (const Id v : graph.reads[s]) writers.push_back(graph.writer[v]);
        const auto beyond = [&](Id w) { return std::pair(graph.leaves[w] - most[w], w); };
        std::sort(writers.begin(), writers.end(),
                  [&](Id a, Id b) { return beyond(a) < beyond(b); });
        writers.erase(std::unique(writers.begin(), writers.end()), writers.end());
        std::int64_t alive = 0;
        for (const Id w : writers) {
            most[s] = std::max(most[s], alive + most[w]);
            alive += graph.leaves[w];
            inputs.add(w);
        }
        inputs.close();
        most[s] = std::max(most[s], alive + graph.needs[s]);
    }
    Ids out;
    out.reserve(graph.steps);
    std::vector<char> met(graph.steps, 0);
    std::vector<std::pair<Id, std::size_t>> path;  // steps, and how many of their inputs are done
    for (Id result = 0; result < graph.steps; ++result) {
        const bool is_read = std::any_of(graph.writes[result].begin(), graph.writes[result].end(),
                                         [&](Id v) { return !graph.readers[v].empty(); });
        if (is_read) continue;
        met[result] = 1;
        path.emplace_back(result, 0);
        while (!path.empty()) {
            auto& [step, done] = path.back();
            if (done == inputs[step].size()) {
                out.push_back(step);
                path.pop_back();
                continue;
            }
            const Id input = inputs[step][done++];
            if (met[input] != 0) continue;
            met[input] = 1;
            path.emplace_back(input, 0);
        }
    }
    return out;
}

}  // namespace lazuli::plan::ordering
