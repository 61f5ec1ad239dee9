// Orders made in one go are tried first, and what is best in each is put together; then pieces of
// the result are searched where the peak is. A bound from what must be alive around the step at the
// peak tells when nothing is left to gain.

#include "plan/order.h"

#include <algorithm>
#include <numeric>

#include "plan/order_parts.h"

namespace lazuli::plan {

namespace {

using ordering::Choice;
using ordering::Graph;
using ordering::Id;
using ordering::Ids;

std::int64_t highest(std::span<const std::int64_t> profile) {
    return profile.empty() ? 0 : *std::max_element(profile.begin(), profile.end());
}

/// Two orders have run the same steps at some places; from one to the next, either may be followed.
/// `use_other` is asked with the peaks of both between two places.
template <typename UseOther>
Ids merge(const Graph& graph, const Ids& order, const Ids& other, const UseOther& use_other) {
    const std::vector<std::int64_t> profile = profile_of(graph, order);
    const std::vector<std::int64_t> other_profile = profile_of(graph, other);
    std::vector<std::size_t> position(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = p;
    Ids out = order;
    std::size_t begin = 0;
    std::size_t last = 0;
    for (std::size_t p = 0; p < other.size(); ++p) {
        last = std::max(last, position[other[p]]);
        if (last != p) continue;
        const std::size_t count = p + 1 - begin;
        if (use_other(highest(std::span(profile).subspan(begin, count)),
                      highest(std::span(other_profile).subspan(begin, count))))
            std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(begin), count,
                        out.begin() + static_cast<std::ptrdiff_t>(begin));
        begin = p + 1;
    }
    return out;
}

/// The best order so far.
class Best {
   public:
    Best(const Graph& graph, Ids order)
        : graph_(graph), order_(std::move(order)), bound_(bound_of(graph)) {
        measure();
    }

    bool is_optimal() const { return peak_ <= bound_; }
    const Ids& order() const { return order_; }
    std::int64_t peak() const { return peak_; }
    std::int64_t bound() const { return bound_; }
    std::string_view method() const { return method_; }
    void raise_bound(std::int64_t bound) { bound_ = std::max(bound_, bound); }

    /// Takes over what is better in another order.
    void consider(const Ids& other, std::string_view method) {
        Ids merged = merge(graph_, order_, other,
                           [](std::int64_t mine, std::int64_t others) { return others < mine; });
        const std::int64_t before = peak_;
        order_ = std::move(merged);
        measure();
        if (peak_ < before) method_ = method;
    }

   private:
    void measure() {
        const std::vector<std::int64_t> profile = profile_of(graph_, order_);
        const auto top = std::max_element(profile.begin(), profile.end());
        if (top == profile.end()) return;
        peak_ = *top;
        const Id step = order_[static_cast<std::size_t>(top - profile.begin())];
        if (step != bounded_) raise_bound(bound_at(graph_, step));
        bounded_ = step;
    }

    const Graph& graph_;
    Ids order_;
    std::int64_t peak_ = 0;
    std::int64_t bound_ = 0;
    Id bounded_ = ordering::nobody;  // the step whose bound is known
    std::string_view method_ = "given";
};

void try_orders(const Graph& graph, const Ids& given, Best& best) {
    const auto start = [&](const Ids& followed, Choice choice) {
        if (!best.is_optimal())
            best.consider(order_from_start(graph, followed, choice, best.peak()), "from start");
    };
    const auto end = [&](const Ids& followed, Choice choice) {
        if (!best.is_optimal())
            best.consider(order_from_end(graph, followed, choice, best.peak()), "from end");
    };
    start(given, Choice::followed);
    end(given, Choice::followed);
    if (best.is_optimal()) return;
    const Ids on_demand = order_on_demand(graph);
    best.consider(on_demand, "on demand");
    start(on_demand, Choice::followed);
    end(on_demand, Choice::followed);
    start(given, Choice::memory);
    end(given, Choice::memory);
    // Each of the two undoes what the other cannot see.
    for (int turn = 0; turn < 2 && !best.is_optimal(); ++turn) {
        const std::int64_t before = best.peak();
        start(best.order(), Choice::followed);
        end(best.order(), Choice::followed);
        if (best.peak() == before) break;
    }
}

}  // namespace

std::int64_t peak_of(const OrderProblem& problem, std::span<const std::uint32_t> order) {
    return highest(profile_of(Graph(problem), order));
}

Order order_steps(const OrderProblem& problem, std::int64_t effort) {
    const Graph graph(problem);
    Ids given(graph.steps);
    std::iota(given.begin(), given.end(), Id{0});
    Best best(graph, given);
    Order out;
    out.given_peak = best.peak();
    if (!best.is_optimal()) try_orders(graph, given, best);
    if (!best.is_optimal()) {
        Ids improved = best.order();
        std::int64_t bound = best.bound();
        improve_pieces(graph, waists(graph), improved, bound, effort);
        best.consider(improved, "search");
        best.raise_bound(bound);
    }
    out.steps = std::move(given);
    out.peak = out.given_peak;
    out.method = "given";
    if (best.peak() < out.given_peak) {
        // Where the order as given is no worse, it is followed: neighbours share what is in caches.
        out.steps = merge(graph, best.order(), out.steps, [&](std::int64_t, std::int64_t as_given) {
            return as_given <= best.peak();
        });
        out.peak = highest(profile_of(graph, out.steps));
        out.method = best.method();
    }
    out.bound = std::min(best.bound(), out.peak);
    return out;
}

}  // namespace lazuli::plan
