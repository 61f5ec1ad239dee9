// Checkpoints: a training goes on as if it had not been stopped.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "child.h"
#include "fixture.h"
#include "folder.h"
#include "lazuli/lazuli.h"
#include "long_option.h"
#include "resumed.h"

namespace lazuli {
namespace {

using testing::HasSubstr;
using tests::Child;
using tests::Folder;
using tests::read_text;
using tests::Training;

/// The bytes of all tensors of a checkpoint.
std::map<std::string, std::string> in_file(const std::string& path) {
    return tests::bits(SafetensorsFile::open(path).tensors());
}

class Checkpoint : public testing::TestWithParam<std::string> {};

TEST_P(Checkpoint, GoesOnBitForBit) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    Training one(GetParam(), 1);
    one.run(4);
    one.save(path);
    const std::string saved = read_text(path);
    const std::vector<float> losses = one.run(6);
    Training other(GetParam(), 2);  // other weights, and steps of its own
    other.run(1);
    other.load(path);
    EXPECT_EQ(other.step.calls(), 4);
    EXPECT_EQ(other.optimizer->count(), 4);
    EXPECT_EQ(other.run(6), losses);
    EXPECT_EQ(other.all(), one.all());
    EXPECT_EQ(read_text(path), saved) << "training wrote into the file";
}

TEST_P(Checkpoint, GoesOnWithOtherThreads) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    Training one(GetParam(), 1);
    one.run(3);
    one.save(path);
    one.run(5);
    std::vector<std::string> counts{"1"};
    if (tests::long_run) counts.insert(counts.end(), {"2", "3", "8"});
    for (const std::string& threads : counts) {
        const std::string own = folder / threads;
        std::filesystem::copy_file(path, own);
        Child child({tests::kGoOn, own, GetParam(), "5"},
                    {fmt::format("LAZULI_NUM_THREADS={}", threads)});
        child.wait();
        EXPECT_EQ(in_file(own), one.all()) << threads << " threads";
    }
}

TEST_P(Checkpoint, IsOfStepsThatArePlannedOnce) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    Training one(GetParam(), 1, {.clip_norm = 1, .clip_value = 0.5, .seed = 5});
    one.run(1);
    const std::uint64_t planned = cache_stats().misses;
    one.run(6);  // rates, dropout and counts change
    EXPECT_EQ(cache_stats().misses, planned);
    one.save(path);
    Training other(GetParam(), 2, {.clip_norm = 1, .clip_value = 0.5, .seed = 5});
    other.load(path);
    const std::uint64_t before = cache_stats().misses;
    other.run(3);
    EXPECT_EQ(cache_stats().misses, before) << "a training that goes on is planned anew";
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Checkpoint,
                         testing::Values("sgd", "adamw", "adafactor", "muon"),
                         [](const auto& test) { return test.param; });

TEST(Checkpoints, StopBetweenTheCallsOfAnUpdate) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    const train::StepOptions options{.accumulate = 3, .seed = 5};
    Training one("adamw", 1, options);
    one.run(5);  // an update, and two thirds of another
    EXPECT_EQ(one.optimizer->count(), 1);
    one.save(path);
    const std::vector<float> losses = one.run(5);
    Training other("adamw", 2, options);
    other.load(path);
    EXPECT_EQ(other.run(5), losses);
    EXPECT_EQ(other.all(), one.all());
    // A step that does not average has no place for the sums.
    Training plain("adamw", 3);
    const auto before = plain.all();
    EXPECT_THROW(plain.load(path), ArgumentError);
    EXPECT_EQ(plain.all(), before);
    plain.save(path);
    const auto after = one.all();
    EXPECT_THROW(one.load(path), ArgumentError);
    EXPECT_EQ(one.all(), after);
}

TEST(Checkpoints, KeepTexts) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    Training one("sgd");
    train::save_checkpoint(path, one.model, *one.optimizer, one.step, {{"epoch", "3"}});
    const auto notes = train::load_checkpoint(path, one.model, *one.optimizer, one.step);
    EXPECT_EQ(notes.at("epoch"), "3");
}

TEST(Checkpoints, OfOthersAreRefused) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    nn::Sequential model(nn::Linear(3, 2), nn::LayerNorm(2));
    optim::AdamW optimizer;
    train::Step step(model, optimizer, [&](const auto& batch) { return sum(model(batch[0])); });
    train::save_checkpoint(path, model, optimizer, step);
    Training mine("adamw");
    mine.run(2);
    const auto before = mine.all();
    try {
        mine.load(path);
        FAIL() << "another model's checkpoint was taken";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), HasSubstr("1.running_mean"));
        EXPECT_THAT(e.what(), HasSubstr("4.weight"));
    }
    EXPECT_EQ(mine.all(), before);
    Training sgd("sgd");
    sgd.save(path);
    try {
        mine.load(path);
        FAIL() << "another optimiser's state was taken";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), HasSubstr("square/0.weight"));
    }
    EXPECT_EQ(mine.all(), before);
    mine.model.save_file(path);
    EXPECT_THROW(mine.load(path), FileError);
    EXPECT_THROW(mine.load(folder / "missing"), FileError);
    EXPECT_EQ(mine.all(), before);
}

TEST(Checkpoints, ThatDoNotFitLeaveAllAsItWas) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    Training undisturbed("adamw");
    Training one("adamw");
    one.run(2);
    one.save(path);
    one.run(2);
    const std::string saved = read_text(path);
    const auto before = one.all();
    {
        const tests::FileSizeLimit limit(10000);
        EXPECT_THROW(one.save(path), FileError);
    }
    EXPECT_EQ(read_text(path), saved);
    EXPECT_EQ(folder.count(), 1);
    EXPECT_EQ(one.all(), before);
    undisturbed.run(4);
    EXPECT_EQ(one.run(3), undisturbed.run(3));
    Training other("adamw", 2);
    other.load(path);
    EXPECT_EQ(other.step.calls(), 2);
}

/// How long a step and its checkpoint take.
std::chrono::microseconds step_and_save(const std::string& path) {
    using Clock = std::chrono::steady_clock;
    Training training("adamw");
    training.run(1);
    const auto start = Clock::now();
    for (int i = 0; i < 4; ++i) {
        training.run(1);
        training.save(path);
    }
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start) / 4;
}

TEST(Checkpoints, SurviveBeingKilled) {
    const Folder folder;
    const Folder kernels;  // what is compiled is kept for the next process
    const std::string path = folder / "run.safetensors";
    const auto once = step_and_save(kernels / "other.safetensors");
    const int kills = tests::count(6, 200);
    std::mt19937_64 random(tests::seed);
    Training undisturbed("adamw");
    for (int i = 0; i < kills && !HasFailure(); ++i) {
        {
            Child child({tests::kTrainForever, path},
                        {"LAZULI_CACHE=1", "LAZULI_CACHE_DIR=" + kernels.path().string(),
                         "LAZULI_QUICK_START=0"});
            child.wait_for_output();
            std::this_thread::sleep_for(once * static_cast<int>(random() % 6000) / 1000);
        }
        const SafetensorsFile file = SafetensorsFile::open(path);
        const std::int64_t calls = std::stoll(file.metadata().at("calls"));
        ASSERT_GT(calls, undisturbed.step.calls());
        undisturbed.run(static_cast<int>(calls - undisturbed.step.calls()));
        EXPECT_TRUE(tests::bits(file.tensors()) == undisturbed.all()) << "step " << calls;
    }
    fmt::print(
        "checkpoints: {} kills while training, {} of them while writing; {} steps, all as if "
        "undisturbed\n",
        kills, folder.count() - 1, undisturbed.step.calls());
}

TEST(Checkpoints, KeepNarrowWeightsAndTheLossScale) {
    const Folder folder;
    const std::string path = folder / "run.safetensors";
    const train::StepOptions options{
        .clip_norm = 1, .seed = 5, .loss_scale = train::LossScale{.first = 1e7, .after = 3}};
    struct Narrow {
        nn::Gpt model;
        optim::AdamW optimizer{{.lr = 1e-2}};
        train::Step step;
        Narrow(std::uint64_t seed, const train::StepOptions& options)
            : model(drawn(seed)),
              step(
                  model, optimizer,
                  [this](const auto& batch) { return model.loss(batch[0], batch[0]); }, options) {}
        static nn::Gpt drawn(std::uint64_t seed) {
            const SeedScope scope(seed);
            nn::Gpt out({.vocabulary = 9,
                         .context = 8,
                         .width = 8,
                         .layers = 1,
                         .heads = 2,
                         .dropout = 0.1,
                         .dtype = f16});
            for (const auto& [name, tensor] : out.state()) tensor.eval();
            return out;
        }
        std::vector<float> run(int steps) {
            std::vector<float> losses;
            for (int i = 0; i < steps; ++i)
                losses.push_back(step({randint(key(7), 0, 9, {2, 8}).eval()}).loss.item<float>());
            return losses;
        }
    };
    Narrow one(1, options);
    one.run(12);
    EXPECT_LT(one.optimizer.count(), 12) << "nothing was skipped";
    EXPECT_GT(one.optimizer.count(), 0);
    train::save_checkpoint(path, one.model, one.optimizer, one.step);
    Narrow other(2, options);
    train::load_checkpoint(path, other.model, other.optimizer, other.step);
    EXPECT_EQ(other.step.loss_scale(), one.step.loss_scale());
    EXPECT_EQ(other.run(6), one.run(6));
    EXPECT_EQ(other.step.loss_scale(), one.step.loss_scale());
    EXPECT_EQ(tests::bits(other.model.state()), tests::bits(one.model.state()));
    EXPECT_EQ(tests::bits(other.optimizer.state()), tests::bits(one.optimizer.state()));
}

}  // namespace
}  // namespace lazuli
