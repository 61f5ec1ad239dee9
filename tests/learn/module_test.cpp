// Modules: names, states, modes, tables.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "fixture.h"
#include "folder.h"
#include "lazuli/lazuli.h"
#include "long_option.h"

namespace lazuli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::bits;

/// As the header's example, with a part that may be missing and parts in a row.
struct Mlp : nn::Module {
    nn::Linear up{5, 4};
    nn::Linear down{4, 3, {.bias = false}};
    std::vector<nn::RmsNorm> norms;
    std::optional<nn::BatchNorm> last;
    void parts(nn::Parts& parts) override {
        parts("up", up)("down", down)("norms", norms)("last", last);
    }
    Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
};

std::vector<std::string> names_of(const NamedTensors& state) {
    std::vector<std::string> out;
    for (const auto& [name, tensor] : state) out.push_back(name);
    return out;
}

TEST(Modules, NameTheirTensors) {
    Mlp model;
    model.norms.assign(2, nn::RmsNorm(3));
    EXPECT_THAT(names_of(model.state()), ElementsAre("up.weight", "up.bias", "down.weight",
                                                     "norms.0.weight", "norms.1.weight"));
    model.last.emplace(3);
    EXPECT_EQ(model.parameters().size(), 7U);
    EXPECT_EQ(model.state().size(), 10U) << "with three buffers";
    EXPECT_EQ(model.count(), 20 + 4 + 12 + 3 + 3 + 3 + 3);
    EXPECT_EQ(model.kind(), "Mlp");
    std::vector<std::string> walked;
    nn::walk(model, {.module = [&](const std::string& name, nn::Module& module) {
                 walked.push_back(name + ":" + module.kind());
             }});
    EXPECT_THAT(walked,
                ElementsAre(":Mlp", "up:Linear(5, 4)", "down:Linear(4, 3, no bias)",
                            "norms.0:RmsNorm(3)", "norms.1:RmsNorm(3)", "last:BatchNorm(3)"));
}

TEST(Modules, TakeOverStates) {
    Mlp one;
    Mlp other;
    other.load(one.state());
    EXPECT_EQ(bits(other.state()), bits(one.state()));
    const tests::Folder folder;
    const std::string path = folder / "model.safetensors";
    one.save_file(path);
    Mlp third;
    third.load_file(path);
    EXPECT_EQ(bits(third.state()), bits(one.state()));
    // Floats of another type are cast.
    NamedTensors wide = one.state();
    for (auto& [name, tensor] : wide) tensor = tensor.cast(f64);
    third.load(wide);
    EXPECT_EQ(third.up.weight.dtype(), f32);
}

TEST(Modules, ListAllThatDoesNotFit) {
    Mlp model;
    const auto before = bits(model.state());
    NamedTensors state{{"up.weight", zeros({4, 5})}, {"up.wait", ones({1})}, {"x", ones({1})}};
    try {
        model.load(state);
        FAIL() << "names differ";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr("Mlp"), HasSubstr("missing: down.weight, up.bias"),
                                    HasSubstr("unknown: up.wait, x")));
    }
    EXPECT_EQ(bits(model.state()), before);
    NamedTensors wrong = model.state();
    wrong[0].second = zeros({4, 5});
    wrong[2].second = zeros({3, 5});
    try {
        model.load(wrong);
        FAIL() << "a shape differs";
    } catch (const ShapeError& e) {
        EXPECT_THAT(e.what(),
                    AllOf(HasSubstr("down.weight"), HasSubstr("[3, 4]"), HasSubstr("[3, 5]")));
    }
    wrong[2].second = zeros({3, 4}, i64);
    EXPECT_THROW(model.load(wrong), DTypeError);
    EXPECT_EQ(bits(model.state()), before);
    model.load(state, {.strict = false});
    EXPECT_EQ(tests::largest(model.up.weight), 0);
    EXPECT_EQ(bits(model.down.weight), before.at("down.weight"));
}

TEST(Modules, HaveAMode) {
    nn::Sequential model(nn::Linear(4, 4), nn::Dropout(0.5), nn::Sequential(nn::Dropout(0.5)));
    const Tensor x = ones({2, 4});
    EXPECT_TRUE(model.is_training());
    EXPECT_NE(bits(model(x)), bits(model(x)));
    model.train(false);
    EXPECT_FALSE(model.is_training());
    EXPECT_FALSE(model[2].is_training());
    EXPECT_EQ(bits(model(x)), bits(model[0](x)));
    model.train();
    EXPECT_TRUE(model[1].is_training());
    EXPECT_THROW(model[3], ArgumentError);
}

TEST(Modules, AreCopiedLikeValues) {
    nn::Sequential model(nn::Linear(4, 3), &relu, nn::Linear(3, 2));
    for (const auto& [name, tensor] : model.state()) tensor.eval();
    nn::Sequential copy = model;
    const auto address = [](nn::Sequential& of) { return of.state()[0].second.data<float>(); };
    EXPECT_EQ(address(copy), address(model)) << "copies share until one is trained";
    const auto before = bits(model.state());
    optim::Sgd optimizer({.lr = 0.5});
    train::Step step(copy, optimizer,
                     [&](const auto& batch) { return sum(square(copy(batch[0]))); });
    for (int i = 0; i < 3; ++i) (void)step({ones({2, 4}).eval()});
    EXPECT_EQ(bits(model.state()), before) << "the other was trained as well";
    EXPECT_NE(bits(copy.state()), before);
    model = copy;
    EXPECT_EQ(bits(model.state()), bits(copy.state()));
}

TEST(Modules, AreTrainedInPart) {
    nn::Sequential model(nn::Linear(4, 3), nn::LayerNorm(3), nn::Linear(3, 2));
    EXPECT_EQ(model.set_trainable("*", false), 6U);
    EXPECT_TRUE(model.trainable().empty());
    optim::Sgd optimizer({.lr = 0.5});
    const auto loss = [&](const std::vector<Tensor>& batch) {
        return sum(square(model(batch[0])));
    };
    EXPECT_THROW(train::Step(model, optimizer, loss), ArgumentError);
    EXPECT_EQ(model.set_trainable("?.bias", true), 3U);
    EXPECT_EQ(model.set_trainable("no*such", true), 0U);
    EXPECT_EQ(model.count(true), 3 + 3 + 2);
    const auto before = bits(model.state());
    train::Step step(model, optimizer, loss);
    (void)step({randn(key(1), {5, 4}).eval()});
    for (const auto& [name, tensor] : model.state()) {
        // The norm takes most of what the first bias does away.
        if (name == "0.bias") continue;
        EXPECT_EQ(bits(tensor) == before.at(name), name.ends_with("weight")) << name;
    }
}

TEST(Modules, AreCast) {
    Mlp model;
    model.last.emplace(3);
    model.cast(bf16);
    for (const auto& [name, tensor] : model.state())
        EXPECT_EQ(tensor.dtype(), name == "last.num_batches_tracked" ? i64 : bf16) << name;
    EXPECT_EQ(model(ones({2, 5}, bf16)).dtype(), bf16);
}

TEST(Modules, AreShownAsATable) {
    nn::Sequential model(nn::Linear(784, 512), &relu, nn::BatchNorm(512), nn::Dropout(0.1),
                         nn::Linear(512, 10, {.bias = false, .dtype = bf16}));
    model.set_trainable("4.*", false);
    EXPECT_EQ(model.summary(),
              R"(name                   kind                      shape          elements     memory
model                  Sequential
0                      Linear(784, 512)
0.weight               parameter                 f32[512, 784]   401,408  1605.6 KB
0.bias                 parameter                 f32[512]            512     2048 B
1                      Apply
2                      BatchNorm(512)
2.weight               parameter                 f32[512]            512     2048 B
2.bias                 parameter                 f32[512]            512     2048 B
2.running_mean         buffer                    f32[512]            512     2048 B
2.running_var          buffer                    f32[512]            512     2048 B
2.num_batches_tracked  buffer                    i64[]                 1        8 B
3                      Dropout(0.1)
4                      Linear(512, 10, no bias)
4.weight               frozen                    bf16[10, 512]     5,120    10.2 KB
408,064 parameters, 402,944 of them trained; 1626.1 KB
)");
}

/// The same by recursion.
bool plainly_matches(std::string_view pattern, std::string_view name) {
    if (pattern.empty()) return name.empty();
    if (pattern[0] == '*')
        return plainly_matches(pattern.substr(1), name) ||
               (!name.empty() && plainly_matches(pattern, name.substr(1)));
    return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
           plainly_matches(pattern.substr(1), name.substr(1));
}

TEST(Modules, MatchPatterns) {
    EXPECT_TRUE(nn::matches("*", ""));
    EXPECT_TRUE(nn::matches("blocks.*.weight", "blocks.0.up.weight"));
    EXPECT_FALSE(nn::matches("blocks.?.weight", "blocks.10.weight"));
    std::mt19937_64 random(tests::seed);
    const auto drawn = [&](std::string_view letters) {
        std::string out;
        const auto length = random() % 9;
        for (std::size_t i = 0; i < length; ++i) out += letters[random() % letters.size()];
        return out;
    };
    const int tries = tests::count(20000, 2000000);
    int matching = 0;
    for (int i = 0; i < tries; ++i) {
        const std::string pattern = drawn("ab.**?");
        const std::string name = drawn("ab.");
        const bool want = plainly_matches(pattern, name);
        matching += want ? 1 : 0;
        ASSERT_EQ(nn::matches(pattern, name), want) << pattern << " " << name;
    }
    fmt::print("patterns: {} names, {} of them match\n", tries, matching);
}

}  // namespace
}  // namespace lazuli
