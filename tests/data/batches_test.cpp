// The order of examples: what `Batches` promises.

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "lazuli/data.h"
#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "long_option.h"
#include "messages.h"
#include "random.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

std::vector<std::int64_t> epoch_of(const Batches& batches, std::int64_t epoch) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < batches.per_epoch(); ++i) {
        const auto batch = batches.at(epoch * batches.per_epoch() + i);
        out.insert(out.end(), batch.begin(), batch.end());
    }
    return out;
}

TEST(Batches, WithoutAKeyComeInOrder) {
    const Batches batches(7, {.size = 3});
    EXPECT_EQ(batches.examples(), 7);
    EXPECT_EQ(batches.per_epoch(), 2);
    EXPECT_THAT(batches.at(0), ElementsAre(0, 1, 2));
    EXPECT_THAT(batches.at(1), ElementsAre(3, 4, 5));
    EXPECT_THAT(batches.at(2), ElementsAre(0, 1, 2));
}

TEST(Batches, MayKeepTheRest) {
    const Batches batches(7, {.size = 3, .keep_rest = true});
    EXPECT_EQ(batches.per_epoch(), 3);
    EXPECT_THAT(batches.at(2), ElementsAre(6));
    EXPECT_THAT(batches.at(3), ElementsAre(0, 1, 2));
    EXPECT_EQ(Batches(6, {.size = 3, .keep_rest = true}).per_epoch(), 2);
    EXPECT_THAT(Batches(2, {.size = 3, .keep_rest = true}).at(5), ElementsAre(0, 1));
}

TEST(Batches, HaveEachExampleOnceAnEpoch) {
    tests::Random random(tests::seed);
    for (int i = 0; i < tests::count(200, 5000); ++i) {
        const std::int64_t examples = random.between(1, 300);
        const std::int64_t size = random.between(1, examples);
        const bool keep_rest = random.one_in(2);
        const Batches batches(examples,
                              {.size = size, .key = key(random.next()), .keep_rest = keep_rest});
        auto all = epoch_of(batches, random.between(0, 1000));
        std::ranges::sort(all);
        EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
        EXPECT_EQ(std::ssize(all), keep_rest ? examples : examples / size * size);
        EXPECT_GE(all.front(), 0);
        EXPECT_LT(all.back(), examples);
    }
}

TEST(Batches, OfTheNextEpochHaveAnotherOrder) {
    const Batches batches(1000, {.size = 10, .key = key(7)});
    EXPECT_EQ(batches.epoch(99), 0);
    EXPECT_EQ(batches.epoch(100), 1);
    const auto first = epoch_of(batches, 0);
    const auto second = epoch_of(batches, 1);
    EXPECT_NE(first, second);
    EXPECT_EQ(first, epoch_of(Batches(1000, {.size = 50, .key = key(7)}), 0));
    EXPECT_NE(first, epoch_of(Batches(1000, {.size = 10, .key = key(8)}), 0));
    std::vector<std::int64_t> in_order(1000);
    std::iota(in_order.begin(), in_order.end(), 0);
    EXPECT_NE(first, in_order);
}

TEST(Batches, AreTheSameOnEveryMachine) {
    const Batches batches(100, {.size = 5, .key = key(7)});
    EXPECT_THAT(batches.at(0), ElementsAre(15, 35, 39, 29, 20));
    EXPECT_THAT(batches.at(1'000'000'000'000), ElementsAre(98, 76, 73, 20, 78));
    EXPECT_THAT(Batches(5'000'000'000, {.size = 3, .key = key(7)}).at(2),
                ElementsAre(3106979875, 1242434072, 1910409946));
}

TEST(Batches, OfAStepDoNotDependOnThoseBefore) {
    const Batches walked(77, {.size = 8, .key = key(3)});
    std::vector<std::vector<std::int64_t>> all;
    for (std::int64_t step = 0; step < 100; ++step) all.push_back(walked.at(step));
    for (std::int64_t step = 99; step >= 0; --step) {
        const Batches anew(77, {.size = 8, .key = key(3)});
        EXPECT_EQ(anew.at(step), all[static_cast<std::size_t>(step)]);
    }
}

TEST(Batches, SayWhatIsWrong) {
    EXPECT_THAT(message_of([] { Batches(0); }), HasSubstr("Batches: there are 0 examples"));
    EXPECT_THAT(message_of([] { Batches(5, {.size = 0}); }),
                HasSubstr("Batches: 0 examples a batch"));
    EXPECT_THAT(message_of([] { Batches(5, {.size = 6}); }),
                HasSubstr("5 examples do not fill a batch of 6"));
    EXPECT_THAT(message_of([] { Batches(5, {.size = 2, .key = Tensor{1, 2}}); }),
                HasSubstr("a key is one number, u64[], not i32[2]; key(seed) makes one"));
    EXPECT_THROW(Batches(5, {.size = 2}).at(-1), IndexError);
    EXPECT_THROW(Batches(5, {.size = 2}).epoch(-1), IndexError);
}

}  // namespace
}  // namespace lazuli
