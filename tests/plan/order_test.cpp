#include "plan/order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "lazuli/error.h"
#include "plan/order_parts.h"
#include "random.h"

namespace lazuli::plan {
namespace {

using tests::Random;
using Steps = std::vector<std::uint32_t>;

Steps as_given(const OrderProblem& problem) {
    Steps out(problem.steps.size());
    std::iota(out.begin(), out.end(), 0U);
    return out;
}

/// Builds a problem step by step.
struct Builder {
    OrderProblem problem;

    std::uint32_t value(std::int64_t bytes, bool kept = false) {
        problem.bytes.push_back(bytes);
        problem.kept.push_back(kept);
        return static_cast<std::uint32_t>(problem.bytes.size() - 1);
    }
    /// A step with one output.
    std::uint32_t step(Steps reads, std::int64_t bytes, std::int64_t scratch = 0) {
        const std::uint32_t out = value(bytes);
        problem.steps.push_back({std::move(reads), {out}, scratch, {}});
        return out;
    }
    /// The same, where the output may take the first input's place.
    std::uint32_t step_in_place(Steps reads, std::int64_t bytes) {
        const std::uint32_t input = reads.at(0);
        const std::uint32_t out = step(std::move(reads), bytes);
        problem.steps.back().in_place = {{input, out}};
        return out;
    }
    void keep(std::uint32_t v) { problem.kept[v] = true; }
};

// The oracle: what is alive is told from the rule as it is written, once for each set of steps that
// have run, and the best way to each set is found by going through all sets.

/// The bytes alive while a step runs behind those that are done.
std::int64_t alive_naively(const OrderProblem& p, const std::vector<bool>& done, std::size_t step) {
    const auto made_by = [&](std::uint32_t v) {
        for (std::size_t s = 0; s < p.steps.size(); ++s)
            if (std::ranges::count(p.steps[s].writes, v) != 0) return static_cast<int>(s);
        return -1;
    };
    const auto read_later = [&](std::uint32_t v, bool also_here) {
        for (std::size_t s = 0; s < p.steps.size(); ++s)
            if (!done[s] && (also_here || s != step) &&
                std::ranges::count(p.steps[s].reads, v) != 0)
                return true;
        return false;
    };
    std::int64_t out = 0;
    for (std::uint32_t v = 0; v < p.bytes.size(); ++v) {
        const int maker = made_by(v);
        if (maker < 0) continue;
        const bool is_output = maker == static_cast<int>(step);
        if (!done[static_cast<std::size_t>(maker)] && !is_output) continue;
        if (is_output || p.kept[v] || read_later(v, true)) out += p.bytes[v];
    }
    out += p.steps[step].scratch;
    std::vector<bool> used(p.bytes.size(), false);
    for (const auto& [input, output] : p.steps[step].in_place) {
        if (used[input] || used[output] || made_by(input) < 0 || p.kept[input] ||
            read_later(input, false) || p.bytes[output] > p.bytes[input])
            continue;
        used[input] = used[output] = true;
        out -= p.bytes[output];
    }
    return out;
}

std::int64_t best_peak(const OrderProblem& p) {
    const std::size_t n = p.steps.size();
    std::vector<std::uint32_t> before(n, 0);
    for (std::size_t s = 0; s < n; ++s)
        for (std::size_t t = 0; t < n; ++t)
            for (const std::uint32_t v : p.steps[t].writes)
                if (std::ranges::count(p.steps[s].reads, v) != 0) before[s] |= 1U << t;
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> best(std::size_t{1} << n, never);
    best[0] = 0;
    for (std::uint32_t set = 0; set < best.size(); ++set) {
        if (best[set] == never) continue;
        std::vector<bool> done(n);
        for (std::size_t s = 0; s < n; ++s) done[s] = ((set >> s) & 1U) != 0;
        for (std::size_t s = 0; s < n; ++s) {
            if (done[s] || (before[s] & ~set) != 0) continue;
            std::int64_t& next = best[set | (1U << s)];
            next = std::min(next, std::max(best[set], alive_naively(p, done, s)));
        }
    }
    return best.back();
}

/// The peak from lifetimes, for graphs too large for that.
std::int64_t peak_by_lifetimes(const OrderProblem& p, const Steps& order) {
    constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> made(p.bytes.size(), never);
    std::vector<std::size_t> last(p.bytes.size(), never);
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const std::uint32_t v : p.steps[order[i]].reads) last[v] = i;
        for (const std::uint32_t v : p.steps[order[i]].writes) made[v] = last[v] = i;
    }
    std::vector<std::int64_t> alive(order.size(), 0);
    for (std::size_t v = 0; v < p.bytes.size(); ++v)
        for (std::size_t i = made[v]; i < order.size() && (p.kept[v] || i <= last[v]); ++i)
            alive[i] += p.bytes[v];
    for (std::size_t i = 0; i < order.size(); ++i) {
        const OrderStep& step = p.steps[order[i]];
        alive[i] += step.scratch;
        Steps used;
        for (const auto& [input, output] : step.in_place) {
            if (made[input] == never || last[input] != i || p.kept[input] ||
                p.bytes[output] > p.bytes[input] || std::ranges::count(used, input) != 0 ||
                std::ranges::count(used, output) != 0)
                continue;
            used.insert(used.end(), {input, output});
            alive[i] -= p.bytes[output];
        }
    }
    return *std::ranges::max_element(alive);
}

/// A graph of `count` steps that read values made at most `reach` values before.
OrderProblem random_problem(Random& random, std::size_t count, std::size_t reach) {
    Builder b;
    const std::int64_t largest = random.one_in(2) ? 4 : 100;
    for (std::size_t i = 1 + random.below(3); i-- > 0;) b.value(random.between(1, largest));
    const std::size_t reads_at_most = 1 + random.below(3);
    for (std::size_t s = 0; s < count; ++s) {
        OrderStep step;
        const std::size_t values = b.problem.bytes.size();
        for (std::size_t r = random.below(reads_at_most + 1); r-- > 0;) {
            const auto v =
                static_cast<std::uint32_t>(values - 1 - random.below(std::min(values, reach)));
            if (std::ranges::count(step.reads, v) == 0) step.reads.push_back(v);
        }
        for (std::size_t w = random.one_in(4) ? random.below(4) : 1; w-- > 0;)
            step.writes.push_back(b.value(random.between(0, largest), random.one_in(8)));
        if (random.one_in(4)) step.scratch = random.between(1, largest);
        for (const std::uint32_t input : step.reads)
            for (const std::uint32_t output : step.writes)
                if (random.one_in(3)) step.in_place.emplace_back(input, output);
        b.problem.steps.push_back(std::move(step));
    }
    return b.problem;
}

void expect_valid(const OrderProblem& p, const Order& order) {
    ASSERT_EQ(order.steps.size(), p.steps.size());
    std::vector<int> position(p.steps.size(), -1);
    for (std::size_t i = 0; i < order.steps.size(); ++i) {
        ASSERT_LT(order.steps[i], p.steps.size());
        ASSERT_EQ(position[order.steps[i]], -1) << "twice";
        position[order.steps[i]] = static_cast<int>(i);
    }
    std::vector<int> made_at(p.bytes.size(), -1);
    for (std::size_t s = 0; s < p.steps.size(); ++s)
        for (const std::uint32_t v : p.steps[s].writes) made_at[v] = position[s];
    for (std::size_t s = 0; s < p.steps.size(); ++s)
        for (const std::uint32_t v : p.steps[s].reads) ASSERT_LT(made_at[v], position[s]);
    EXPECT_EQ(order.peak, peak_of(p, order.steps));
    EXPECT_EQ(order.given_peak, peak_of(p, as_given(p)));
    EXPECT_LE(order.peak, order.given_peak);
    EXPECT_LE(order.bound, order.peak);
    EXPECT_TRUE(order.peak < order.given_peak || order.steps == as_given(p));
}

TEST(Order, SmallGraphsAreOrderedAsWellAsCanBe) {
    const char* is_long = std::getenv("LAZULI_LONG");
    const int count = is_long != nullptr && std::string_view(is_long) == "1" ? 10'000 : 1'000;
    Random random(1);
    int optimal = 0;
    double worst = 1;
    for (int i = 0; i < count; ++i) {
        const OrderProblem p = random_problem(random, 1 + random.below(12), 2 + random.below(12));
        const Order order = order_steps(p);
        ASSERT_NO_FATAL_FAILURE(expect_valid(p, order)) << "graph " << i;
        ASSERT_EQ(order.peak, peak_by_lifetimes(p, order.steps)) << "graph " << i;
        const std::int64_t best = best_peak(p);
        ASSERT_LE(order.bound, best) << "graph " << i;
        ASSERT_GE(order.peak, best) << "graph " << i;
        optimal += order.peak == best ? 1 : 0;
        if (best > 0)
            worst = std::max(worst, static_cast<double>(order.peak) / static_cast<double>(best));
    }
    fmt::print("orders: {} graphs, optimal {:.2f} %, worst ratio {:.3f}\n", count,
               100.0 * optimal / count, worst);
    EXPECT_EQ(optimal, count);
}

TEST(Order, LargeGraphsAreOrderedValidly) {
    Random random(2);
    for (const std::size_t steps : {30U, 64U, 65U, 100U, 300U, 1000U, 3000U})
        for (const std::size_t reach : {6U, 20U, 200U}) {
            const OrderProblem p = random_problem(random, steps, reach);
            const Order order = order_steps(p);
            ASSERT_NO_FATAL_FAILURE(expect_valid(p, order)) << steps << " steps";
            EXPECT_EQ(order.peak, peak_by_lifetimes(p, order.steps)) << steps << " steps";
            EXPECT_EQ(order.given_peak, peak_by_lifetimes(p, as_given(p))) << steps << " steps";
            EXPECT_EQ(order_steps(p).steps, order.steps) << "the same again";
            ASSERT_NO_FATAL_FAILURE(expect_valid(p, order_steps(p, 0))) << "without a search";
        }
}

TEST(Order, NothingToOrder) {
    EXPECT_TRUE(order_steps({}).steps.empty());
    EXPECT_EQ(order_steps({}).peak, 0);
    const OrderProblem one{.bytes = {5, 7}, .kept = {true, false}, .steps = {{{0}, {1}, 3, {}}}};
    EXPECT_EQ(order_steps(one).peak, 10) << "the parameter costs nothing";
    EXPECT_EQ(order_steps(one).method, "given");
}

TEST(Order, AnOrderThatDoesNotWorkIsRefused) {
    const OrderProblem late{.bytes = {1, 1}, .kept = {}, .steps = {{{1}, {0}}, {{}, {1}}}};
    EXPECT_THROW(order_steps(late), InternalError);
    const OrderProblem twice{.bytes = {1}, .kept = {}, .steps = {{{}, {0}}, {{}, {0}}}};
    EXPECT_THROW(order_steps(twice), InternalError);
    const OrderProblem unknown{.bytes = {1}, .kept = {}, .steps = {{{}, {1}}}};
    EXPECT_THROW(order_steps(unknown), InternalError);
}

TEST(Order, AnOutputTakesTheInputsPlace) {
    /// The peak of two steps: one makes 8 bytes, the other reads them and makes `bytes`.
    const auto peak = [](std::int64_t bytes, bool is_kept) {
        Builder b;
        const auto x = b.step({}, 8);
        if (is_kept) b.keep(x);
        b.keep(b.step_in_place({x}, bytes));
        return peak_of(b.problem, as_given(b.problem));
    };
    EXPECT_EQ(peak(8, false), 8);
    EXPECT_EQ(peak(3, false), 8) << "in a part of the place";
    EXPECT_EQ(peak(9, false), 17) << "too large";
    EXPECT_EQ(peak(8, true), 16) << "the input is kept";

    Builder parameter;
    parameter.keep(parameter.step_in_place({parameter.value(8)}, 8));
    EXPECT_EQ(peak_of(parameter.problem, Steps{0}), 8) << "a parameter's place is not ours";
}

TEST(Order, APlaceIsTakenOnce) {
    Builder b;
    const auto x = b.step({}, 8);
    const auto y = b.step({}, 6);
    const auto first = b.value(4, true);
    const auto second = b.value(5, true);
    // The second output finds x taken; the third pair gives it y.
    b.problem.steps.push_back({{x, y}, {first, second}, 1, {{x, first}, {x, second}, {y, second}}});
    EXPECT_EQ(peak_of(b.problem, as_given(b.problem)), 8 + 6 + 1);
    b.problem.steps.back().in_place.pop_back();
    EXPECT_EQ(peak_of(b.problem, as_given(b.problem)), 8 + 6 + 5 + 1);
}

TEST(Order, OtherReadersRunBeforeThePlaceIsTaken) {
    Builder b;
    const auto x = b.step({}, 8);
    b.keep(b.step_in_place({x}, 8));
    b.keep(b.step({x}, 1));
    const Order order = order_steps(b.problem);
    EXPECT_EQ(order.given_peak, 8 + 8 + 1);
    EXPECT_EQ(order.peak, 8 + 1);
    EXPECT_EQ(order.steps, (Steps{0, 2, 1}));
    EXPECT_TRUE(order.is_optimal());
}

TEST(Order, StepsWithSeveralOutputs) {
    Builder b;
    const auto left = b.value(10);
    const auto right = b.value(20);
    const auto unread = b.value(5);
    b.problem.steps.push_back({{}, {left, right, unread}, 0, {}});
    const auto a = b.step({left}, 40);
    const auto c = b.step({right}, 30);
    b.keep(b.step({a}, 1));
    b.keep(b.step({c}, 1));
    const Order order = order_steps(b.problem);
    EXPECT_EQ(order.given_peak, 20 + 40 + 30);
    EXPECT_EQ(order.peak, 10 + 20 + 30) << "the right side first";
    EXPECT_EQ(order.steps, (Steps{0, 2, 4, 1, 3}));
    EXPECT_EQ(order.peak, best_peak(b.problem));
}

TEST(Order, AWideFanOutRunsBranchByBranch) {
    for (const std::int64_t branches : {4, 16, 500}) {
        Builder b;
        const auto x = b.step({}, 1);
        Steps large;
        Steps small;
        for (std::int64_t i = 0; i < branches; ++i) large.push_back(b.step({x}, 100));
        for (const std::uint32_t v : large) small.push_back(b.step({v}, 1));
        b.keep(b.step(small, 1));
        const Order order = order_steps(b.problem);
        EXPECT_EQ(order.given_peak, 1 + 100 * branches);
        // The last branch beside the others' results, and x or its own result.
        EXPECT_EQ(order.peak, (branches - 1) + 100 + 1);
    }
}

TEST(Order, AUNetMakesItsSkipsWhenTheyAreNeeded) {
    Builder b;
    Steps skips;
    std::uint32_t x = b.step({}, 64);
    for (const std::int64_t size : {16, 4, 1}) {
        skips.push_back(b.step({x}, 8 * size));  // twice what it is made of, and made too early
        x = b.step({x}, size, size == 1 ? 200 : 0);
    }
    for (const std::int64_t size : {4, 16, 64}) {
        const auto wide = b.step({x}, size);
        x = b.step_in_place({wide, skips.back()}, size);
        skips.pop_back();
    }
    b.keep(x);
    const Order order = order_steps(b.problem);
    EXPECT_EQ(order.given_peak, 128 + 32 + 8 + 4 + 1 + 200) << "at the bottom, beside the skips";
    EXPECT_EQ(order.peak, 64 + 16 + 4 + 1 + 200) << "beside what they are made of";
    EXPECT_TRUE(order.is_optimal());
}

TEST(Order, GradientsOfWeightsDoNotWait) {
    constexpr std::int64_t layers = 3000;
    Builder b;
    Steps activations{b.step({}, 8)};
    for (std::int64_t i = 0; i < layers; ++i)
        activations.push_back(b.step({activations.back()}, 8));
    Steps gradients{b.step({activations.back()}, 8)};
    for (std::int64_t i = 1; i < layers; ++i) gradients.push_back(b.step({gradients.back()}, 8));
    for (std::size_t i = 0; i < layers; ++i)
        b.keep(b.step({gradients[i], activations[layers - 1 - i]}, 2));
    const Order order = order_steps(b.problem);
    EXPECT_EQ(order.given_peak, 2 * 8 * layers + 2);
    EXPECT_EQ(order.peak, 8 * (layers + 1) + 8) << "all activations and the first gradient";
    EXPECT_TRUE(order.is_optimal());
}

TEST(Order, APieceOfStepsThatMayAllWait) {
    const ordering::Piece piece{.steps = {{.needs = 5, .leaves = 5}, {.needs = 11, .leaves = 1}}};
    std::int64_t effort = 100;
    const ordering::Found found = ordering::search_piece(piece, 11, 16, effort);
    EXPECT_EQ(found.order, (std::vector<std::uint8_t>{1, 0}));
    EXPECT_EQ(found.peak, 11);
}

/// Layers that are alike: each a few random steps between what comes in and what goes out.
OrderProblem layers_of(std::uint64_t seed, int count) {
    Builder b;
    std::uint32_t x = b.step({}, 4);
    for (int layer = 0; layer < count; ++layer) {
        Random random(seed);
        Steps values{x};
        std::vector<bool> is_read(1, true);
        for (int i = 0; i < 9; ++i) {
            const std::size_t read = random.below(values.size());
            values.push_back(b.step({values[read]}, random.between(1, 50)));
            is_read[read] = true;
            is_read.push_back(false);
        }
        Steps unread;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!is_read[i]) unread.push_back(values[i]);
        x = b.step(unread, 4);
    }
    b.keep(x);
    return b.problem;
}

TEST(Order, LayersAreOrderedOneByOne) {
    int searched = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const std::int64_t best = best_peak(layers_of(seed, 1));
        const OrderProblem p = layers_of(seed, 200);
        const Order order = order_steps(p);
        EXPECT_EQ(order.peak, best) << "seed " << seed;
        EXPECT_TRUE(order.is_optimal()) << "seed " << seed;
        ASSERT_NO_FATAL_FAILURE(expect_valid(p, order)) << "seed " << seed;
        searched += order.method == "search" ? 1 : 0;
    }
    EXPECT_GT(searched, 0) << "some need more than orders made in one go";
}

}  // namespace
}  // namespace lazuli::plan
