// Adapters of low rank.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fixture.h"
#include "folder.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::apart;
using tests::bits;
using tests::Folder;

nn::Gpt drawn(std::uint64_t seed = 1, DType dtype = f32) {
    const SeedScope scope(seed);
    nn::Gpt model(
        {.vocabulary = 20, .context = 8, .width = 16, .layers = 2, .heads = 2, .dtype = dtype});
    for (const auto& [name, tensor] : model.state()) tensor.eval();
    return model;
}

std::vector<Tensor> batch() {
    return {randint(key(1), 0, 20, {3, 8}).eval(), randint(key(2), 0, 20, {3, 8}).eval()};
}

/// Steps of training; returns the last loss.
double train_some(nn::Gpt& model, int steps = 5) {
    optim::AdamW optimizer({.lr = 0.05, .weight_decay = 0.1});
    train::Step step(model, optimizer, [&](const std::vector<Tensor>& given) {
        return model.loss(given[0], given[1]);
    });
    const auto given = batch();
    double loss = 0;
    for (int i = 0; i < steps; ++i) loss = step(given).loss.item<double>();
    return loss;
}

bool is_adapter(const std::string& name) { return name.find(".lora.") != std::string::npos; }

TEST(Lora, TrainsAdaptersAlone) {
    nn::Gpt model = drawn();
    const Tensor tokens = batch()[0];
    const Tensor base = model(tokens).eval();
    const auto before = bits(model.state());
    const auto layers = nn::add_lora(
        model, {.layers = {"*.attention.query", "*.attention.value"}, .rank = 4, .alpha = 8});
    EXPECT_THAT(layers, ElementsAre("blocks.0.attention.query", "blocks.0.attention.value",
                                    "blocks.1.attention.query", "blocks.1.attention.value"));
    EXPECT_EQ(model.trainable().size(), 8U);
    for (const auto& [name, parameter] : model.trainable()) EXPECT_TRUE(is_adapter(name)) << name;
    EXPECT_EQ(model.count(true), 4 * (4 * 16 + 16 * 4));
    EXPECT_LE(apart(model(tokens), base), 1e-6) << "an adapter changes nothing at first";
    const double first = model.loss(tokens, batch()[1]).item<double>();
    EXPECT_LT(train_some(model), first);
    int trained = 0;
    for (const auto& [name, tensor] : model.state()) {
        if (is_adapter(name))
            trained += tests::largest(tensor) > 0 ? 1 : 0;
        else
            EXPECT_EQ(bits(tensor), before.at(name)) << name;
    }
    EXPECT_EQ(trained, 8);
    EXPECT_GT(apart(model(tokens), base), 1e-3);
}

TEST(Lora, MergesAndComesOutBitByBit) {
    nn::Gpt model = drawn();
    nn::add_lora(model, {.rank = 4});
    train_some(model);
    const Tensor tokens = batch()[0];
    const Tensor unmerged = model(tokens).eval();
    const auto before = bits(model.state());
    nn::merge_lora(model);
    EXPECT_NE(bits(model.head.weight), before.at("head.weight"));
    EXPECT_LE(apart(model(tokens), unmerged), 1e-5);
    nn::merge_lora(model);  // once is enough
    EXPECT_LE(apart(model(tokens), unmerged), 1e-5);
    nn::unmerge_lora(model);
    EXPECT_EQ(bits(model.state()), before);
    EXPECT_EQ(bits(model(tokens)), bits(unmerged));
    nn::add_lora(model, {.layers = {"head"}, .name = "spare"});
    nn::use_lora(model, "default");
    nn::merge_lora(model, false);
    EXPECT_LE(apart(model(tokens), unmerged), 1e-5);
    nn::remove_lora(model, "spare");  // one that is not merged can go
    const auto merged = bits(model.state());
    try {
        nn::unmerge_lora(model);
        FAIL() << "there is nothing to put back";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), HasSubstr("blocks.0.attention.query"));
    }
    EXPECT_THROW(nn::use_lora(model, ""), ArgumentError);
    EXPECT_THROW(nn::add_lora(model, {.name = "other"}), ArgumentError);
    EXPECT_EQ(bits(model.state()), merged);
    EXPECT_GT(model.trainable().size(), 0U) << "what failed changed what is trained";
}

TEST(Lora, MergesInTheTypeOfTheWeight) {
    const SeedScope scope(3);
    nn::Linear layer(6, 4, {.dtype = f64});
    nn::add_lora(layer, {.rank = 2, .alpha = 2});
    nn::Adapter& adapter = layer.adapters.at("default");
    adapter.up = randn({4, 2}, f64).eval();
    const Tensor want = (layer.weight + matmul(adapter.up, adapter.down)).eval();
    nn::merge_lora(layer);
    EXPECT_EQ(layer.weight.dtype(), f64);
    EXPECT_LE(apart(layer.weight, want), 1e-15);
}

TEST(Lora, SwapsAdapters) {
    nn::Gpt model = drawn();
    const Tensor tokens = batch()[0];
    const Tensor base = model(tokens).eval();
    nn::add_lora(model, {.layers = {"*.attention.*"}, .rank = 2, .name = "one"});
    train_some(model, 3);
    const Tensor one = model(tokens).eval();
    nn::add_lora(model, {.layers = {"*.feed_forward.*"}, .rank = 3, .name = "two"});
    EXPECT_LE(apart(model(tokens), base), 1e-6) << "two is in use, and changes nothing yet";
    for (const auto& [name, parameter] : model.trainable())
        EXPECT_THAT(name, HasSubstr(".lora.two.")) << name;
    train_some(model, 6);
    const Tensor two = model(tokens).eval();
    EXPECT_THAT(nn::lora_names(model), ElementsAre("one", "two"));
    const auto weights = bits(model.state());
    nn::use_lora(model, "one");
    EXPECT_EQ(bits(model(tokens)), bits(one));
    for (const auto& [name, parameter] : model.trainable())
        EXPECT_THAT(name, HasSubstr(".lora.one.")) << name;
    nn::use_lora(model, "");
    EXPECT_TRUE(model.trainable().empty());
    EXPECT_EQ(bits(model(tokens)), bits(base));
    nn::use_lora(model, "two");
    EXPECT_EQ(bits(model(tokens)), bits(two));
    EXPECT_GT(apart(one, two), 1e-3);
    // One that is merged is taken out before another is used.
    nn::merge_lora(model);
    nn::use_lora(model, "one");
    EXPECT_EQ(bits(model(tokens)), bits(one));
    EXPECT_EQ(bits(model.state()), weights);
    nn::remove_lora(model, "one");
    EXPECT_EQ(bits(model(tokens)), bits(base));
    EXPECT_THAT(nn::lora_names(model), ElementsAre("two"));
    try {
        nn::use_lora(model, "one");
        FAIL() << "it was taken away";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr("one"), HasSubstr("two")));
    }
}

TEST(Lora, IsSavedAndLoaded) {
    const Folder folder;
    const std::string path = folder / "adapter.safetensors";
    nn::Gpt model = drawn();
    const Tensor tokens = batch()[0];
    nn::add_lora(model, {.layers = {"*.attention.*", "head"}, .rank = 2, .alpha = 6});
    train_some(model);
    const Tensor with = model(tokens).eval();
    nn::save_lora(model, path);
    nn::Gpt other = drawn();
    nn::load_lora(other, path, "loaded");
    EXPECT_THAT(nn::lora_names(other), ElementsAre("loaded"));
    EXPECT_EQ(other.head.active, "loaded");
    EXPECT_EQ(bits(other(tokens)), bits(with));
    nn::load_lora(other, path, "loaded");  // in place of itself
    EXPECT_EQ(bits(other(tokens)), bits(with));
    // A model of another type takes the adapter in its own.
    nn::Gpt narrow = drawn(1, bf16);
    nn::load_lora(narrow, path);
    EXPECT_EQ(narrow.head.adapters.at("default").down.dtype(), bf16);
    EXPECT_EQ(narrow(tokens).dtype(), bf16);
}

TEST(Lora, ThatDoesNotFitIsRefused) {
    const Folder folder;
    const std::string path = folder / "adapter.safetensors";
    nn::Gpt model = drawn();
    try {
        nn::add_lora(model, {.layers = {"*.nothing"}});
        FAIL() << "nothing matches";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr("*.nothing"), HasSubstr("blocks.1.feed_forward.down"),
                                    HasSubstr("head")));
    }
    EXPECT_EQ(model.trainable().size(), model.parameters().size());
    EXPECT_THROW(nn::add_lora(model, {.rank = 0}), ArgumentError);
    EXPECT_THROW(nn::add_lora(model, {.dropout = 1}), ArgumentError);
    EXPECT_THROW(nn::add_lora(model, {.name = "a.b"}), ArgumentError);
    EXPECT_THROW(nn::add_lora(model, {.name = ""}), ArgumentError);
    nn::add_lora(model, {.layers = {"head"}});
    EXPECT_THROW(nn::add_lora(model, {.layers = {"head"}}), ArgumentError);
    EXPECT_THROW(nn::add_lora(model, {.layers = {"blocks.*"}}), ArgumentError)
        << "the name is taken, though by another layer";
    EXPECT_THROW(nn::save_lora(model, path, "other"), ArgumentError);
    EXPECT_THROW(nn::remove_lora(model, "other"), ArgumentError);
    nn::save_lora(model, path);
    nn::Linear alone(16, 20);
    const auto before = bits(alone.state());
    try {
        nn::load_lora(alone, path);
        FAIL() << "there is no head";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), HasSubstr("head"));
    }
    nn::Gpt wider({.vocabulary = 21, .context = 8, .width = 16, .layers = 1, .heads = 2});
    EXPECT_THROW(nn::load_lora(wider, path), ShapeError);
    EXPECT_TRUE(nn::lora_names(wider).empty());
    EXPECT_EQ(bits(alone.state()), before);
    EXPECT_THROW(nn::load_lora(model, path, "a.b"), ArgumentError);
    model.save_file(path);
    EXPECT_THROW(nn::load_lora(model, path), FileError);
}

TEST(Lora, DropsInputsInTraining) {
    nn::Linear layer(32, 4);
    nn::add_lora(layer, {.rank = 4, .dropout = 0.5});
    layer.adapters.at("default").up = ones({4, 4}).eval();
    const Tensor x = ones({2, 32});
    const auto run = [&](std::uint64_t seed) {
        const SeedScope scope(seed);
        return bits(layer(x));
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
    layer.train(false);
    EXPECT_EQ(run(1), run(2));
}

TEST(Lora, IsNamedInTheTable) {
    nn::Sequential model(nn::Linear(3, 4), nn::Linear(4, 2));
    nn::add_lora(model, {.layers = {"1"}, .rank = 2, .name = "fine"});
    EXPECT_THAT(model.summary(),
                AllOf(HasSubstr("Linear(4, 2, lora fine)"), HasSubstr("1.lora.fine.down"),
                      HasSubstr("frozen"), Not(HasSubstr("0.lora"))));
}

}  // namespace
}  // namespace lazuli
