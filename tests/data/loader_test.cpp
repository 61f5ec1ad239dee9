// Batches that are made on another thread.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "folder.h"
#include "lazuli/data.h"
#include "lazuli/factories.h"
#include "lazuli/memory.h"
#include "lazuli/ops.h"
#include "long_option.h"
#include "messages.h"

namespace lazuli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Folder;
using tests::message_of;
using tests::write_text;
using namespace std::chrono_literals;

std::int64_t number_of(const Batch& batch) { return batch.at(0).item<std::int64_t>(); }

Batch numbered(std::int64_t step) { return {Tensor(step)}; }

TEST(Loader, GivesTheBatchesOfTheOrder) {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 7);
    write_text(folder / "a", text);
    const Dataset data = Dataset::bytes(folder / "a", 8);
    const Batches order(data.size(), {.size = 16, .key = key(7)});
    for (const std::int64_t first : {0, 3, 100}) {
        Loader loader(data, order, {.first = first});
        for (std::int64_t step = first; step < first + 30; ++step) {
            EXPECT_EQ(loader.step(), step);
            const Batch batch = loader.next();
            const Batch wanted = data.batch(order.at(step));
            ASSERT_EQ(batch.size(), 2U);
            for (std::size_t i = 0; i < 2; ++i)
                EXPECT_EQ(batch[i].to_vector<std::int32_t>(), wanted[i].to_vector<std::int32_t>());
        }
    }
}

TEST(Loader, EvaluatesOnItsThread) {
    const Tensor x = arange(10);
    Loader loader([&](std::int64_t step) -> Batch { return {x + step, x * x}; });
    loader.next();
    const Batch batch = loader.next();
    EXPECT_TRUE(batch[0].is_materialized());
    EXPECT_TRUE(batch[1].is_materialized());
    EXPECT_EQ(batch[0].to_vector<std::int64_t>().at(9), 10);
}

/// Returns when a condition holds that another thread makes true; says whether it does.
template <class Condition>
bool wait_until(const Condition& condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) std::this_thread::sleep_for(1ms);
    return condition();
}

TEST(Loader, MakesSoManyAheadAndNoMore) {
    for (const std::int64_t ahead : {1, 2, 5}) {
        std::atomic<std::int64_t> made = 0;
        Loader loader(
            [&](std::int64_t step) {
                ++made;
                return numbered(step);
            },
            {.ahead = ahead});
        for (std::int64_t taken = 0; taken < 4; ++taken) {
            EXPECT_TRUE(wait_until([&] { return made >= taken + ahead; }));
            std::this_thread::sleep_for(2ms);
            EXPECT_EQ(made, taken + ahead);
            EXPECT_EQ(number_of(loader.next()), taken);
        }
    }
}

TEST(Loader, CountsTheWaits) {
    std::atomic<bool> open = false;
    std::atomic<std::int64_t> made = 0;
    Loader loader(
        [&](std::int64_t step) {
            wait_until([&] { return open.load(); });
            ++made;
            return numbered(step);
        },
        {.ahead = 4});
    std::thread opener([&] {  // somebody waits before there is a batch
        EXPECT_TRUE(wait_until([&] { return loader.waited().times == 1; }));
        std::this_thread::sleep_for(5ms);
        open = true;
    });
    loader.next();
    opener.join();
    const Waited waited = loader.waited();
    EXPECT_EQ(waited.times, 1);
    EXPECT_GE(waited.total, 5ms);
    // Whoever asks late does not wait. The last batch that was counted may be on its way still.
    EXPECT_TRUE(wait_until([&] { return made >= 5; }));
    for (int i = 0; i < 3; ++i) loader.next();
    EXPECT_EQ(loader.waited().times, 1);
    EXPECT_EQ(loader.waited().total, waited.total);
}

TEST(Loader, ThrowsWhatMakingABatchThrew) {
    Loader loader([](std::int64_t step) -> Batch {
        if (step == 3) throw FileError("a", "is gone");
        return numbered(step);
    });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(number_of(loader.next()), i);
    for (int i = 0; i < 3; ++i)
        EXPECT_THAT(message_of([&] { loader.next(); }), HasSubstr("a: is gone"));
    EXPECT_EQ(loader.step(), 3);
}

TEST(Loader, SaysThatAFileIsCutOff) {
    const Folder folder;
    write_text(folder / "a", std::string(10'000, 'x'));
    const Dataset data = Dataset::bytes(folder / "a", 16);
    Loader loader(data, Batches(data.size(), {.size = 8, .key = key(1)}));
    loader.next();
    std::filesystem::resize_file(folder / "a", 10);
    EXPECT_THAT(message_of([&] {
                    for (int i = 0; i < 100; ++i) loader.next();
                }),
                HasSubstr("a: is cut off"));
}

TEST(Loader, ErrorsOfEvaluationAreThrownToo) {
    Loader loader([](std::int64_t) -> Batch { return {Tensor()}; });
    EXPECT_THROW(loader.next(), ArgumentError);
    Loader nothing([](std::int64_t) -> Batch { return {}; });
    EXPECT_TRUE(nothing.next().empty());
}

TEST(Loader, MayBeDroppedAtAnyMoment) {
    const Dataset data = Dataset::arrays({arange(100)});
    const Batches order(100, {.size = 10, .key = key(3)});
    const int rounds = tests::count(1000, 20'000);
    const std::uint64_t before = memory_stats().bytes;
    for (int i = 0; i < rounds; ++i) {
        Loader loader(data, order, {.first = i, .ahead = 1 + i % 4});
        for (int taken = 0; taken < i % 5; ++taken) loader.next();
        if (i % 7 == 0) std::this_thread::yield();
    }
    EXPECT_EQ(memory_stats().bytes, before);
}

TEST(Loader, MayBeMoved) {
    Loader first(numbered);
    EXPECT_EQ(number_of(first.next()), 0);
    Loader second = std::move(first);
    EXPECT_EQ(number_of(second.next()), 1);
    EXPECT_THAT(message_of([&] { first.next(); }),
                HasSubstr("Loader::next: it was moved to another loader"));
    second = Loader(numbered, {.first = 9});
    EXPECT_EQ(number_of(second.next()), 9);
}

TEST(Loader, GivesThreadsBatchesOfTheirOwn) {
    Loader loader(numbered);
    std::mutex mutex;
    std::set<std::int64_t> seen;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                const std::int64_t number = number_of(loader.next());
                const std::scoped_lock lock(mutex);
                EXPECT_TRUE(seen.insert(number).second);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(seen.size(), 200U);
    EXPECT_EQ(*seen.rbegin(), 199);
    EXPECT_EQ(loader.step(), 200);
}

TEST(Loader, SeveralShareADataset) {
    const Dataset data = Dataset::arrays({arange(64), ones({64, 8})});
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
        threads.emplace_back([&data, t] {
            const Batches order(64, {.size = 8, .key = key(t)});
            Loader loader(data, order);
            for (std::int64_t step = 0; step < 40; ++step) {
                const Batch batch = loader.next();
                EXPECT_EQ(batch[0].to_vector<std::int64_t>(), order.at(step));
                EXPECT_EQ(sum(batch[1]).item<float>(), 64);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(Loader, BelongsToItsProcess) {
    if (tests::kSanitized) GTEST_SKIP() << "sanitizers do not like forks among threads";
    const Dataset data = Dataset::arrays({arange(1000)});
    auto loader = std::make_unique<Loader>(data, Batches(1000, {.size = 10}));
    const pid_t child = fork();
    if (child == 0) {
        const bool refused =
            message_of([&] { loader->next(); }).find("was forked") != std::string::npos;
        loader.reset();
        Loader own(data, Batches(1000, {.size = 10}));
        _exit(refused && own.next()[0].to_vector<std::int64_t>().at(9) == 9 ? 0 : 1);
    }
    int status = -1;
    for (int i = 0; i < 1000; ++i) {  // one that hangs is not waited for
        if (waitpid(child, &status, WNOHANG) == child) break;
        std::this_thread::sleep_for(10ms);
        if (i == 999) kill(child, SIGKILL);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(loader->next()[0].size(0), 10);
}

TEST(Loader, SaysWhatIsWrong) {
    const Dataset data = Dataset::arrays({arange(10)});
    EXPECT_THAT(message_of([&] { Loader(data, Batches(11, {.size = 2})); }),
                HasSubstr("Loader: the dataset has 10 examples, and the order is one of 11"));
    EXPECT_THAT(message_of([] { Loader(numbered, {.first = -1}); }),
                HasSubstr("Loader: there is no step -1"));
    EXPECT_THAT(message_of([] { Loader(numbered, {.ahead = 0}); }),
                HasSubstr("Loader: 0 batches ahead"));
}

}  // namespace
}  // namespace lazuli
