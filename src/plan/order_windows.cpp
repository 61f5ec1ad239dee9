// An order is improved where its peak is: a piece of it is taken out, ordered anew between the same
// steps before and behind, and put back.

#include <algorithm>
#include <bit>
#include <map>

#include "plan/order_parts.h"

namespace lazuli::plan::ordering {

namespace {

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
};

class Windows {
   public:
    Windows(const Graph& graph, std::span<const std::size_t> waists, Ids& order,
            std::int64_t& floor, std::int64_t effort)
        : graph_(graph),
          waists_(waists),
          order_(order),
          floor_(floor),
          effort_(effort),
          position_(graph.steps),
          last_(graph.bytes.size(), 0),
          local_(graph.bytes.size(), nobody),
          profile_(profile_of(graph, order)) {
        for (std::size_t p = 0; p < order.size(); ++p) {
            position_[order[p]] = p;
            for (const Id v : graph.reads[order[p]]) last_[v] = p;
        }
    }

    void run() {
        while (effort_ > 0) {
            const auto top = std::max_element(profile_.begin(), profile_.end());
            if (*top <= floor_) return;
            if (!lower(static_cast<std::size_t>(top - profile_.begin()))) return;
        }
    }

   private:
    static constexpr std::size_t exact_steps = 24;   // up to here, a search may take all effort
    static constexpr std::int64_t of_whole = 4000;   // else so much: of all between two waists,
    static constexpr std::int64_t of_window = 1000;  // and of a window

    /// Whether the peak at this place could be lowered.
    bool lower(std::size_t at) {
        const Range all = between_waists(at);
        if (all.size() <= Piece::most_steps) {
            if (order_anew(all, at, true)) return true;
            if (profile_[at] <= floor_) return false;  // it is the best
        }
        std::size_t tried = 0;
        for (const std::size_t size : {16U, 32U, 64U})
            for (const std::size_t before : {size / 2, size * 3 / 4, size / 4}) {
                const Range window = clip({at - std::min(at, before), at + size - before}, all);
                if (window.size() <= tried && before == size / 2) continue;  // nothing is new
                tried = std::max(tried, window.size());
                if (order_anew(window, at, false)) return true;
            }
        return false;
    }

    /// The steps whose place in the order the waists leave open, with the waists at both ends.
    Range between_waists(std::size_t at) const {
        const auto above = std::upper_bound(waists_.begin(), waists_.end(), at);
        Range out{0, order_.size()};
        if (above != waists_.end()) out.end = *above + 1;
        if (above != waists_.begin()) out.begin = *std::prev(above);
        return out;
    }
    static Range clip(Range window, Range all) {
        return {std::max(window.begin, all.begin), std::min(window.end, all.end)};
    }

    bool order_anew(Range window, std::size_t at, bool is_whole) {
        if (window.size() < 2 || effort_ <= 0) return false;
        effort_ -= static_cast<std::int64_t>(window.size());
        const Piece piece = take_out(window);
        const std::int64_t peak = profile_[at];
        const std::int64_t base = alive_before(window);
        const std::int64_t bound = bound_of(piece);
        if (is_whole) floor_ = std::max(floor_, base + bound);
        const std::int64_t floor = std::max(bound, floor_ - base);
        const Found found = look_up(piece, floor, peak - base, is_whole);
        if (is_whole && found.is_best)
            floor_ = std::max(floor_, base + (found.order.empty() ? peak - base : found.peak));
        if (found.order.empty()) return false;
        put_back(window, found, base);
        return true;
    }

    Found look_up(const Piece& piece, std::int64_t floor, std::int64_t beat, bool is_whole) {
        const auto [place, is_new] = known_.try_emplace(words_of(piece, floor, beat));
        if (is_new) {
            const std::int64_t given = piece.steps.size() <= exact_steps
                                           ? effort_
                                           : std::min(effort_, is_whole ? of_whole : of_window);
            std::int64_t left = given;
            place->second = search_piece(piece, floor, beat, left);
            effort_ -= given - left;
        }
        return place->second;
    }

    static std::vector<std::int64_t> words_of(const Piece& piece, std::int64_t floor,
                                              std::int64_t beat) {
        std::vector<std::int64_t> out{floor, beat, static_cast<std::int64_t>(piece.steps.size())};
        for (const Piece::Step& s : piece.steps) {
            out.insert(out.end(),
                       {static_cast<std::int64_t>(s.before), static_cast<std::int64_t>(s.behind),
                        s.needs, s.leaves, static_cast<std::int64_t>(s.reads.size()),
                        static_cast<std::int64_t>(s.in_place.size())});
            out.insert(out.end(), s.reads.begin(), s.reads.end());
            for (const auto& [input, output] : s.in_place) out.insert(out.end(), {input, output});
        }
        for (const Piece::Value& v : piece.values)
            out.insert(out.end(),
                       {v.bytes, static_cast<std::int64_t>(v.readers), v.writer, v.dies});
        return out;
    }

    Piece take_out(Range window) {
        Piece out;
        Ids met;  // values
        out.steps.resize(window.size());
        const auto number = [&](Id v) {
            if (local_[v] != nobody) return local_[v];
            local_[v] = static_cast<Id>(met.size());
            met.push_back(v);
            Piece::Value value{.bytes = graph_.bytes[v],
                               .dies = graph_.kept[v] == 0 && last_[v] < window.end};
            const std::size_t writer = position_[graph_.writer[v]];
            if (writer >= window.begin) value.writer = static_cast<Id>(writer - window.begin);
            out.values.push_back(value);
            return local_[v];
        };
        for (std::size_t i = 0; i < window.size(); ++i) {
            const Id s = order_[window.begin + i];
            Piece::Step& step = out.steps[i];
            step.needs = graph_.needs[s];
            step.leaves = graph_.leaves[s];
            for (const Id v : graph_.reads[s]) {
                const Id n = number(v);
                Piece::Value& value = out.values[n];
                value.readers |= std::uint64_t{1} << i;
                if (value.dies) step.reads.push_back(n);
                if (value.writer == nobody) continue;
                step.before |= std::uint64_t{1} << value.writer;
                out.steps[value.writer].behind |= std::uint64_t{1} << i;
            }
            for (const Id v : graph_.writes[s]) number(v);
            for (const auto& [input, output] : graph_.in_place[s])
                if (out.values[number(input)].dies)
                    step.in_place.emplace_back(number(input), number(output));
        }
        forbid_waiting(out);
        for (const Id v : met) local_[v] = nobody;
        return out;
    }

    static void forbid_waiting(Piece& piece) {
        std::vector<std::uint64_t> takers(piece.values.size(), 0);
        for (std::size_t i = 0; i < piece.steps.size(); ++i)
            for (const auto& [input, output] : piece.steps[i].in_place)
                takers[input] |= std::uint64_t{1} << i;
        for (std::size_t i = 0; i < piece.steps.size(); ++i)
            for (const Id v : piece.steps[i].reads)
                if ((takers[v] & ~(std::uint64_t{1} << i)) != 0) piece.steps[i].can_wait = false;
    }

    /// What is alive where the window begins: what its first step finds.
    std::int64_t alive_before(Range window) const {
        const Id s = order_[window.begin];
        return profile_[window.begin] - graph_.needs[s] +
               bytes_in_place(graph_.in_place[s], graph_.bytes,
                              [&](Id v) { return last_[v] <= window.begin; });
    }

    void put_back(Range window, const Found& found, std::int64_t base) {
        const Ids old(order_.begin() + static_cast<std::ptrdiff_t>(window.begin),
                      order_.begin() + static_cast<std::ptrdiff_t>(window.end));
        for (std::size_t i = 0; i < old.size(); ++i) {
            order_[window.begin + i] = old[found.order[i]];
            position_[old[found.order[i]]] = window.begin + i;
        }
        for (std::size_t p = window.begin; p < window.end; ++p)
            for (const Id v : graph_.reads[order_[p]])
                if (last_[v] < window.end) last_[v] = p;
        std::int64_t alive = base;
        for (std::size_t p = window.begin; p < window.end; ++p) {
            const Id s = order_[p];
            const auto dies = [&](Id v) { return graph_.kept[v] == 0 && last_[v] <= p; };
            profile_[p] =
                alive + graph_.needs[s] - bytes_in_place(graph_.in_place[s], graph_.bytes, dies);
            alive += graph_.leaves[s];
            for (const Id v : graph_.reads[s])
                if (dies(v)) alive -= graph_.bytes[v];
        }
    }

    const Graph& graph_;
    std::span<const std::size_t> waists_;
    Ids& order_;
    std::int64_t& floor_;
    std::int64_t effort_;
    std::vector<std::size_t> position_;  // of steps in the order
    std::vector<std::size_t> last_;      // where values are last read
    Ids local_;                          // numbers of values in the piece at hand
    std::vector<std::int64_t> profile_;
    std::map<std::vector<std::int64_t>, Found> known_;  // layers are often alike
};

}  // namespace

void improve_pieces(const Graph& graph, std::span<const std::size_t> waists, Ids& order,
                    std::int64_t& floor, std::int64_t effort) {
    Windows(graph, waists, order, floor, effort).run();
}

}  // namespace lazuli::plan::ordering
