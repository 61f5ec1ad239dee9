#include "plan/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "lazuli/error.h"
#include "plan/packing_parts.h"

namespace lazuli::plan {

namespace {

using packing::Box;
using packing::Clock;
using packing::Found;
using packing::Offsets;
using packing::Outcome;
using packing::Part;

void check(std::span<const Lifetime> buffers, const PackingOptions& options) {
    if (options.alignment < 1)
        throw ArgumentError(fmt::format("pack: an alignment of {} bytes", options.alignment));
    std::int64_t total = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const Lifetime& b = buffers[i];
        if (b.upper < b.lower)
            throw ArgumentError(
                fmt::format("pack: buffer {} is alive on [{}, {})", i, b.lower, b.upper));
        if (b.size < 0) throw ArgumentError(fmt::format("pack: buffer {} has {} bytes", i, b.size));
        if (b.size > std::numeric_limits<std::int64_t>::max() / 2 - options.alignment - total)
            throw ArgumentError(fmt::format("pack: buffers up to {} have too many bytes", i));
        total += b.size + options.alignment;
    }
}

/// Whether the buffer takes room at all.
bool counts(const Lifetime& b) { return b.size > 0 && b.upper > b.lower; }

/// A part, and which buffers its boxes are.
struct Numbered {
    Part part;
    std::vector<std::size_t> numbers;
};

/// Sections of a part's times, and the most bytes alive in one.
void number_sections(Part& part, std::span<const Lifetime> buffers,
                     std::span<const std::size_t> numbers) {
    std::vector<std::int64_t> times;
    for (const std::size_t i : numbers) {
        times.push_back(buffers[i].lower);
        times.push_back(buffers[i].upper);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const auto section = [&](std::int64_t time) {
        return static_cast<std::int32_t>(std::lower_bound(times.begin(), times.end(), time) -
                                         times.begin());
    };
    part.sections = static_cast<std::int32_t>(times.size()) - 1;
    std::vector<std::int64_t> change(times.size(), 0);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        Box& box = part.boxes[k];
        box.first = section(buffers[numbers[k]].lower);
        box.behind = section(buffers[numbers[k]].upper);
        change[static_cast<std::size_t>(box.first)] += box.size;
        change[static_cast<std::size_t>(box.behind)] -= box.size;
    }
    std::int64_t alive = 0;
    for (const std::int64_t by : change) part.bound = std::max(part.bound, alive += by);
}

/// Buffers cut where none is alive: what lies before does not touch what comes behind.
std::vector<Numbered> parts_of(std::span<const Lifetime> buffers, std::int64_t alignment) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (counts(buffers[i])) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return buffers[a].lower < buffers[b].lower;
    });
    std::vector<Numbered> out;
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t i : order) {
        if (out.empty() || buffers[i].lower >= end) out.emplace_back();
        end = std::max(end, buffers[i].upper);
        const std::int64_t size = (buffers[i].size + alignment - 1) / alignment * alignment;
        out.back().part.boxes.push_back({0, 0, size});
        out.back().numbers.push_back(i);
    }
    for (Numbered& numbered : out) number_sections(numbered.part, buffers, numbered.numbers);
    return out;
}

/// A part on its way to a lower peak.
struct Open {
    const Part& part;
    Offsets offsets;
    std::int64_t peak = 0;
    std::int64_t low = 0;     // there is no lower one
    std::uint64_t turns = 0;  // of the search
    std::uint64_t joined = 0;
    int joined_share = 1;        // time for joined searches, of that for the search
    Clock::duration ahead = {};  // time that joined searches are behind their share

    Open(const Part& p, Offsets o)
        : part(p), offsets(std::move(o)), peak(packing::peak_of(p, offsets)), low(p.bound) {
        // Where there are hardly any gaps, what belongs together shows.
        double area = 0;
        for (const Box& box : p.boxes) area += static_cast<double>(box.size) * box.length();
        if (area > 0.98 * static_cast<double>(p.bound) * p.sections) joined_share = 8;
    }

    /// Searches in turns, of all boxes and of joined ones, for a peak within the capacity.
    Outcome improve(std::int64_t capacity, Clock::time_point until) {
        for (auto now = Clock::now(); now < until;) {
            Found found;
            const bool join = ahead > Clock::duration::zero();
            if (join) {
                found = packing::search_joined(part, capacity, joined++, until);
            } else {
                // A bad choice at the beginning costs a search its life: many short ones find more
                // than a long one.
                const double steps = 4.0 * static_cast<double>(part.boxes.size()) *
                                     std::pow(1.5, static_cast<double>(turns / 8));
                found = packing::search(
                    part, capacity,
                    {turns++, static_cast<std::uint64_t>(std::min(steps, 1e15)), until});
            }
            const auto then = Clock::now();
            ahead += join ? now - then : (then - now) * joined_share;
            now = then;
            if (found.outcome == Outcome::none) low = std::max(low, capacity + 1);
            if (found.outcome == Outcome::found) {
                offsets = std::move(found.offsets);
                peak = packing::peak_of(part, offsets);
            }
            if (found.outcome != Outcome::given_up) return found.outcome;
        }
        return Outcome::given_up;
    }
};

/// Searches for the target in all parts that are above it, until time is up. In turns: one that
/// takes long must not keep those waiting that do not.
void reach(std::vector<Open>& parts, std::int64_t target, Clock::time_point until) {
    const auto start = Clock::now();
    for (auto slice = (until - start) / 64; Clock::now() < until; slice *= 2) {
        bool any = false;
        for (Open& open : parts) {
            if (open.peak <= target || open.low > target) continue;
            any = true;
            open.improve(target, std::min(Clock::now() + slice, until));
        }
        if (!any) return;
    }
}

/// The highest part comes down half of the way to the target, and half again, until time is up or
/// what is left of the way was in vain.
void approach(std::vector<Open>& parts, std::int64_t target, Clock::time_point until) {
    const auto higher = [](const Open& a, const Open& b) { return a.peak < b.peak; };
    std::vector<std::int64_t> vain(parts.size(), target);  // so low, or lower, was tried
    while (Clock::now() < until) {
        const auto top = std::max_element(parts.begin(), parts.end(), higher);
        std::int64_t& low = vain[static_cast<std::size_t>(top - parts.begin())];
        low = std::max(low, top->low - 1);
        if (top->peak <= low + 1) return;
        const std::int64_t tried = low + (top->peak - low) / 2;
        const auto now = Clock::now();
        if (top->improve(tried, now + (until - now) / 4) == Outcome::given_up) low = tried;
    }
}

}  // namespace

std::int64_t most_alive(std::span<const Lifetime> buffers) {
    std::int64_t out = 0;
    for (const Numbered& numbered : parts_of(buffers, 1)) out = std::max(out, numbered.part.bound);
    return out;
}

Packing pack(std::span<const Lifetime> buffers, const PackingOptions& options) {
    const auto start = Clock::now();
    check(buffers, options);
    const std::vector<Numbered> parts = parts_of(buffers, options.alignment);
    Packing out;
    out.offsets.assign(buffers.size(), 0);
    for (const Numbered& numbered : parts) out.bound = std::max(out.bound, numbered.part.bound);
    const std::int64_t target = std::max(out.bound, options.capacity.value_or(0));
    // A little before its end, as what is begun takes a moment to stop.
    const std::chrono::duration<double> time(std::min(options.seconds, 1e8) * 0.99);
    const auto until = options.seconds > 0
                           ? start + std::chrono::duration_cast<Clock::duration>(time)
                           : Clock::time_point::max();
    std::vector<Open> open;
    for (const Numbered& numbered : parts) {
        open.emplace_back(numbered.part, packing::pack_in_order(numbered.part, target, until));
        out.greedy_peak = std::max(out.greedy_peak, open.back().peak);
    }
    if (options.seconds > 0 && out.greedy_peak > target) {
        const auto rest = until - Clock::now();
        reach(open, target, until - rest * 3 / 8);
        approach(open, target, until - rest / 4);
        reach(open, target, until);
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
        for (std::size_t k = 0; k < parts[p].numbers.size(); ++k)
            out.offsets[parts[p].numbers[k]] = open[p].offsets[k];
        out.peak = std::max(out.peak, open[p].peak);
    }
    out.method = out.peak < out.greedy_peak ? "search" : "orders";
    out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return out;
}

}  // namespace lazuli::plan
