// That it is a permutation, one that looks like any, and the same on every machine.

#include "data/permutation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "long_option.h"

namespace lazuli::data {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> all_of(std::uint64_t size, std::uint64_t key) {
    const Permutation order(size, key);
    std::vector<std::uint64_t> out(size);
    for (std::uint64_t i = 0; i < size; ++i) out[i] = order(i);
    return out;
}

TEST(Permutation, IsOneForEverySize) {
    const std::uint64_t step = tests::kSanitized ? 101 : 1;
    for (std::uint64_t size = 1; size <= 5000; size += step) {
        std::vector<bool> seen(size, false);
        for (const std::uint64_t number : all_of(size, size * 31 + tests::seed)) {
            ASSERT_LT(number, size);
            ASSERT_FALSE(seen[number]) << number << " comes twice among " << size;
            seen[number] = true;
        }
    }
}

TEST(Permutation, TakesNoMemoryForBillions) {
    for (const std::uint64_t size :
         {(1ULL << 32) + 1, (1ULL << 40) - 3, (1ULL << 62) + 5, (1ULL << 63) - 1, ~0ULL >> 1}) {
        const Permutation order(size, 5);
        std::set<std::uint64_t> seen;
        for (std::uint64_t i = 0; i < 5000; ++i) {
            const std::uint64_t number = order(i % 2 == 0 ? i : size - i);
            EXPECT_LT(number, size);
            EXPECT_TRUE(seen.insert(number).second) << number;
        }
    }
}

// Numbers that a program in Python gave.
TEST(Permutation, IsTheSameOnEveryMachine) {
    EXPECT_THAT(all_of(10, 7), ElementsAre(7, 2, 0, 1, 3, 4, 8, 5, 9, 6));
    EXPECT_EQ(Permutation(1ULL << 40, 7)(123), 123045347656U);
}

/// How far counts are from equal ones, in standard deviations of what chance gives.
double surprise(const std::vector<double>& counts) {
    const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
    const double mean = n / static_cast<double>(counts.size());
    double chi = 0;
    for (const double count : counts) chi += (count - mean) * (count - mean) / mean;
    const double freedom = static_cast<double>(counts.size()) - 1;
    return (chi - freedom) / std::sqrt(2 * freedom);
}

// Small ones are where a network could miss some.
TEST(Permutation, EveryOrderOfAFewIsAsLikely) {
    for (std::uint64_t size = 2; size <= 6; ++size) {
        std::map<std::vector<std::uint64_t>, double> found;
        double orders = 1;
        for (std::uint64_t i = 2; i <= size; ++i) orders *= static_cast<double>(i);
        const auto keys = static_cast<std::uint64_t>(orders * 100);
        for (std::uint64_t key = 0; key < keys; ++key) ++found[all_of(size, key)];
        std::vector<double> counts;
        for (const auto& [order, count] : found) counts.push_back(count);
        counts.resize(static_cast<std::size_t>(orders), 0);
        EXPECT_LT(surprise(counts), 5) << size;
    }
}

// Where a number comes from says nothing of where it goes.
TEST(Permutation, Spreads) {
    constexpr std::size_t kParts = 16;
    for (const std::uint64_t size : {1000ULL, 4096ULL, 5000ULL}) {
        std::vector<double> cells(kParts * kParts);
        double neighbours = 0;  // that stay so
        constexpr std::uint64_t kKeys = 20;
        for (std::uint64_t key = 0; key < kKeys; ++key) {
            const auto order = all_of(size, key);
            for (std::uint64_t i = 0; i + 1 < size; ++i) {
                ++cells[i * kParts / size * kParts + order[i] * kParts / size];
                neighbours += order[i + 1] == order[i] + 1 || order[i] == order[i + 1] + 1 ? 1 : 0;
            }
        }
        EXPECT_LT(surprise(cells), 5) << size;
        EXPECT_LT(neighbours / kKeys, 2 + 3) << size;  // 2 of them by chance
    }
}

TEST(Permutation, OfAnotherKeyIsAnother) {
    const auto first = all_of(5000, 1);
    double same = 0;
    for (std::uint64_t key = 2; key < 12; ++key) {
        const auto other = all_of(5000, key);
        for (std::size_t i = 0; i < first.size(); ++i) same += first[i] == other[i] ? 1 : 0;
    }
    EXPECT_LT(same, 10 + 5 * 3.2);  // one a pair by chance
}

}  // namespace
}  // namespace lazuli::data
