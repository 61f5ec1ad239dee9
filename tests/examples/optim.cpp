#include "example.h"

// From gradients to new values of parameters.

namespace examples {

namespace {

/// The factors of steps 0, 2 and 4.
std::vector<double> at_0_2_4(const lazuli::optim::Schedule& schedule) {
    return {schedule(0), schedule(2), schedule(4)};
}

/// What an optimiser makes of elements in two steps of the same gradient.
lazuli::Tensor after_two_steps(lazuli::optim::Optimizer& optimizer, double from, double gradient) {
    lazuli::nn::Linear model(2, 2, {.bias = false});
    model.weight = lazuli::full({2, 2}, from);
    const std::vector<lazuli::Tensor> gradients = {lazuli::full({2, 2}, gradient)};
    for (int i = 0; i < 2; ++i) optimizer.step(model, gradients);
    return model.weight[0][0];
}

void of_schedules(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(optim::constant, "[1, 1, 1]", at_0_2_4(optim::constant()));
    LAZULI_EXAMPLE(optim::linear, "[1, 0.5, 0]", at_0_2_4(optim::linear(1, 0, /*steps=*/4)));
    LAZULI_EXAMPLE(optim::cosine, "[1, 0.55, 0.1]",
                   at_0_2_4(optim::cosine(/*steps=*/4, /*last=*/0.1)));
    LAZULI_EXAMPLE(optim::steps, "[1, 0.1, 0.01]", at_0_2_4(optim::steps(/*every=*/2, 0.1)));
    LAZULI_EXAMPLE(optim::warm_up, "[0.5, 1, 0.5]", at_0_2_4(optim::warm_up(2, optim::cosine(4))));
}

void of_gradients(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE(optim::global_norm, "5", [] {
        const std::vector<Tensor> gradients = {{3.0, 0.0}, {{4.0}}};
        return optim::global_norm(gradients);
    });
    LAZULI_EXAMPLE(optim::clip_by_norm, "[[0.6, 0], [[0.8]]], 5", [] {
        const std::vector<Tensor> gradients = {{3.0, 0.0}, {{4.0}}};
        const auto [clipped, norm] = optim::clip_by_norm(gradients, 1);
        return std::pair(clipped, norm);
    });
    LAZULI_EXAMPLE(optim::clip_by_value, "[[-1, 0.5, 1]]", [] {
        const std::vector<Tensor> gradients = {{-3.0, 0.5, 4.0}};
        return optim::clip_by_value(gradients, 1);
    });
}

void of_optimisers(Examples& examples) {
    using namespace lazuli;
    LAZULI_EXAMPLE((optim::Sgd, optim::Optimizer::step), "[[0.9, 1.8]]", [] {
        nn::Linear model(2, 1, {.bias = false});
        model.weight = Tensor{{1.0, 2.0}};
        optim::Sgd optimizer({.lr = 0.1});
        const std::vector<Tensor> gradients = {model.weight};
        optimizer.step(model, gradients);  // recorded, like everything
        return model.weight;
    });
    LAZULI_EXAMPLE(optim::Sgd, "0.42", [] {
        optim::Sgd optimizer({.lr = 0.1, .momentum = 0.9});  // -0.2, then -0.38
        return after_two_steps(optimizer, /*from=*/1, /*gradient=*/2);
    });
    LAZULI_EXAMPLE(optim::Adam, "0.8", [] {
        optim::Adam optimizer({.lr = 0.1});  // a constant gradient is a step of lr
        return after_two_steps(optimizer, /*from=*/1, /*gradient=*/2);
    });
    LAZULI_EXAMPLE(optim::AdamW, "0.62", [] {
        optim::AdamW optimizer({.lr = 0.1, .weight_decay = 1});  // a tenth decays before that
        return after_two_steps(optimizer, /*from=*/1, /*gradient=*/2);
    });
    LAZULI_EXAMPLE(optim::Lion, "0.8", [] {
        optim::Lion optimizer({.lr = 0.1});
        return after_two_steps(optimizer, /*from=*/1, /*gradient=*/2);
    });
    LAZULI_EXAMPLE(optim::Adafactor, "0.81", [] {
        optim::Adafactor optimizer({.lr = 0.1});  // a tenth of the parameter's size
        return after_two_steps(optimizer, /*from=*/1, /*gradient=*/2);
    });
    LAZULI_EXAMPLE(optim::Muon, "[[0.5, 1], [1, 0.5]]", [] {
        nn::Linear model(2, 2, {.bias = false});
        model.weight = ones({2, 2});
        optim::Muon optimizer({.lr = 0.5, .weight_decay = 0});
        const std::vector<Tensor> gradients = {Tensor{{3.0, 0.0}, {0.0, 3.0}}};
        optimizer.step(model, gradients);  // along the nearest orthogonal matrix, about
        return round(model.weight * 2.0) / 2.0;
    });
    LAZULI_EXAMPLE((optim::Optimizer::count, optim::Optimizer::discount, optim::Optimizer::lr),
                   "2, 0.25, 1, 0.5", [] {
                       nn::Linear model(1, 1, {.bias = false});
                       optim::Sgd optimizer({.lr = 1, .schedule = optim::steps(1, 0.5)});
                       const std::vector<Tensor> gradients = {ones({1, 1})};
                       optimizer.step(model, gradients);
                       optimizer.step(model, gradients);
                       const std::pair before(optimizer.count(), optimizer.lr());
                       optimizer.discount();  // as if the last had not been
                       return std::pair(before, std::pair(optimizer.count(), optimizer.lr()));
                   });
    LAZULI_EXAMPLE((optim::Optimizer::begin, optim::Optimizer::tensors), "2", [] {
        nn::Linear model(3, 2);
        optim::Sgd optimizer({.momentum = 0.9});
        optimizer.begin(model);  // else the first step does
        return optimizer.tensors().size();
    });
    LAZULI_EXAMPLE((optim::Optimizer::state, optim::Optimizer::load),
                   "[count, momentum/bias, momentum/weight], 1", [] {
                       nn::Linear model(3, 2);
                       optim::Sgd optimizer({.momentum = 0.9});
                       const std::vector<Tensor> gradients = {ones({2, 3}), ones({2})};
                       optimizer.step(model, gradients);
                       optim::Sgd other({.momentum = 0.9});
                       other.load(optimizer.state());
                       std::vector<std::string> names;
                       for (const auto& [name, tensor] : other.state()) names.push_back(name);
                       return std::pair(names, other.count());
                   });
    LAZULI_EXAMPLE(optim::StepInfo::number, "0.8", [] {
        struct Signs : optim::Optimizer {  // one of your own
            explicit Signs(double lr) : Optimizer({.lr = lr}) {}
            void remember(const Tensor&, optim::Slots&) const override {}
            Tensor update(const Tensor& parameter, const Tensor& gradient, optim::Slots&,
                          const optim::StepInfo& info) const override {
                return parameter - sign(gradient) * info.number(info.lr);
            }
        };
        Signs optimizer(0.1);
        return after_two_steps(optimizer, /*from=*/1, /*gradient=*/2);
    });
}

}  // namespace

Examples optimisers() {
    Examples examples;
    of_schedules(examples);
    of_gradients(examples);
    of_optimisers(examples);
    return examples;
}

}  // namespace examples
