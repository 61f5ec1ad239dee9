// Layers and losses, beside PyTorch's: results, and gradients of inputs and parameters.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>

#include "fixture.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using nlohmann::json;
using tests::Fixture;
using tests::relatively_apart;

constexpr double kBound = 1e-5;

using Named = std::map<std::string, Tensor>;
using Call = std::function<Named(const Named& inputs)>;

/// A layer of a case, and how it is called. Losses have no layer.
struct Built {
    std::unique_ptr<nn::Module> module;
    Call call;
};

Ints list(const json& numbers) {
    Ints out;
    for (const std::int64_t number : numbers) out.push_back(number);
    return out;
}

/// A layer of one tensor.
template <class L>
Built one(L made) {
    auto layer = std::make_unique<L>(std::move(made));
    const L& l = *layer;
    return {std::move(layer),
            [&l](const Named& inputs) { return Named{{"output", l(inputs.at("input"))}}; }};
}

Built batch_norm_of(const json& o) {
    auto layer = std::make_unique<nn::BatchNorm>(
        o.at("num_features"),
        nn::BatchNormOptions{.eps = o.at("eps"), .momentum = o.at("momentum")});
    layer->train(o.at("training"));
    const nn::BatchNorm& l = *layer;
    return {std::move(layer), [&l](const Named& inputs) {
                Named out;
                for (const auto& [name, x] : inputs) out[name == "input" ? "output" : name] = l(x);
                return out;
            }};
}

nn::ConvOptions conv_options(const json& o) {
    return {.stride = list(o.at("stride")),
            .padding = list(o.at("padding")),
            .dilation = list(o.at("dilation")),
            .groups = o.at("groups"),
            .bias = o.at("bias")};
}

Built attention_of(const json& o) {
    auto layer = std::make_unique<nn::MultiHeadAttention>(nn::AttentionOptions{
        .width = o.at("width"), .heads = o.at("heads"), .causal = o.at("causal")});
    const nn::MultiHeadAttention& l = *layer;
    return {std::move(layer), [&l](const Named& inputs) {
                const Tensor& x = inputs.at("query");
                const Tensor context = inputs.contains("memory") ? inputs.at("memory") : x;
                const Tensor mask = inputs.contains("mask") ? inputs.at("mask") : Tensor();
                return Named{{"output", l.attend(x, context, mask)}};
            }};
}

template <class L>
Built recurrent_of(const json& o) {
    auto layer = std::make_unique<L>(o.at("input_size"), o.at("hidden_size"));
    const L& l = *layer;
    return {std::move(layer), [&l](const Named& inputs) {
                const auto state = [&](const char* name) {
                    return inputs.contains(name) ? inputs.at(name) : Tensor();
                };
                const nn::Recurrent run = l.run(inputs.at("input"), state("h0"), state("c0"));
                Named out{{"output", run.output}, {"h_n", run.hidden}};
                if (run.cell.defined()) out["c_n"] = run.cell;
                return out;
            }};
}

/// A layer of a kind; nothing for those that this is no layer of.
Built layer_of(const std::string& kind, const json& o) {
    if (kind == "Linear")
        return one(nn::Linear(o.at("in_features"), o.at("out_features"), {.bias = o.at("bias")}));
    if (kind == "Embedding")
        return one(nn::Embedding(o.at("num_embeddings"), o.at("embedding_dim")));
    if (kind == "LayerNorm" && o.at("normalized_shape").size() == 1)
        return one(nn::LayerNorm(o.at("normalized_shape")[0], o.at("eps")));
    if (kind == "RMSNorm") return one(nn::RmsNorm(o.at("normalized_shape")[0], o.at("eps")));
    if (kind == "GroupNorm")
        return one(nn::GroupNorm(o.at("num_groups"), o.at("num_channels"), o.at("eps")));
    if (kind.starts_with("BatchNorm")) return batch_norm_of(o);
    if (kind == "Conv1d")
        return one(nn::Conv1d(o.at("in_channels"), o.at("out_channels"), o.at("kernel_size")[0],
                              conv_options(o)));
    if (kind == "Conv2d")
        return one(nn::Conv2d(o.at("in_channels"), o.at("out_channels"), list(o.at("kernel_size")),
                              conv_options(o)));
    const auto pool = [&] {
        return nn::PoolOptions{.strides = list(o.at("stride")), .padding = list(o.at("padding"))};
    };
    if (kind == "MaxPool2d") return one(nn::MaxPool(list(o.at("kernel_size")), pool()));
    if (kind == "AvgPool2d" && o.value("count_include_pad", true))
        return one(nn::AvgPool(list(o.at("kernel_size")), pool()));
    if (kind == "MultiHeadAttention") return attention_of(o);
    if (kind == "GRU") return recurrent_of<nn::Gru>(o);
    if (kind == "LSTM") return recurrent_of<nn::Lstm>(o);
    return {};
}

nn::Reduction reduction_of(const json& o) {
    const std::string name = o.at("reduction");
    return name == "mean"  ? nn::Reduction::mean
           : name == "sum" ? nn::Reduction::sum
                           : nn::Reduction::none;
}

Tensor kl_of(const json& o, const Tensor& x, const Tensor& y) {
    const bool batch_mean = o.at("reduction") == "batchmean";
    return nn::kl_divergence(x, y,
                             {.log_target = o.at("log_target"),
                              .batch_mean = batch_mean,
                              .reduction = batch_mean ? nn::Reduction::mean : reduction_of(o)});
}

Tensor cross_entropy_of(const json& o, const Tensor& x, const Tensor& y) {
    // Classes are PyTorch's axis 1, and the last one here.
    return nn::cross_entropy(x.rank() == 3 ? x.transpose(1, 2) : x, y,
                             {.label_smoothing = o.value("label_smoothing", 0.0),
                              .ignore_index = o.value("ignore_index", -100),
                              .reduction = reduction_of(o)});
}

/// A loss of a kind; nothing where there is no such loss.
Call loss_of(const std::string& kind, const json& o) {
    using Pairs = std::function<Tensor(const Tensor& x, const Tensor& target, const Named& all)>;
    const std::map<std::string, Pairs> losses = {
        {"cross_entropy", [o](auto& x, auto& y, auto&) { return cross_entropy_of(o, x, y); }},
        {"mse", [o](auto& x, auto& y, auto&) { return nn::mse_loss(x, y, reduction_of(o)); }},
        {"l1", [o](auto& x, auto& y, auto&) { return nn::l1_loss(x, y, reduction_of(o)); }},
        {"huber", [o](auto& x, auto& y,
                      auto&) { return nn::huber_loss(x, y, o.at("delta"), reduction_of(o)); }},
        {"bce",
         [o](auto& x, auto& y, auto&) { return nn::binary_cross_entropy(x, y, reduction_of(o)); }},
        {"bce_with_logits",
         [o](auto& x, auto& y, auto& all) {
             return nn::binary_cross_entropy_with_logits(
                 x, y, all.contains("pos_weight") ? all.at("pos_weight") : Tensor(),
                 reduction_of(o));
         }},
        {"kl_div", [o](auto& x, auto& y, auto&) { return kl_of(o, x, y); }},
    };
    const auto found = losses.find(kind);
    if (found == losses.end()) return {};
    return [loss = found->second](const Named& inputs) {
        return Named{{"loss", loss(inputs.at("input"), inputs.at("target"), inputs)}};
    };
}

/// What ours lack, and why.
const std::map<std::string, std::string> kMissing = {
    {"layer_norm_2d", "LayerNorm is over one axis"},
    {"avg_pool2d_uncounted", "AvgPool counts the padding"},
    {"cross_entropy_weighted", "cross_entropy has no weights of classes"},
};

/// One case: the tensors of its groups, and what ours makes of them.
class Case {
   public:
    Case(const Fixture& fixture, const json& described, Built built)
        : fixture_(fixture), described_(described), built_(std::move(built)) {}

    /// The greatest difference of anything.
    double compare() {
        const Named inputs = group("inputs");
        const Named constants = group("constants");
        if (built_.module) load();
        std::vector<std::string> names;
        std::vector<Tensor> values;
        for (const auto& [name, gradient] : group("gradients")) {
            names.push_back(name);
            values.push_back(inputs.contains(name) ? inputs.at(name) : *place(name));
        }
        std::map<std::string, Tensor> made;
        const ValueAndGrad slopes = value_and_grad_of(
            [&](const std::vector<Tensor>& arguments) {
                Named given = inputs;
                given.insert(constants.begin(), constants.end());
                for (std::size_t i = 0; i < names.size(); ++i) {
                    if (inputs.contains(names[i]))
                        given[names[i]] = arguments[i];
                    else
                        *place(names[i]) = arguments[i];
                }
                made = built_.call(given);
                Tensor total = zeros({});
                for (const auto& [name, cotangent] : group("cotangents"))
                    total = total + sum(made.at(name) * cotangent);
                std::vector<Tensor> out{total};
                for (const auto& [name, tensor] : made) out.push_back(tensor);
                return out;
            },
            values);
        std::size_t at = 0;
        for (const auto& [name, tensor] : made) check("outputs", name, slopes.aux[at++]);
        for (std::size_t i = 0; i < names.size(); ++i)
            check("gradients", names[i], slopes.gradients[i]);
        for (const auto& [name, tensor] : group("buffers_after")) {
            for (const auto& [own, value] : built_.module->state())
                if (own == name) check("buffers_after", name, value);
        }
        return worst_;
    }

   private:
    Named group(const std::string& name) const {
        Named out;
        if (!described_.contains(name)) return out;
        for (const auto& [key, shape] : described_.at(name).items()) out[key] = tensor(name, key);
        return out;
    }

    /// The file has numbers as vectors of one element.
    Tensor tensor(const std::string& group, const std::string& name) const {
        const Tensor found =
            fixture_[std::string(described_.at("name")) + "." + group + "." + name];
        return described_.at(group).at(name).empty() ? found.reshape({}) : found;
    }

    void load() {
        NamedTensors state;
        for (const char* which : {"parameters", "buffers"})
            for (const auto& [name, tensor] : group(which)) state.emplace_back(name, tensor);
        if (described_.contains("buffers"))  // PyTorch's function counts no batches
            state.emplace_back("num_batches_tracked", zeros({}, i64));
        built_.module->load(state);
    }

    nn::Parameter* place(const std::string& name) {
        for (const auto& [own, parameter] : built_.module->parameters())
            if (own == name) return parameter;
        throw ArgumentError("no parameter " + name);
    }

    void check(const std::string& group, const std::string& name, const Tensor& got) {
        const double far = relatively_apart(got, tensor(group, name));
        EXPECT_LE(far, kBound) << described_.at("name") << " " << group << " " << name;
        worst_ = std::max(worst_, far);
    }

    const Fixture& fixture_;
    const json& described_;
    Built built_;
    double worst_ = 0;
};

TEST(Layers, AreThoseOfPyTorch) {
    const Fixture fixture("layers");
    int compared = 0;
    std::size_t missing = 0;
    double worst = 0;
    for (const json& described : fixture.described.at("cases")) {
        const std::string name = described.at("name");
        if (kMissing.contains(name)) {
            ++missing;
            continue;
        }
        Built built = layer_of(described.at("layer"), described.at("options"));
        if (!built.call) built.call = loss_of(described.at("layer"), described.at("options"));
        ASSERT_TRUE(built.call) << name << ": there is no such layer";
        try {
            worst = std::max(worst, Case(fixture, described, std::move(built)).compare());
        } catch (const std::exception& e) {
            ADD_FAILURE() << name << ": " << e.what();
        }
        ++compared;
    }
    EXPECT_EQ(missing, kMissing.size());
    EXPECT_GE(compared, 55);
    fmt::print("layers: {} cases, apart by {:.2g}; missing:\n", compared, worst);
    for (const auto& [name, why] : kMissing) fmt::print("layers:   {}: {}\n", name, why);
}

TEST(Layers, OfSeveralAndBothWaysFollowTheirParts) {
    // Two layers both ways, from the layers of one way that they are made of.
    const SeedScope seed(1);
    nn::Gru both(3, 4, {.layers = 2, .bidirectional = true});
    const Tensor x = randn({2, 5, 3});
    const auto part = [&](int layer, bool back, const Tensor& in) {
        nn::Gru single(in.size(2), 4);
        NamedTensors state;
        for (const auto& [name, tensor] : both.state()) {
            const std::string behind = fmt::format("_l{}{}", layer, back ? "_reverse" : "");
            if (!name.ends_with(behind)) continue;
            state.emplace_back(name.substr(0, name.size() - behind.size()) + "_l0", tensor);
        }
        single.load(state);
        return back ? single(in.flip(1)).flip(1) : single(in);
    };
    Tensor flow = x;
    for (int layer = 0; layer < 2; ++layer)
        flow = concat({part(layer, false, flow), part(layer, true, flow)}, -1);
    const nn::Recurrent run = both.run(x);
    EXPECT_LE(relatively_apart(run.output, flow), 1e-6);
    EXPECT_EQ(run.hidden.shape(), Shape({4, 2, 4}));
    // The state of a way at its end: the last token, or the first where it reads from the end.
    EXPECT_LE(relatively_apart(run.hidden[2], flow(slice({}, {}), 4, slice(0, 4))), 1e-6);
    EXPECT_LE(relatively_apart(run.hidden[3], flow(slice({}, {}), 0, slice(4, 8))), 1e-6);
}

TEST(Layers, GroupedHeadsAreHeadsRepeated) {
    const SeedScope seed(2);
    nn::MultiHeadAttention few({.width = 8, .heads = 4, .kv_heads = 2, .rope_base = 100});
    nn::MultiHeadAttention all({.width = 8, .heads = 4, .rope_base = 100});
    NamedTensors state;
    for (const auto& [name, tensor] : few.state()) {
        const bool shared = name.starts_with("key") || name.starts_with("value");
        // Each head of 2 rows stands for two.
        const Tensor heads = tensor.rank() == 2 ? tensor.reshape({tensor.size(0) / 2, 1, 2, 8})
                                                : tensor.reshape({tensor.size(0) / 2, 1, 2});
        const Tensor twice = concat({heads, heads}, 1);
        state.emplace_back(
            name, shared ? twice.reshape(tensor.rank() == 2 ? Shape{8, 8} : Shape{8}) : tensor);
    }
    all.load(state);
    const Tensor x = randn({2, 5, 8});
    EXPECT_LE(relatively_apart(few(x), all(x)), 1e-5);
    EXPECT_THROW(nn::MultiHeadAttention({.width = 8, .heads = 3}), ArgumentError);
    EXPECT_THROW(nn::MultiHeadAttention({.width = 8, .heads = 4, .kv_heads = 3}), ArgumentError);
    EXPECT_THROW(all(randn({2, 5, 7})), ShapeError);
}

TEST(Layers, RefuseWhatDoesNotFit) {
    EXPECT_THROW(nn::Linear(0, 3), ArgumentError);
    EXPECT_THROW(nn::GroupNorm(4, 6), ArgumentError);
    EXPECT_THROW(nn::Conv2d(3, 4, {3}, {.groups = 2}), ArgumentError);
    EXPECT_THROW(nn::Conv2d(3, 4, {3, 3, 3}), ArgumentError);
    EXPECT_THROW(nn::Dropout(1), ArgumentError);
    EXPECT_THROW(nn::Gru(3, 0), ArgumentError);
    EXPECT_THROW(nn::Gru(3, 4)(ones({2, 5, 4})), ShapeError);
    EXPECT_THROW(nn::BatchNorm(3)(ones({1, 3})), ShapeError);
    EXPECT_THROW(nn::mse_loss(ones({8}), ones({8, 1})), ShapeError);
    EXPECT_THROW(nn::huber_loss(ones({8}), ones({8}), 0), ArgumentError);
    EXPECT_THROW(nn::Gpt({.context = 4, .width = 8, .heads = 2})(zeros({1, 5}, i64)), ShapeError);
}

TEST(Losses, CountTargets) {
    const Tensor logits = Tensor{{3.0, 1.0, 0.0}, {0.0, 1.0, 2.0}, {1.0, 5.0, 2.0}};
    const Tensor right = Tensor{0, 1, 1};
    EXPECT_NEAR(nn::accuracy(logits, right).item<double>(), 2.0 / 3, 1e-6);
    EXPECT_THROW(nn::accuracy(logits, Tensor{0, 1}), ShapeError);
    EXPECT_NEAR(nn::perplexity(scalar(std::log(7.0), f32)).item<double>(), 7, 1e-5);
    // Of no targets the sum is 0.
    const Tensor none = full({3}, -100, i64);
    EXPECT_EQ(nn::cross_entropy(logits, none, {.reduction = nn::Reduction::sum}).item<double>(), 0);
    // Probabilities of 0 and 1 have finite losses.
    const Tensor sure = Tensor{0.0, 1.0};
    EXPECT_EQ(nn::binary_cross_entropy(sure, sure).item<double>(), 0);
    EXPECT_EQ(nn::binary_cross_entropy(sure, 1.0 - sure).item<double>(), 100);
}

}  // namespace
}  // namespace lazuli
