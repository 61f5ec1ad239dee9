#include <cmath>

#include "example.h"

// Modules, layers, losses, first values, adapters.

namespace examples {

namespace {

void of_modules(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((nn::Module::parts, nn::Module::kind, nn::Module::parameters),
                   "Mlp, [up.weight, up.bias, down.weight, down.bias], [4, 2]", [] {
                       struct Mlp : nn::Module {
                           nn::Linear up{3, 8}, down{8, 2};
                           void parts(nn::Parts& parts) override { parts("up", up)("down", down); }
                           Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
                       };
                       Mlp model;
                       std::vector<std::string> names;
                       for (const auto& [name, parameter] : model.parameters())
                           names.push_back(name);
                       return std::tuple(model.kind(), names, model(ones({4, 3})).shape());
                   });
    LAZULI_EXAMPLE(nn::Parameter, "[3, 4], false, false", [] {
        nn::Parameter p(Tensor{1.0, 2.0});
        p.trainable = false;
        p = p + 2.0;  // another value; whether it is trained stays
        const nn::Parameter none;
        return std::tuple(p, p.trainable, none.defined());
    });
    LAZULI_EXAMPLE((nn::Module::count, nn::Module::set_trainable, nn::Module::trainable),
                   "31, 2, 24, [0.weight, 1.weight]", [] {
                       nn::Sequential model(nn::Linear(3, 6), nn::Linear(6, 1));
                       const std::size_t matching = model.set_trainable("*.bias", false);
                       std::vector<std::string> names;
                       for (const auto& [name, parameter] : model.trainable())
                           names.push_back(name);
                       return std::tuple(model.count(), matching,
                                         model.count(/*only_trainable=*/true), names);
                   });
    LAZULI_EXAMPLE((nn::Module::train, nn::Module::is_training), "true, false, [1, 1, 1]", [] {
        nn::Sequential model(nn::Dropout(0.5));
        const bool at_first = model.is_training();
        model.train(false);  // dropout drops nothing then
        return std::tuple(at_first, model[0].is_training(), model(ones({3})));
    });
    LAZULI_EXAMPLE((nn::Module::state, nn::Module::load), "[5, 7]", [] {
        nn::LayerNorm norm(2);
        NamedTensors state = norm.state();  // weight and bias, by name
        state[1].second = {5.0, 7.0};
        norm.load(state);
        return norm(zeros({2}));
    });
    LAZULI_EXAMPLE(nn::Module::load,
                   "ArgumentError: load: the tensors are not those of LayerNorm(2); "
                   "missing: bias; unknown: scale",
                   [] {
                       nn::LayerNorm norm(2);
                       norm.load({{"weight", ones({2})}, {"scale", ones({2})}});
                   });
    LAZULI_EXAMPLE((nn::Module::save_file, nn::Module::load_file), "true", [] {
        const ScratchFile file;  // a path
        nn::Linear saved(3, 2);
        saved.save_file(file.path());
        nn::Linear model(3, 2);
        model.load_file(file.path());
        return all(eq(model.weight, saved.weight));
    });
    LAZULI_EXAMPLE(nn::Module::cast, "bf16[2, 3]", [] {
        nn::Linear model(3, 2);
        model.cast(bf16);
        return model.weight.spec();
    });
    LAZULI_EXAMPLE(nn::Module::summary,
                   "name      kind                   shape      elements  memory\n"
                   "model     Sequential\n"
                   "0         Linear(3, 6)\n"
                   "0.weight  frozen                 f32[6, 3]        18    72 B\n"
                   "0.bias    frozen                 f32[6]            6    24 B\n"
                   "1         Apply\n"
                   "2         Linear(6, 1, no bias)\n"
                   "2.weight  parameter              f32[1, 6]         6    24 B\n"
                   "30 parameters, 6 of them trained; 120 B",
                   [] {
                       nn::Sequential model(nn::Linear(3, 6), &relu,
                                            nn::Linear(6, 1, {.bias = false}));
                       model.set_trainable("0.*", false);
                       return model.summary();
                   });
    LAZULI_EXAMPLE(nn::walk, "[Sequential, Linear(2, 4), Apply, Dropout(0.1)]", [] {
        nn::Sequential model(nn::Linear(2, 4), &relu, nn::Dropout(0.1));
        std::vector<std::string> kinds;
        nn::walk(model, {.module = [&](const std::string&, nn::Module& module) {
                     kinds.push_back(module.kind());
                 }});
        return kinds;
    });
    LAZULI_EXAMPLE(nn::matches, "true, false", [] {
        return std::pair(nn::matches("blocks.?.*.weight", "blocks.0.up.weight"),
                         nn::matches("blocks.?.*.weight", "head.weight"));
    });
    LAZULI_EXAMPLE((nn::Sequential, nn::Sequential::add, nn::Sequential::size), "3, [0, 3]", [] {
        nn::Sequential model(&relu);
        model.add(nn::RmsNorm(2)).add([](const Tensor& x) { return x * 3.0 / std::sqrt(2.0); });
        return std::pair(model.size(), round(model(Tensor{-4.0, 4.0})));
    });
    LAZULI_EXAMPLE(nn::Apply, "Double, [2, 4]", [] {
        const nn::Apply layer([](const Tensor& x) { return x * 2.0; }, "Double");
        return std::pair(layer.kind(), layer(Tensor{1.0, 2.0}));
    });
}

void of_layers(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(nn::Linear, "[[13, 27]]", [] {
        nn::Linear layer(2, 2);
        layer.weight = Tensor{{1.0, 2.0}, {3.0, 4.0}};  // [out, in]
        layer.bias = Tensor{10.0, 20.0};
        return layer(Tensor{{1.0, 1.0}});
    });
    LAZULI_EXAMPLE(nn::Embedding, "[[5, 6], [1, 2]]", [] {
        nn::Embedding table(3, 2);
        table.weight = Tensor{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}};
        return table(Tensor{2, 0});
    });
    LAZULI_EXAMPLE(nn::LayerNorm, "[-1, 1]", nn::LayerNorm(2, /*eps=*/0)(Tensor{3.0, 5.0}));
    LAZULI_EXAMPLE(nn::RmsNorm, "[0.6, 0.8]",
                   nn::RmsNorm(2, /*eps=*/0)(Tensor{3.0, 4.0}) / std::sqrt(2.0));
    LAZULI_EXAMPLE(nn::GroupNorm, "[[-1, 1, -1, 1]]", [] {
        const nn::GroupNorm norm(/*groups=*/2, /*channels=*/4, /*eps=*/0);
        return norm(Tensor{{1.0, 2.0, 10.0, 30.0}});  // [images, channels]
    });
    LAZULI_EXAMPLE(nn::BatchNorm, "[[-1], [1]], [0.3], [[4.7]]", [] {
        nn::BatchNorm norm(1, {.eps = 0});
        const Tensor trained = norm(Tensor{{2.0}, {4.0}});  // by the figures of this batch
        norm.train(false);
        const Tensor later = norm(Tensor{{5.0}});  // by the running ones
        return std::tuple(trained, norm.running_mean, later * sqrt(norm.running_var));
    });
    LAZULI_EXAMPLE(nn::Conv1d, "[[[1, 1, 1]]], Conv1d(1, 1, 2)", [] {
        nn::Conv1d layer(1, 1, /*window=*/2, {.bias = false});
        layer.weight = Tensor{{{-1.0, 1.0}}};
        return std::pair(layer(Tensor{{{1.0, 2.0, 3.0, 4.0}}}), layer.kind());
    });
    LAZULI_EXAMPLE(nn::Conv2d, "[8, 16, 14, 14]", [] {
        const nn::Conv2d layer(3, 16, {3}, {.stride = {2}, .padding = {1}});
        return layer(ones({8, 3, 28, 28})).shape();
    });
    LAZULI_EXAMPLE((nn::MaxPool, nn::AvgPool), "[[[2, 4]]], [[[1.5, 3.5]]]", [] {
        const Tensor x = {{{1.0, 2.0, 3.0, 4.0}}};
        return std::pair(nn::MaxPool({2})(x), nn::AvgPool({2})(x));
    });
    LAZULI_EXAMPLE(nn::Dropout, "true, true", [] {
        const nn::Dropout layer(0.5);
        const auto draw = [&] {
            const SeedScope seed(7);
            return layer(ones({1000}));
        };
        const Tensor kept = mean(ne(draw(), 0));  // those that are kept are 2 now
        return std::pair(all(eq(draw(), draw())), abs(kept - 0.5) < 0.05);
    });
    LAZULI_EXAMPLE((nn::Gru, nn::Lstm, nn::RecurrentLayer::run),
                   "[2, 7, 4], [2, 7, 8], [2, 2, 4], [2, 2, 4]", [] {
                       const Tensor x = ones({2, 7, 3});  // [batch, tokens, width]
                       const nn::Gru gru(3, 4);
                       const nn::Lstm lstm(3, 4, {.bidirectional = true});
                       const nn::Recurrent made = lstm.run(x);
                       return std::tuple(gru(x).shape(), made.output.shape(), made.hidden.shape(),
                                         made.cell.shape());
                   });
    LAZULI_EXAMPLE((nn::MultiHeadAttention, nn::MultiHeadAttention::attend),
                   "MultiHeadAttention(8, 2 heads), [1, 5, 8], [1, 5, 8]", [] {
                       const nn::MultiHeadAttention layer({.width = 8, .heads = 2});
                       const Tensor x = ones({1, 5, 8});
                       const Tensor context = ones({1, 9, 8});
                       return std::tuple(layer.kind(), layer(x).shape(),
                                         layer.attend(x, context).shape());
                   });
    LAZULI_EXAMPLE((nn::FeedForward, nn::TransformerBlock), "[1, 5, 8], 872", [] {
        const nn::FeedForward wide(8, 32);
        nn::TransformerBlock block({.attention = {.width = 8, .heads = 2, .causal = true}});
        return std::pair(block(wide(ones({1, 5, 8}))).shape(), block.count());
    });
}

void of_language(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((nn::Gpt, nn::LanguageModel::loss), "[1, 4, 256], true", [] {
        const SeedScope seed(1);
        const nn::Gpt model({.context = 8, .width = 16, .layers = 1});
        const Tensor tokens = {{104, 101, 108, 108}};  // hell
        const Tensor next = {{101, 108, 108, 111}};    // ello
        const double loss = model.loss(tokens, next).item<double>();
        return std::pair(model(tokens).shape(), std::abs(loss - std::log(256)) < 0.1);
    });
    LAZULI_EXAMPLE(nn::Rwkv7, "[1, 4, 256]", [] {
        const nn::Rwkv7 model({.block = {.width = 16, .head_size = 8, .layers = 2}});
        return model(Tensor{{104, 101, 108, 108}}).shape();
    });
    LAZULI_EXAMPLE((nn::Rwkv7Block, nn::Rwkv7TimeMix, nn::Rwkv7ChannelMix),
                   "[1, 4, 16], [1, 4, 16]", [] {
                       const nn::Rwkv7Options options{.width = 16, .head_size = 8, .layers = 2};
                       const nn::Rwkv7Block first(options, 0);
                       const nn::Rwkv7TimeMix time_mix(options, 1);
                       const nn::Rwkv7ChannelMix channel_mix(options, 1);
                       Tensor value;  // the first block sets it, the others read it
                       const Tensor x = first(ones({1, 4, 16}), value);
                       return std::pair(value.shape(), channel_mix(time_mix(x, value)).shape());
                   });
}

void of_losses(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(nn::cross_entropy, "[0.69315, 0]", [] {
        const Tensor logits = {{0.0, 0.0}, {3.0, 1.0}};
        const Tensor targets = {1, -1};
        return nn::cross_entropy(logits, targets,
                                 {.ignore_index = -1, .reduction = nn::Reduction::none});
    });
    LAZULI_EXAMPLE((nn::mse_loss, nn::l1_loss, nn::huber_loss), "2.5, 1.5, 1", [] {
        const Tensor x = {1.0, 5.0};
        const Tensor target = {0.0, 3.0};
        return std::tuple(nn::mse_loss(x, target), nn::l1_loss(x, target),
                          nn::huber_loss(x, target));
    });
    LAZULI_EXAMPLE(
        (nn::binary_cross_entropy, nn::binary_cross_entropy_with_logits), "0.69315, 0.69315", [] {
            const Tensor truth = {1.0, 0.0};
            return std::pair(nn::binary_cross_entropy(Tensor{0.5, 0.5}, truth),
                             nn::binary_cross_entropy_with_logits(Tensor{0.0, 0.0}, truth));
        });
    LAZULI_EXAMPLE(nn::kl_divergence, "0.69315", [] {
        const Tensor guess = log(Tensor{{0.5, 0.5}});
        return nn::kl_divergence(guess, Tensor{{1.0, 0.0}});
    });
    LAZULI_EXAMPLE(nn::accuracy, "0.75", [] {
        const Tensor logits = {{9.0, 1.0}, {2.0, 3.0}, {5.0, 4.0}, {0.0, 1.0}};
        return nn::accuracy(logits, Tensor{0, 1, 1, 1});
    });
    LAZULI_EXAMPLE(nn::perplexity, "4", nn::perplexity(log(Tensor(4.0))));
}

void of_first_values(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(nn::init::fans, "27, 144", [] {
        const auto [in, out] = nn::init::fans({16, 3, 3, 3});  // a convolution's weight
        return std::pair(in, out);
    });
    LAZULI_EXAMPLE(nn::init::uniform, "true", [] {
        const Tensor drawn = nn::init::uniform({100}, -0.5, 0.5, key(1));
        return all(drawn >= -0.5) && all(drawn < 0.5);
    });
    LAZULI_EXAMPLE(nn::init::normal, "3.0, 0.5", [] {
        const Tensor drawn = nn::init::normal({4000}, /*deviation=*/0.5, /*mean=*/3, key(1));
        return fmt::format("{:.1f}, {:.1f}", mean(drawn).item<double>(),
                           sqrt(var(drawn)).item<double>());
    });
    LAZULI_EXAMPLE(nn::init::truncated_normal, "true",
                   all(abs(nn::init::truncated_normal({4000}, 0.5, key(1))) <= 1.0));
    LAZULI_EXAMPLE((nn::init::xavier_uniform, nn::init::xavier_normal), "0.020, 0.020", [] {
        const Shape shape = {60, 40};  // a variance of 2 / (40 + 60)
        return fmt::format("{:.3f}, {:.3f}",
                           var(nn::init::xavier_uniform(shape, 1, key(1))).item<double>(),
                           var(nn::init::xavier_normal(shape, 1, key(1))).item<double>());
    });
    LAZULI_EXAMPLE((nn::init::kaiming_uniform, nn::init::kaiming_normal), "0.05, 0.05", [] {
        const Shape shape = {60, 40};  // a variance of 2 / 40: for relu
        return fmt::format(
            "{:.2f}, {:.2f}",
            var(nn::init::kaiming_uniform(shape, std::sqrt(2), key(1))).item<double>(),
            var(nn::init::kaiming_normal(shape, std::sqrt(2), key(1))).item<double>());
    });
    LAZULI_EXAMPLE(nn::init::orthogonal, "[[4, 0], [0, 4]]", [] {
        const Tensor rows = nn::init::orthogonal({2, 5}, /*gain=*/2, key(1));
        return round(rows.matmul(rows.transpose()));
    });
}

void of_adapters(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(nn::add_lora, "[up, down], 292, 80", [] {
        nn::FeedForward model(8, 12);
        const std::vector<std::string> layers = nn::add_lora(model, {.rank = 2});
        return std::tuple(layers, model.count(), model.count(/*only_trainable=*/true));
    });
    LAZULI_EXAMPLE(nn::add_lora,
                   "ArgumentError: add_lora: no Linear layer matches *query; there are: up, down",
                   [] {
                       nn::FeedForward model(8, 12);
                       nn::add_lora(model, {.layers = {"*query"}});
                   });
    LAZULI_EXAMPLE((nn::use_lora, nn::lora_names, nn::remove_lora),
                   "[french, german], lora.french.down, [german]", [] {
                       nn::Linear model(8, 12);
                       nn::add_lora(model, {.name = "french"});
                       nn::add_lora(model, {.name = "german"});
                       nn::use_lora(model, "french");  // the weights stay where they are
                       const std::vector<std::string> both = nn::lora_names(model);
                       const std::string trained = model.trainable()[0].name;
                       nn::remove_lora(model, "french");
                       return std::tuple(both, trained, nn::lora_names(model));
                   });
    LAZULI_EXAMPLE((nn::merge_lora, nn::unmerge_lora), "[[1, 0], [0, 1]], [[3, 2], [2, 3]], true",
                   [] {
                       nn::Linear model(2, 2);
                       model.weight = eye(2);
                       nn::add_lora(model, {.rank = 1, .alpha = 2});
                       model.adapters["default"].down = ones({1, 2});
                       model.adapters["default"].up = ones({2, 1});
                       nn::merge_lora(model);
                       const Tensor merged = model.weight;
                       nn::unmerge_lora(model);  // bit by bit
                       const Tensor before = model.weight;
                       return std::tuple(before, merged, all(eq(before, eye(2))));
                   });
    LAZULI_EXAMPLE((nn::save_lora, nn::load_lora), "true", [] {
        const ScratchFile file;  // a path
        const nn::Linear base(3, 2);
        nn::Linear tuned = base;  // a value like any other
        nn::add_lora(tuned, {.rank = 1});
        tuned.adapters["default"].up = ones({2, 1});
        nn::save_lora(tuned, file.path());
        nn::Linear other = base;
        nn::load_lora(other, file.path());
        const Tensor x = ones({1, 3});
        return all(eq(other(x), tuned(x)));
    });
}

}  // namespace

Examples modules() {
    Examples examples;
    of_modules(examples);
    of_layers(examples);
    of_language(examples);
    of_losses(examples);
    of_first_values(examples);
    of_adapters(examples);
    return examples;
}

}  // namespace examples
