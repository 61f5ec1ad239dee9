// Boxes are placed from below. The floor is how high each section is filled. A valley is a run of
// sections of one floor between higher ones. The next box over its first section begins there and
// lies on the floor, or there is none: then the next one lies higher, and what is below is lost.
// The same holds for its last section. Each section can lose what the capacity has beyond the bytes
// alive in it, and no more. So every packing in which all boxes rest on something is met, and every
// packing can be let down to such a one. Of all ends of valleys one without a choice comes first:
// often there is one, or one at which nothing fits. Then that at which the least can be lost.

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "plan/packing_parts.h"

namespace lazuli::plan::packing {

namespace {

constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kDeepest = 8000;  // each thing done is a call on the stack

/// Boxes by the section in which they begin or end.
struct Lists {
    std::vector<std::int32_t> boxes;
    std::vector<std::int32_t> from;  // by section, where its boxes are

    void fill(const Part& part, const std::vector<std::int32_t>& order, bool by_end) {
        const auto section = [&](std::int32_t i) {
            const Box& b = part.boxes[at(i)];
            return at(by_end ? b.behind - 1 : b.first);
        };
        from.assign(at(part.sections) + 1, 0);
        for (const std::int32_t i : order) ++from[section(i) + 1];
        std::partial_sum(from.begin(), from.end(), from.begin());
        boxes.resize(order.size());
        std::vector<std::int32_t> next(from.begin(), from.end() - 1);
        for (const std::int32_t i : order) boxes[at(next[section(i)]++)] = i;
    }
    std::span<const std::int32_t> of(std::int32_t section) const {
        const std::int32_t begin = from[at(section)];
        return std::span(boxes).subspan(at(begin), at(from[at(section) + 1] - begin));
    }
};

class Search {
   public:
    Search(const Part& part, std::int64_t capacity, Clock::time_point until)
        : part_(part),
          until_(until),
          floor_(at(part.sections), 0),
          crossing_(floor_.size() + 1, 0),
          waiting_(floor_.size() + 1, 0),
          spare_(floor_.size() + 1, 0),
          twin_(part.boxes.size(), -1),
          offsets_(part.boxes.size(), -1) {
        for (const Box& b : part.boxes) {
            ++waiting_[at(b.first)];
            --waiting_[at(b.behind)];
            spare_[at(b.first)] -= b.size;
            spare_[at(b.behind)] += b.size;
            ++crossing_[at(b.first + 1)];
            --crossing_[at(b.behind)];
        }
        std::partial_sum(waiting_.begin(), waiting_.end(), waiting_.begin());
        std::partial_sum(crossing_.begin(), crossing_.end(), crossing_.begin());
        std::partial_sum(spare_.begin(), spare_.end(), spare_.begin());
        for (std::int64_t& spare : spare_) spare += capacity;
        find_twins();
    }

    bool fits() const {
        return std::all_of(spare_.begin(), spare_.end(), [](std::int64_t s) { return s >= 0; });
    }

    Outcome run(const Limits& limits) {
        order_boxes(limits.turn);
        steps_ = limits.steps;
        if (solve(0, part_.sections)) return Outcome::found;
        return stopped_ ? Outcome::given_up : Outcome::none;
    }

    const Offsets& offsets() const { return offsets_; }

   private:
    const Box& box(std::int32_t i) const { return part_.boxes[at(i)]; }
    bool is_placed(std::int32_t i) const { return offsets_[at(i)] >= 0; }

    /// An end of a valley, and what can be done there.
    struct End {
        bool right = false;
        std::int32_t first = 0;  // the valley
        std::int32_t behind = 0;
        std::int64_t left_wall = 0;
        std::int64_t right_wall = 0;
        int options = std::numeric_limits<int>::max();
        // Where no box is placed: what is raised, and how high.
        std::int32_t raised_first = 0;
        std::int32_t raised_behind = 0;
        std::int64_t raised_to = kHigh;
    };
    /// What undo() takes back.
    struct Done {
        std::int32_t box = -1;  // placed; none: the floor of sections was raised
        std::int32_t first = 0;
        std::int32_t behind = 0;
        std::int64_t by = 0;
    };

    /// Sections that no waiting box leaves. What falls into pieces is solved piece by piece.
    bool solve(std::int32_t first, std::int32_t behind) {
        const std::size_t before = done_.size();
        for (std::int32_t s = first, end = 0; s < behind; s = end) {
            end = s + 1;
            if (waiting_[at(s)] == 0) continue;
            while (crossing_[at(end)] > 0) ++end;
            if (solve_piece(s, end)) continue;
            undo(before);
            return false;
        }
        return true;
    }

    bool solve_piece(std::int32_t first, std::int32_t behind) {
        if (must_stop()) return false;
        const End end = narrowest(first, behind);
        if (end.options == 0) return false;
        const std::int64_t level = floor_[at(end.first)];
        const std::size_t from = tried_.size();
        gather(end);
        const std::size_t to = tried_.size();
        for (std::size_t k = from; k < to; ++k) {
            if (const std::int32_t i = tried_[k].second; i >= 0) {
                place(i, level);
            } else {
                raise(end.raised_first, end.raised_behind, end.raised_to - level);
            }
            if (solve(first, behind)) return true;
            undo(done_.size() - 1);
            tried_.resize(to);
            if (stopped_) return false;
        }
        tried_.resize(from);
        return false;
    }

    bool must_stop() {
        if (!stopped_)
            stopped_ = steps_-- == 0 || done_.size() >= kDeepest || Clock::now() >= until_;
        return stopped_;
    }

    /// The end of a valley to go on at.
    End narrowest(std::int32_t first, std::int32_t behind) const {
        End best;
        using Rank = std::tuple<int, std::int64_t, int, std::int64_t>;
        Rank least{3, 0, 0, 0};
        for (std::int32_t l = first, r = l; l < behind; l = r) {
            const std::int64_t level = floor_[at(l)];
            for (r = l + 1; r < behind && floor_[at(r)] == level;) ++r;
            const std::int64_t left = l > first ? floor_[at(l - 1)] : kHigh;
            const std::int64_t right = r < behind ? floor_[at(r)] : kHigh;
            if (left < level || right < level) continue;
            for (const bool side : {false, true}) {
                const End end = look(side, l, r, left, right);
                const Rank rank{std::min(end.options, 2), spare_[at(side ? r - 1 : l)], end.options,
                                level};
                if (rank < least) {
                    best = end;
                    least = rank;
                }
                if (best.options == 0) return best;
            }
        }
        return best;
    }

    /// Whether the box waits and would lie flat in the valley.
    bool is_flat(std::int32_t i, std::int32_t l, std::int32_t r) const {
        return !is_placed(i) && box(i).first >= l && box(i).behind <= r;
    }

    End look(bool right, std::int32_t l, std::int32_t r, std::int64_t left_wall,
             std::int64_t right_wall) const {
        End out{right, l, r, left_wall, right_wall, 0, l, r, kHigh};
        const std::int64_t level = floor_[at(l)];
        const std::int32_t edge = right ? r - 1 : l;
        bool any = false;
        for (const std::int32_t i : lists_[right].of(edge)) {
            if (!is_flat(i, l, r)) continue;
            any = true;
            if (!is_symmetric(i, level)) ++out.options;
        }
        std::int64_t spare = spare_[at(edge)];
        if (spare == 0) return out;
        // With no box on the floor here, the next one crosses a wall, or lies on another one in the
        // valley. Sections up to that in which such a one begins are lost with the first.
        std::int64_t least = kHigh;
        const std::int32_t step = right ? -1 : 1;
        for (std::int32_t s = edge + step; s >= l && s < r; s += step) {
            const bool is_first = least == kHigh;
            if (!any && !is_first) break;
            for (const std::int32_t i : lists_[right].of(s)) {
                if (is_flat(i, l, r)) least = std::min(least, box(i).size);
            }
            if (!is_first) continue;
            if (least == kHigh) {
                spare = std::min(spare, spare_[at(s)]);
            } else {
                (right ? out.raised_first : out.raised_behind) = right ? s + 1 : s;
            }
        }
        std::int64_t to = std::min(left_wall, right_wall);
        if (any && least != kHigh) to = std::min(to, level + least);
        if (to == kHigh || to - level > spare) return out;
        ++out.options;
        out.raised_to = to;
        return out;
    }

    /// What is tried at an end, in this order: boxes that make the floor level with a wall, which
    /// seldom happens by accident; other boxes; no box.
    void gather(const End& end) {
        const std::int64_t level = floor_[at(end.first)];
        const auto from = static_cast<std::ptrdiff_t>(tried_.size());
        for (const std::int32_t i : lists_[end.right].of(end.right ? end.behind - 1 : end.first)) {
            if (!is_flat(i, end.first, end.behind) || is_symmetric(i, level)) continue;
            const Box& b = box(i);
            int score = 0;
            if (b.first == end.first && level + b.size == end.left_wall) score -= 2;
            if (b.behind == end.behind && level + b.size == end.right_wall) score -= 2;
            if (b.first == end.first && b.behind == end.behind) score -= 1;
            tried_.emplace_back(score, i);
        }
        if (end.raised_to != kHigh) tried_.emplace_back(1, -1);
        std::stable_sort(tried_.begin() + from, tried_.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    }

    void place(std::int32_t i, std::int64_t level) {
        offsets_[at(i)] = level;
        const Box& b = box(i);
        for (std::int32_t s = b.first; s < b.behind; ++s) {
            floor_[at(s)] += b.size;
            --waiting_[at(s)];
            crossing_[at(s)] -= s > b.first;
        }
        done_.push_back({i, 0, 0, 0});
    }
    void raise(std::int32_t first, std::int32_t behind, std::int64_t by) {
        for (std::int32_t s = first; s < behind; ++s) {
            floor_[at(s)] += by;
            spare_[at(s)] -= by;
        }
        done_.push_back({-1, first, behind, by});
    }
    void undo(std::size_t to) {
        for (; done_.size() > to; done_.pop_back()) {
            const Done& done = done_.back();
            if (done.box >= 0) {
                const Box& b = box(done.box);
                for (std::int32_t s = b.first; s < b.behind; ++s) {
                    floor_[at(s)] -= b.size;
                    ++waiting_[at(s)];
                    crossing_[at(s)] += s > b.first;
                }
                offsets_[at(done.box)] = -1;
            } else {
                for (std::int32_t s = done.first; s < done.behind; ++s) {
                    floor_[at(s)] -= done.by;
                    spare_[at(s)] += done.by;
                }
            }
        }
    }

    /// Whether the box is equal to another that waits and has a lower number, or would stand on a
    /// box of its lifetime that has a higher number: in the other order they fill the same place.
    bool is_symmetric(std::int32_t i, std::int64_t level) const {
        if (twin_[at(i)] >= 0 && !is_placed(twin_[at(i)])) return true;
        const Box& b = box(i);
        for (const std::int32_t other : lists_[0].of(b.first)) {
            if (other > i && is_placed(other) && box(other).behind == b.behind &&
                offsets_[at(other)] + box(other).size == level)
                return true;
        }
        return false;
    }

    /// Equal boxes, each with the one before it.
    void find_twins() {
        std::vector<std::int32_t> order(part_.boxes.size());
        std::iota(order.begin(), order.end(), 0);
        const auto key = [&](std::int32_t i) {
            return std::tuple(box(i).first, box(i).behind, box(i).size);
        };
        std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return std::pair(key(a), a) < std::pair(key(b), b);
        });
        for (std::size_t k = 1; k < order.size(); ++k) {
            if (key(order[k - 1]) == key(order[k])) twin_[at(order[k])] = order[k - 1];
        }
    }

    /// Which boxes are tried first: the longest, the largest, or what chance says.
    void order_boxes(std::uint64_t turn) {
        std::vector<double> keys(part_.boxes.size());
        std::vector<std::int32_t> order(keys.size());
        Random random(turn);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const Box& b = part_.boxes[i];
            const double noise = random.fraction();
            switch (turn % 4) {
                case 0: keys[i] = b.length(); break;
                case 1: keys[i] = static_cast<double>(b.size); break;
                case 2: keys[i] = static_cast<double>(b.size) * b.length(); break;
                default: keys[i] = noise; break;
            }
            if (turn >= 4) keys[i] *= 1 + noise;
        }
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int32_t a, std::int32_t b) { return keys[at(a)] > keys[at(b)]; });
        lists_[0].fill(part_, order, false);
        lists_[1].fill(part_, order, true);
    }

    const Part& part_;
    Clock::time_point until_;
    std::vector<std::int64_t> floor_;
    std::vector<std::int32_t> crossing_;  // waiting boxes that are alive in a section and before it
    std::vector<std::int32_t> waiting_;   // boxes not placed yet, by section
    std::vector<std::int64_t> spare_;     // bytes that a section can lose
    std::vector<std::int32_t> twin_;      // the equal box with the next lower number
    Lists lists_[2];                      // boxes by where they begin; by where they end
    Offsets offsets_;
    std::vector<Done> done_;
    std::vector<std::pair<int, std::int32_t>> tried_;  // by open choices: score; box, or -1
    std::uint64_t steps_ = 0;
    bool stopped_ = false;
};

}  // namespace

Found search(const Part& part, std::int64_t capacity, const Limits& limits) {
    Search search(part, capacity, limits.until);
    if (!search.fits()) return {Outcome::none};
    const Outcome outcome = search.run(limits);
    if (outcome != Outcome::found) return {outcome};
    return {outcome, search.offsets()};
}

}  // namespace lazuli::plan::packing
