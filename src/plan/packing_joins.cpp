// Where no byte is to spare, what ends at a time is followed by what begins there, without gaps. A
// box that ends where one of its size begins is then likely to lie beside it, and a box beside a
// stack of its size: the more so the larger they are, and the fewer others they could lie beside.
// Such boxes are joined, again and again, and what is left is a smaller problem. Guesses can be
// wrong, so another turn guesses otherwise.

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "plan/packing_parts.h"

namespace lazuli::plan::packing {

namespace {

using Numbers = std::vector<std::int32_t>;

/// A box, boxes side by side of one size, or a stack of boxes of one lifetime.
struct Joined {
    Box box;
    enum class Kind : std::uint8_t { one, row, stack } kind = Kind::one;
    Numbers of = {};       // joined ones
    bool is_part = false;  // of another
};

class Joiner {
   public:
    Joiner(const Part& part, std::uint64_t turn, Clock::time_point until)
        : part_(part),
          until_(until),
          random_(turn),
          noise_(turn % 4 < 2 ? 2.0 : 16.0),
          by_size_(turn % 2 == 0),
          ends_(at(part.sections) + 1),
          begins_(ends_.size()),
          guesses_(ends_.size()) {
        Numbers order(part.boxes.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[random_.below(i)]);
        all_.reserve(2 * order.size());
        for (const Box& b : part.boxes) all_.push_back({b});
        for (const std::int32_t i : order) link(i);
    }

    /// False where time was up.
    bool join() {
        for (std::int32_t time = 0; time <= part_.sections; ++time) look_at(time);
        do {
            while (!open_.empty()) {
                if (Clock::now() >= until_) return false;
                const std::int32_t time = open_.begin()->second;
                open_.erase(open_.begin());
                const Guess guess = std::exchange(guesses_[at(time)], {});
                if (guess.boxes.empty()) continue;
                if (guess.kind == Joined::Kind::row) {
                    row(guess.boxes[0], guess.boxes[1]);
                } else {
                    stack(guess.boxes);
                }
            }
        } while (stack_some() && Clock::now() < until_);
        return Clock::now() < until_;
    }

    /// What is left.
    Part left() {
        Part out{{}, part_.sections, part_.bound};
        left_.clear();
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (all_[i].is_part) continue;
            left_.push_back(static_cast<std::int32_t>(i));
            out.boxes.push_back(all_[i].box);
        }
        return out;
    }

    /// The offsets of all boxes, from those of what is left.
    Offsets open(const Offsets& offsets) const {
        Offsets out(all_.size(), 0);
        for (std::size_t i = 0; i < left_.size(); ++i) out[at(left_[i])] = offsets[i];
        // What joins others has a higher number than they.
        for (std::size_t i = all_.size(); i-- > part_.boxes.size();) {
            std::int64_t offset = out[i];
            for (const std::int32_t inner : all_[i].of) {
                out[at(inner)] = offset;
                if (all_[i].kind == Joined::Kind::stack) offset += box(inner).size;
            }
        }
        out.resize(part_.boxes.size());
        return out;
    }

   private:
    /// What could be joined at a time.
    struct Guess {
        double doubt = std::numeric_limits<double>::max();  // chances for it to be an accident
        Joined::Kind kind = Joined::Kind::row;
        Numbers boxes = {};  // none: there is nothing
    };

    const Box& box(std::int32_t i) const { return all_[at(i)].box; }

    void link(std::int32_t i) {
        begins_[at(box(i).first)].push_back(i);
        ends_[at(box(i).behind)].push_back(i);
    }
    void add(const Box& joined, Joined::Kind kind, Numbers of) {
        for (const std::int32_t i : of) {
            std::erase(begins_[at(box(i).first)], i);
            std::erase(ends_[at(box(i).behind)], i);
            all_[at(i)].is_part = true;
        }
        const std::int32_t between = box(of[0]).behind;
        all_.push_back({joined, kind, std::move(of), false});
        link(static_cast<std::int32_t>(all_.size() - 1));
        look_at(joined.first);
        look_at(joined.behind);
        if (between != joined.behind) look_at(between);
    }
    void row(std::int32_t i, std::int32_t j) {
        add({box(i).first, box(j).behind, box(i).size}, Joined::Kind::row, {i, j});
    }
    void stack(const Numbers& of) {
        Box sum = box(of[0]);
        for (std::size_t k = 1; k < of.size(); ++k) sum.size += box(of[k]).size;
        add(sum, Joined::Kind::stack, of);
    }

    /// Notes a time at which something can be joined; the least doubtful comes first.
    void look_at(std::int32_t time) {
        const Guess& guess = guesses_[at(time)] = best_guess(time);
        if (!guess.boxes.empty())
            open_.emplace(guess.doubt * (1 + noise_ * random_.fraction()), time);
    }

    Guess best_guess(std::int32_t time) const {
        constexpr std::size_t kMostPairs = 1024;  // with more, everything is an accident
        const Numbers& ends = ends_[at(time)];
        const Numbers& begins = begins_[at(time)];
        const std::size_t pairs = ends.size() * begins.size();
        Guess best;
        if (pairs == 0 || pairs > kMostPairs || Clock::now() >= until_) return best;
        for (const std::int32_t i : ends) {
            for (const std::int32_t j : begins) {
                if (box(i).size != box(j).size) continue;
                const double doubt = doubt_of(pairs - 1, i);
                if (doubt < best.doubt) best = {doubt, Joined::Kind::row, {i, j}};
            }
        }
        guess_stack(begins, ends, best);
        guess_stack(ends, begins, best);
        return best;
    }

    /// Boxes of one lifetime that are together as large as one on the other side.
    void guess_stack(const Numbers& side, const Numbers& other, Guess& best) const {
        if (side.size() < 2) return;
        for (const Numbers& group : groups_of(side)) {
            const bool all = other.size() == 1 && group.size() == side.size();
            const std::size_t chances =
                all ? 0 : other.size() * (std::size_t{1} << std::min(group.size(), kMostAdded)) - 2;
            for (const std::int32_t one : other) {
                const double doubt = doubt_of(chances, one);
                if (doubt >= best.doubt) continue;
                if (Numbers some = adding_up_to(group, box(one).size); !some.empty())
                    best = {doubt, Joined::Kind::stack, std::move(some)};
            }
        }
    }
    double doubt_of(std::size_t chances, std::int32_t i) const {
        return static_cast<double>(chances) / (by_size_ ? static_cast<double>(box(i).size) : 1.0);
    }

    /// Boxes of one lifetime, where there are several.
    std::vector<Numbers> groups_of(Numbers boxes) const {
        const auto lifetime = [&](std::int32_t i) {
            return std::pair(box(i).first, box(i).behind);
        };
        std::stable_sort(boxes.begin(), boxes.end(),
                         [&](std::int32_t a, std::int32_t b) { return lifetime(a) < lifetime(b); });
        std::vector<Numbers> out;
        for (auto from = boxes.begin(), to = from; from != boxes.end(); from = to) {
            to = std::find_if(from, boxes.end(),
                              [&](std::int32_t i) { return lifetime(i) != lifetime(*from); });
            if (to - from > 1) out.emplace_back(from, to);
        }
        return out;
    }

    /// Two or more of a group that have a size together; of large groups the first few are tried.
    Numbers adding_up_to(const Numbers& group, std::int64_t size) const {
        const std::size_t count = std::min(group.size(), kMostAdded);
        std::int64_t sum = 0;
        std::uint32_t chosen = 0;
        for (std::uint32_t step = 1; step < (1U << count); ++step) {
            // A Gray code: one comes or goes at each step.
            const auto k = static_cast<std::size_t>(std::countr_zero(step));
            chosen ^= 1U << k;
            sum += (chosen >> k & 1U) != 0 ? box(group[k]).size : -box(group[k]).size;
            if (sum != size || std::popcount(chosen) < 2) continue;
            Numbers out;
            for (std::size_t j = 0; j < count; ++j) {
                if ((chosen >> j & 1U) != 0) out.push_back(group[j]);
            }
            return out;
        }
        return {};
    }

    /// Where sums say nothing: stacks some boxes of a short lifetime, of which there are several.
    bool stack_some() {
        Numbers best;
        double least = 0;
        for (const Numbers& begins : begins_) {
            if (begins.size() < 2) continue;
            for (Numbers& group : groups_of(begins)) {
                const double key = box(group[0]).length() * (1 + random_.fraction());
                if (!best.empty() && key >= least) continue;
                least = key;
                best = std::move(group);
            }
        }
        if (best.empty()) return false;
        best.resize(2 + random_.below(best.size() - 1));
        stack(best);
        return true;
    }

    static constexpr std::size_t kMostAdded = 10;

    const Part& part_;
    Clock::time_point until_;
    Random random_;
    double noise_;  // how far doubt may be mistaken
    bool by_size_;  // whether large boxes are less doubtful; no is better for many small ones
    std::vector<Joined> all_;
    std::vector<Numbers> ends_;  // by time, what ends there and is no part of another
    std::vector<Numbers> begins_;
    std::vector<Guess> guesses_;                      // by time, the best
    std::set<std::pair<double, std::int32_t>> open_;  // times by doubt; some twice
    Numbers left_;
};

}  // namespace

Found search_joined(const Part& part, std::int64_t capacity, std::uint64_t turn,
                    Clock::time_point until) {
    Joiner joiner(part, turn, until);
    if (!joiner.join()) return {};
    const Part left = joiner.left();
    const Found found = search(left, capacity, {turn, 4 * left.boxes.size(), until});
    if (found.outcome != Outcome::found) return {};
    return {Outcome::found, joiner.open(found.offsets)};
}

}  // namespace lazuli::plan::packing
