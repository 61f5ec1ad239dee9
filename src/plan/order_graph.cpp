// The problem in flat tables, and what can be told without ordering anything.

#include <fmt/format.h>

#include <algorithm>

#include "lazuli/error.h"
#include "plan/order_parts.h"

namespace lazuli::plan::ordering {

namespace {

/// InternalError where the order as given does not work. Fills in who writes each value.
void find_writers(const OrderProblem& problem, Ids& writer) {
    const auto ensure_known = [&](Id v) {
        if (v >= writer.size())
            throw InternalError(
                fmt::format("order_steps: value {} of a table of {}", v, writer.size()));
    };
    for (std::size_t s = 0; s < problem.steps.size(); ++s)
        for (const Id v : problem.steps[s].writes) {
            ensure_known(v);
            if (writer[v] != nobody)
                throw InternalError(
                    fmt::format("order_steps: steps {} and {} make value {}", writer[v], s, v));
            writer[v] = static_cast<Id>(s);
        }
    for (std::size_t s = 0; s < problem.steps.size(); ++s)
        for (const Id v : problem.steps[s].reads) {
            ensure_known(v);
            if (writer[v] != nobody && writer[v] >= s)
                throw InternalError(fmt::format(
                    "order_steps: step {} reads value {}, which step {} makes", s, v, writer[v]));
        }
}

bool holds(std::span<const Id> values, Id v) {
    return std::find(values.begin(), values.end(), v) != values.end();
}

}  // namespace

Graph::Graph(const OrderProblem& problem)
    : steps(problem.steps.size()),
      bytes(problem.bytes),
      kept(bytes.size(), 0),
      writer(bytes.size(), nobody),
      needs(steps, 0),
      leaves(steps, 0) {
    find_writers(problem, writer);
    for (std::size_t v = 0; v < std::min(problem.kept.size(), kept.size()); ++v)
        kept[v] = problem.kept[v] ? 1 : 0;
    std::vector<Ids> readers_of(bytes.size());
    for (std::size_t s = 0; s < steps; ++s) {
        const OrderStep& step = problem.steps[s];
        for (const Id v : step.reads) {
            if (writer[v] == nobody) continue;
            reads.add(v);
            readers_of[v].push_back(static_cast<Id>(s));
        }
        reads.close();
        needs[s] = step.scratch;
        for (const Id v : step.writes) {
            writes.add(v);
            needs[s] += bytes[v];
        }
        writes.close();
        for (const auto& [input, output] : step.in_place)
            if (holds(step.reads, input) && holds(step.writes, output) && writer[input] != nobody &&
                kept[input] == 0 && bytes[output] <= bytes[input])
                in_place.add({input, output});
        in_place.close();
    }
    for (std::size_t v = 0; v < bytes.size(); ++v) {
        for (const Id s : readers_of[v]) readers.add(s);
        readers.close();
        if (writer[v] != nobody && (kept[v] != 0 || !readers_of[v].empty()))
            leaves[writer[v]] += bytes[v];
    }
}

std::vector<std::int64_t> profile_of(const Graph& graph, std::span<const Id> order) {
    Ids left(graph.bytes.size());
    for (std::size_t v = 0; v < left.size(); ++v)
        left[v] = static_cast<Id>(graph.readers[v].size());
    std::vector<std::int64_t> out(order.size());
    std::int64_t alive = 0;
    for (std::size_t p = 0; p < order.size(); ++p) {
        const Id s = order[p];
        for (const Id v : graph.reads[s]) --left[v];
        out[p] = alive + graph.needs[s] -
                 bytes_in_place(graph.in_place[s], graph.bytes, [&](Id v) { return left[v] == 0; });
        alive += graph.leaves[s];
        for (const Id v : graph.reads[s])
            if (left[v] == 0 && graph.kept[v] == 0) alive -= graph.bytes[v];
    }
    return out;
}

std::int64_t bound_at(const Graph& graph, Id step) {
    // The steps stand in an order that works, so one pass each way meets all that must run before
    // and behind.
    std::vector<char> before(graph.steps, 0);
    std::vector<char> behind(graph.steps, 0);
    before[step] = behind[step] = 1;
    for (std::size_t s = step + 1; s-- > 0;)
        if (before[s] != 0)
            for (const Id v : graph.reads[s]) before[graph.writer[v]] = 1;
    for (std::size_t s = step; s < graph.steps; ++s)
        if (behind[s] != 0)
            for (const Id v : graph.writes[s])
                for (const Id reader : graph.readers[v]) behind[reader] = 1;
    before[step] = 0;
    const auto is_read = [&](Id v, bool here) {
        return std::any_of(graph.readers[v].begin(), graph.readers[v].end(),
                           [&](Id s) { return behind[s] != 0 && (here || s != step); });
    };
    std::int64_t alive = 0;
    for (Id v = 0; v < graph.bytes.size(); ++v)
        if (graph.writer[v] != nobody && before[graph.writer[v]] != 0 &&
            (graph.kept[v] != 0 || is_read(v, true)))
            alive += graph.bytes[v];
    return alive + graph.needs[step] - bytes_in_place(graph.in_place[step], graph.bytes, [&](Id v) {
               return !is_read(v, false);
           });
}

std::int64_t bound_of(const Graph& graph) {
    std::int64_t out = 0;
    for (std::size_t v = 0; v < graph.bytes.size(); ++v)
        if (graph.kept[v] != 0 && graph.writer[v] != nobody) out += graph.bytes[v];
    for (std::size_t s = 0; s < graph.steps; ++s) {
        std::int64_t alive = graph.needs[s] - bytes_in_place(graph.in_place[s], graph.bytes,
                                                             [](Id) { return true; });
        for (const Id v : graph.reads[s]) alive += graph.bytes[v];
        out = std::max(out, alive);
    }
    return out;
}

std::vector<std::size_t> waists(const Graph& graph) {
    // All steps before p lead to p where each has a reader at p or before it; all behind p come
    // from it where each reads something made at p or behind it.
    std::vector<std::size_t> reach(graph.steps, 0);           // where the first reader stands
    std::vector<std::size_t> comes_from(graph.steps + 1, 0);  // the latest writer, of all from here
    for (std::size_t s = 0; s < graph.steps; ++s) {
        reach[s] = graph.steps;
        for (const Id v : graph.writes[s])
            for (const Id reader : graph.readers[v])
                reach[s] = std::min(reach[s], std::size_t{reader});
    }
    std::vector<std::size_t> out;
    comes_from[graph.steps] = graph.steps;
    for (std::size_t s = graph.steps; s-- > 0;) {
        std::size_t latest = 0;
        bool has_writer = false;
        for (const Id v : graph.reads[s]) {
            has_writer = true;
            latest = std::max(latest, std::size_t{graph.writer[v]} + 1);
        }
        comes_from[s] = std::min(comes_from[s + 1], has_writer ? latest : 0);
    }
    std::size_t furthest = 0;
    for (std::size_t p = 0; p < graph.steps; ++p) {
        if (furthest <= p && comes_from[p + 1] >= p + 1) out.push_back(p);
        furthest = std::max(furthest, reach[p]);
    }
    return out;
}

}  // namespace lazuli::plan::ordering
