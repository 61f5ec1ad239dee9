#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "plan/packing_parts.h"

namespace lazuli::plan::packing {

namespace {

using Order = std::vector<std::int32_t>;

/// Places boxes one by one.
class Placer {
   public:
    explicit Placer(const Part& part) : part_(part), offsets_(part.boxes.size(), -1) {
        find_neighbours();
    }

    /// Puts each box where it fits lowest beside those before it. False where time was up.
    bool place(const Order& order, Clock::time_point until) {
        std::fill(offsets_.begin(), offsets_.end(), -1);
        placed_.clear();
        int count = 0;
        for (const std::int32_t i : order) {
            if (++count % 64 == 0 && Clock::now() >= until) return false;
            offsets_[at(i)] = neighbours_.empty() ? lowest_of_all(i) : lowest_by_neighbours(i);
        }
        return true;
    }
    /// Puts what is not placed yet on top of what is, which is fast.
    void finish(const Order& order) {
        std::vector<std::int64_t> tops(at(part_.sections), 0);
        const auto sections = [&](std::int32_t i) {
            return std::span(tops).subspan(at(box(i).first), at(box(i).length()));
        };
        for (const std::int32_t i : order) {
            const auto under = sections(i);
            std::int64_t& offset = offsets_[at(i)];
            if (offset < 0) offset = *std::max_element(under.begin(), under.end());
            for (std::int64_t& top : under) top = std::max(top, offset + box(i).size);
        }
    }
    const Offsets& offsets() const { return offsets_; }

   private:
    struct Placed {
        std::int64_t offset;
        std::int64_t end;
        std::int32_t first;
        std::int32_t behind;
    };
    const Box& box(std::int32_t i) const { return part_.boxes[at(i)]; }

    /// Which boxes are alive with which, where these are few: beyond that, going through all that
    /// are placed is faster than sorting those that matter, and the memory stays linear.
    void find_neighbours() {
        constexpr std::size_t kMost = 16;
        Order by_begin(part_.boxes.size());
        std::iota(by_begin.begin(), by_begin.end(), 0);
        std::sort(by_begin.begin(), by_begin.end(),
                  [&](std::int32_t a, std::int32_t b) { return box(a).first < box(b).first; });
        std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
        Order alive;
        for (const std::int32_t i : by_begin) {
            std::erase_if(alive, [&](std::int32_t j) { return box(j).behind <= box(i).first; });
            if (pairs.size() + alive.size() > kMost * by_begin.size()) return;
            for (const std::int32_t j : alive) pairs.emplace_back(i, j);
            alive.push_back(i);
        }
        from_.assign(part_.boxes.size() + 1, 0);
        for (const auto& [i, j] : pairs) ++from_[at(i) + 1], ++from_[at(j) + 1];
        std::partial_sum(from_.begin(), from_.end(), from_.begin());
        neighbours_.resize(2 * pairs.size() + 1);  // never empty, as a sign that they are known
        std::vector<std::size_t> next(from_.begin(), from_.end() - 1);
        for (const auto& [i, j] : pairs) {
            neighbours_[next[at(i)]++] = j;
            neighbours_[next[at(j)]++] = i;
        }
    }

    std::int64_t lowest_by_neighbours(std::int32_t i) {
        taken_.clear();
        const std::size_t from = from_[at(i)];
        for (const std::int32_t j : std::span(neighbours_).subspan(from, from_[at(i) + 1] - from)) {
            const std::int64_t begin = offsets_[at(j)];
            if (begin >= 0) taken_.emplace_back(begin, begin + box(j).size);
        }
        std::sort(taken_.begin(), taken_.end());
        std::int64_t free = 0;  // where a gap may begin
        for (const auto& [begin, end] : taken_) {
            if (begin - free >= box(i).size) break;
            free = std::max(free, end);
        }
        return free;
    }

    std::int64_t lowest_of_all(std::int32_t i) {
        const Box& b = box(i);
        std::int64_t free = 0;
        for (const Placed& p : placed_) {
            if (p.first >= b.behind || p.behind <= b.first) continue;
            if (p.offset - free >= b.size) break;
            free = std::max(free, p.end);
        }
        const auto behind = std::upper_bound(
            placed_.begin(), placed_.end(), free,
            [](std::int64_t offset, const Placed& p) { return offset < p.offset; });
        placed_.insert(behind, {free, free + b.size, b.first, b.behind});
        return free;
    }

    const Part& part_;
    Offsets offsets_;
    std::vector<std::size_t> from_;  // by box, where its neighbours are
    Order neighbours_;
    std::vector<std::pair<std::int64_t, std::int64_t>> taken_;
    std::vector<Placed> placed_;  // by offset
};

enum class By : std::uint8_t { size, area, length, begin, end };

Order sorted(const Part& part, By by) {
    const auto key = [by](const Box& b) {
        switch (by) {
            case By::size: return static_cast<double>(b.size);
            case By::area: return static_cast<double>(b.size) * b.length();
            case By::length: return static_cast<double>(b.length());
            case By::begin: return -static_cast<double>(b.first);
            case By::end: return static_cast<double>(b.behind);
        }
        return 0.0;
    };
    Order out(part.boxes.size());
    std::iota(out.begin(), out.end(), 0);
    std::stable_sort(out.begin(), out.end(), [&](std::int32_t a, std::int32_t b) {
        return key(part.boxes[at(a)]) > key(part.boxes[at(b)]);
    });
    return out;
}

Clock::time_point half_way(Clock::time_point until) {
    if (until == Clock::time_point::max()) return until;
    const auto now = Clock::now();
    return now + (until - now) / 2;
}

}  // namespace

std::int64_t peak_of(const Part& part, const Offsets& offsets) {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i)
        out = std::max(out, offsets[i] + part.boxes[i].size);
    return out;
}

Offsets pack_in_order(const Part& part, std::int64_t enough, Clock::time_point until) {
    Placer placer(part);
    Offsets best;
    Offsets now;
    Order next;
    std::int64_t peak = 0;
    for (const By by : {By::size, By::area, By::length, By::begin, By::end}) {
        Order order = sorted(part, by);
        if (best.empty()) {
            // This one is needed, be it half good.
            if (!placer.place(order, half_way(until))) placer.finish(order);
        } else if (!placer.place(order, until)) {
            return best;
        }
        const std::int64_t height = peak_of(part, placer.offsets());
        if (!best.empty() && height >= peak) continue;
        peak = height;
        best = now = placer.offsets();
        next = std::move(order);
        if (peak <= enough) return best;
    }
    // Boxes that reach the top come to the front: they had the least choice.
    const std::size_t turns = std::clamp<std::size_t>(20000 / part.boxes.size(), 1, 100);
    for (std::size_t turn = 0; turn < turns && peak > enough; ++turn) {
        const std::int64_t height = peak_of(part, now);
        std::stable_partition(next.begin(), next.end(), [&](std::int32_t i) {
            return now[at(i)] + part.boxes[at(i)].size == height;
        });
        if (!placer.place(next, until)) return best;
        now = placer.offsets();
        if (const std::int64_t reached = peak_of(part, now); reached < peak) {
            peak = reached;
            best = now;
        }
    }
    return best;
}

}  // namespace lazuli::plan::packing
