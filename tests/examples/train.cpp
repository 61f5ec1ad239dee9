#include "example.h"

// Steps, checkpoints and curves.

namespace examples {

Examples training() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE((train::Step, train::Step::calls), "[[2, 3]], 200", [] {
        nn::Linear model(2, 1, {.bias = false});
        optim::Sgd optimizer({.lr = 0.2});
        train::Step step(model, optimizer, [&](const Batch& batch) {
            return nn::mse_loss(model(batch[0]), batch[1]);
        });
        const Tensor x = {{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}};
        const Tensor y = {{2.0}, {3.0}, {5.0}};  // 2 a + 3 b
        for (int i = 0; i < 200; ++i) step({x, y});
        return std::pair(round(model.weight * 1000.0) / 1000.0, step.calls());
    });
    LAZULI_EXAMPLE(train::Step, "[1, 1], 10, [1, 0]", [] {
        nn::LayerNorm model(2);
        optim::Sgd optimizer({.lr = 1});
        train::Step step(model, optimizer,
                         [&](const Batch& batch) { return sum(model.weight * batch[0]); },
                         {.clip_norm = 1, .accumulate = 2});  // gradients of two calls are averaged
        const Tensor before = model.weight;
        step({Tensor{20.0, 0.0}});
        const train::StepResult second = step({Tensor{0.0, 0.0}});
        return std::tuple(before, second.norm, round(before - model.weight));
    });
    LAZULI_EXAMPLE(train::Step::explain, "true, 0", [] {
        nn::Linear model(2, 1);
        optim::AdamW optimizer;
        train::Step step(model, optimizer,
                         [&](const Batch& batch) { return sum(model(batch[0])); });
        const Explanation all = step.explain({ones({4, 2})});  // loss, gradients and update
        return std::pair(!all.kernels.empty(), step.calls());
    });
    LAZULI_EXAMPLE(train::Step::loss_scale, "1024, false, 512", [] {
        nn::Linear model(2, 1, {.dtype = f16});
        optim::Sgd optimizer;
        train::Step step(model, optimizer,
                         [&](const Batch& batch) { return sum(model(batch[0])) * 1e6; },
                         {.loss_scale = train::LossScale{.first = 1024}});
        const double before = step.loss_scale();
        const bool updated = step({ones({1, 2}, f16)}).updated;  // gradients were infinite
        return std::tuple(before, updated, step.loss_scale());
    });
    LAZULI_EXAMPLE((train::Step::state, train::Step::load), "[calls, loss_scale, finite_steps], 1",
                   [] {
                       nn::Linear model(2, 1);
                       optim::Sgd optimizer;
                       const train::LossFunction loss = [&](const Batch& batch) {
                           return sum(model(batch[0]));
                       };
                       train::Step step(model, optimizer, loss);
                       step({ones({1, 2})});
                       train::Step later(model, optimizer, loss);
                       later.load(step.state());
                       std::vector<std::string> names;
                       for (const auto& [name, tensor] : later.state()) names.push_back(name);
                       return std::pair(names, later.calls());
                   });
    LAZULI_EXAMPLE((train::save_checkpoint, train::load_checkpoint), "noon, 1, true", [] {
        const ScratchFile file;  // a path
        struct Run {
            nn::Linear model{2, 1};
            optim::AdamW optimizer;
            train::Step step{model, optimizer,
                             [this](const Batch& batch) { return sum(model(batch[0])); }};
        };
        Run first;
        first.step({ones({1, 2})});
        train::save_checkpoint(file.path(), first.model, first.optimizer, first.step,
                               {{"saved", "noon"}});
        Run second;
        auto notes =
            train::load_checkpoint(file.path(), second.model, second.optimizer, second.step);
        return std::tuple(notes["saved"], second.optimizer.count(),
                          all(eq(first.model.weight, second.model.weight)));
    });
    LAZULI_EXAMPLE(train::curves_svg, "<svg xmlns=, true", [] {
        const std::vector<train::Curve> curves = {
            {.name = "training", .points = {{0, 2.3}, {50, 0.7}, {100, 0.4}}},
            {.name = "test", .points = {{50, 0.9}, {100, 0.6}}},
        };
        const std::string svg = train::curves_svg("Loss", curves);  // a picture, for a file
        return std::pair(svg.substr(0, 11), svg.find("training") != std::string::npos);
    });
    return examples;
}

}  // namespace examples
