// Optimisers, clipping and schedules, beside PyTorch's.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>

#include "fixture.h"
#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using tests::Bag;
using tests::Fixture;
using tests::relatively_apart;

constexpr double kBound = 1e-10;  // all is in f64

/// What a case's options are called here; none where there is no such optimiser.
std::unique_ptr<optim::Optimizer> optimizer_of(const json& described) {
    const json& o = described.at("options");
    const std::string kind = described.at("optimizer");
    if (kind == "SGD")
        return std::make_unique<optim::Sgd>(
            optim::SgdOptions{.lr = o.at("lr"),
                              .momentum = o.at("momentum"),
                              .dampening = o.at("dampening"),
                              .nesterov = o.at("nesterov"),
                              .weight_decay = o.at("weight_decay")});
    if (kind == "Adam" || kind == "AdamW") {
        const optim::AdamOptions options{.lr = o.at("lr"),
                                         .beta1 = o.at("betas")[0],
                                         .beta2 = o.at("betas")[1],
                                         .eps = o.at("eps"),
                                         .weight_decay = o.at("weight_decay"),
                                         .amsgrad = o.at("amsgrad")};
        if (kind == "Adam") return std::make_unique<optim::Adam>(options);
        return std::make_unique<optim::AdamW>(options);
    }
    if (kind == "Lion")
        return std::make_unique<optim::Lion>(
            optim::LionOptions{.lr = o.at("lr"),
                               .beta1 = o.at("betas")[0],
                               .beta2 = o.at("betas")[1],
                               .weight_decay = o.at("weight_decay")});
    if (kind == "Adafactor") {
        const json& eps = o.at("eps");
        return std::make_unique<optim::Adafactor>(
            optim::AdafactorOptions{.lr = o.at("lr"),
                                    .beta2_decay = o.at("beta2_decay"),
                                    .eps1 = eps[0].is_null() ? 0 : eps[0].get<double>(),
                                    .eps2 = eps[1],
                                    .d = o.at("d"),
                                    .weight_decay = o.at("weight_decay")});
    }
    if (kind == "Muon")
        return std::make_unique<optim::Muon>(optim::MuonOptions{
            .lr = o.at("lr"),
            .momentum = o.at("momentum"),
            .nesterov = o.at("nesterov"),
            .weight_decay = o.at("weight_decay"),
            .iterations = o.at("ns_steps"),
            .scale = o.at("adjust_lr_fn") == "original" ? optim::MuonScale::shape
                                                        : optim::MuonScale::as_adamw});
    return nullptr;
}

TEST(Optimizers, GoWherePyTorchGoes) {
    const Fixture fixture("optimizers");
    double worst = 0;
    int compared = 0;
    std::vector<std::string> missing;
    for (const json& described : fixture.described.at("optimizers")) {
        const std::string name = described.at("name");
        const auto optimizer = optimizer_of(described);
        if (!optimizer) {
            missing.push_back(name);
            continue;
        }
        Bag model;
        std::map<std::string, std::vector<Tensor>> slopes;
        std::map<std::string, std::vector<Tensor>> wanted;
        for (const std::string p : described.at("parameters")) {
            model.held.emplace(p, fixture["initial." + p]);
            slopes[p] = fixture.entries("gradients." + p);
            wanted[p] = fixture.entries(name + "." + p);
        }
        for (std::size_t step = 0; step < fixture.described.at("steps"); ++step) {
            std::vector<Tensor> gradients;
            for (const auto& [p, parameter] : model.held) gradients.push_back(slopes[p][step]);
            optimizer->step(model, gradients);
            std::vector<Tensor> all = optimizer->tensors();
            for (const auto& [p, parameter] : model.held) all.push_back(parameter);
            eval(all);
            for (const auto& [p, parameter] : model.held) {
                const double far = relatively_apart(parameter, wanted[p][step]);
                EXPECT_LE(far, kBound) << name << " " << p << " step " << step;
                worst = std::max(worst, far);
            }
        }
        EXPECT_EQ(optimizer->count(), fixture.described.at("steps"));
        ++compared;
    }
    // There is no RMSprop here.
    EXPECT_THAT(missing, testing::ElementsAre("rmsprop_plain", "rmsprop_other"));
    EXPECT_EQ(compared, 20);
    fmt::print("optimizers: {} of {} cases, apart by {:.2g}; missing: RMSprop\n", compared,
               static_cast<std::size_t>(compared) + missing.size(), worst);
}

TEST(Optimizers, ClipAsPyTorchDoes) {
    const Fixture fixture("optimizers");
    const std::int64_t step = fixture.described.at("clipped_step");
    const std::vector<std::string> names = {"matrix", "vector", "tensor"};
    std::vector<Tensor> gradients;
    for (const std::string& name : names) gradients.push_back(fixture["gradients." + name][step]);
    int compared = 0;
    for (const json& described : fixture.described.at("clipping")) {
        const json& o = described.at("options");
        const std::string name = described.at("name");
        std::vector<Tensor> clipped;
        if (described.at("kind") == "value") {
            clipped = optim::clip_by_value(gradients, o.at("clip_value"));
        } else if (o.at("norm_type") == 2.0) {
            const optim::Clipped made = optim::clip_by_norm(gradients, o.at("max_norm"));
            clipped = made.gradients;
            EXPECT_NEAR(made.norm.item<double>(), described.at("norm_before"), 1e-12);
        } else {
            continue;  // norms of other kinds are not there
        }
        ++compared;
        for (std::size_t i = 0; i < names.size(); ++i)
            EXPECT_LE(relatively_apart(clipped[i], fixture["clipping." + name + "." + names[i]]),
                      1e-12)
                << name << " " << names[i];
    }
    EXPECT_EQ(compared, 3);  // norm_one and norm_infinite: only the norm of squares is there
    EXPECT_THROW(optim::clip_by_norm(gradients, 0), ArgumentError);
    EXPECT_THROW(optim::clip_by_value(gradients, -1), ArgumentError);
}

TEST(Optimizers, NormsOfNarrowGradientsAreWide) {
    const Tensor large = full({2}, 300.0, f16).contiguous();  // whose square is beyond f16
    const Tensor norm = optim::global_norm(std::vector<Tensor>{large});
    EXPECT_EQ(norm.dtype(), f32);
    EXPECT_NEAR(norm.item<double>(), 300 * std::sqrt(2.0), 1e-2);
    EXPECT_EQ(optim::global_norm({}).item<double>(), 0);
}

optim::Schedule schedule_of(const std::string& name, double base, const json& o) {
    const auto last = [&] { return o.at("eta_min").get<double>() / base; };
    if (name == "cosine") return optim::cosine(o.at("T_max"), last());
    if (name == "step") return optim::steps(o.at("step_size"), o.at("gamma"));
    if (name == "linear")
        return optim::linear(o.at("start_factor"), o.at("end_factor"), o.at("total_iters"));
    if (name == "exponential") return optim::steps(1, o.at("gamma"));
    // Its first steps are another line than warm_up's, which is at 0 one step before the first.
    const std::int64_t up = o.at("total_iters");
    return [up, rise = optim::linear(o.at("start_factor"), o.at("end_factor"), up),
            fall = optim::cosine(o.at("T_max"), last())](std::int64_t k) {
        return k < up ? rise(k) : fall(k - up);
    };
}

TEST(Schedules, AreThoseOfPyTorch) {
    const Fixture fixture("optimizers");
    int compared = 0;
    for (const json& described : fixture.described.at("schedules")) {
        const double base = described.at("base_lr");
        const optim::Schedule schedule =
            schedule_of(described.at("name"), base, described.at("options"));
        std::int64_t step = 0;
        for (const double want : described.at("values"))
            EXPECT_NEAR(base * schedule(step++), want, 1e-14) << described.at("name");
        ++compared;
    }
    EXPECT_EQ(compared, 5);
}

TEST(Schedules, HaveEnds) {
    const optim::Schedule warm = optim::warm_up(4, optim::linear(1, 0, 2));
    std::vector<double> rates;
    for (std::int64_t k = 0; k < 8; ++k) rates.push_back(warm(k));
    EXPECT_THAT(rates, testing::ElementsAre(0.25, 0.5, 0.75, 1, 1, 0.5, 0, 0));
    EXPECT_EQ(optim::warm_up(1)(0), 1);
    EXPECT_EQ(optim::constant()(1000), 1);
    EXPECT_NEAR(optim::cosine(10, 0.1)(1000), 0.1, 1e-15);
    EXPECT_THROW(optim::cosine(0), ArgumentError);
    EXPECT_THROW(optim::linear(0, 1, 0), ArgumentError);
    EXPECT_THROW(optim::steps(0), ArgumentError);
    EXPECT_THROW(optim::warm_up(0), ArgumentError);
}

TEST(Schedules, ScaleTheLearningRate) {
    Bag model;
    model.held.emplace("x", zeros({2}));
    optim::Sgd optimizer({.lr = 0.5, .schedule = optim::steps(2, 0.5)});
    const std::vector<Tensor> gradients{ones({2})};
    std::vector<double> values;
    for (int i = 0; i < 4; ++i) {
        optimizer.step(model, gradients);
        values.push_back(model.held.at("x")[0].item<double>());
    }
    EXPECT_THAT(values, testing::ElementsAre(-0.5, -1, -1.25, -1.5));
    EXPECT_EQ(optimizer.lr(), 0.125);
}

TEST(Optimizers, RefuseWhatDoesNotFit) {
    Bag model;
    model.held.emplace("first", ones({2, 3}));
    model.held.emplace("second", ones({4}));
    optim::AdamW optimizer;
    const Tensor three = ones({2, 3});
    EXPECT_THROW(optimizer.step(model, std::vector<Tensor>{three}), ArgumentError);
    try {
        optimizer.step(model, std::vector<Tensor>{three, ones({5})});
        FAIL();
    } catch (const ShapeError& e) {
        EXPECT_THAT(e.what(), HasSubstr("second"));
    }
    EXPECT_EQ(optimizer.count(), 0);
    EXPECT_EQ(model.held.at("first").sum().item<double>(), 6);
    EXPECT_THROW(optim::Sgd({.nesterov = true}), ArgumentError);
    EXPECT_THROW(optim::Sgd({.momentum = 0.9, .dampening = 0.1, .nesterov = true}), ArgumentError);
    EXPECT_THROW(optim::Adam({.beta1 = 1}), ArgumentError);
    EXPECT_THROW(optim::Muon({.iterations = 0}), ArgumentError);
    EXPECT_THROW(optimizer.load({}), ArgumentError);
}

TEST(Optimizers, GoOnFromTheirState) {
    const auto gradient = [](int i) { return std::vector<Tensor>{full({3}, 0.1 * (i + 1))}; };
    Bag one;
    one.held.emplace("x", ones({3}));
    optim::AdamW first({.lr = 0.1});
    for (int i = 0; i < 3; ++i) first.step(one, gradient(i));
    Bag other;
    other.held.emplace("x", one.held.at("x"));
    optim::AdamW second({.lr = 0.1});
    second.load(first.state());
    EXPECT_EQ(second.count(), 3);
    for (int i = 3; i < 6; ++i) {
        first.step(one, gradient(i));
        second.step(other, gradient(i));
    }
    EXPECT_EQ(tests::bits(one.held.at("x")), tests::bits(other.held.at("x")));
    EXPECT_EQ(tests::bits(first.state()), tests::bits(second.state()));
}

TEST(Optimizers, RefuseTheStateOfAnotherKind) {
    Bag model;
    model.held.emplace("x", ones({3}));
    optim::Sgd sgd({.momentum = 0.9});
    sgd.begin(model);
    optim::AdamW adam;
    adam.begin(model);
    const auto before = tests::bits(adam.state());
    try {
        adam.load(sgd.state());
        FAIL() << "the state of SGD was taken for AdamW's";
    } catch (const ArgumentError& e) {
        EXPECT_THAT(e.what(), HasSubstr("mean/x"));
        EXPECT_THAT(e.what(), HasSubstr("square/x"));
        EXPECT_THAT(e.what(), HasSubstr("momentum/x"));
    }
    EXPECT_EQ(tests::bits(adam.state()), before);
    Bag wider;
    wider.held.emplace("x", ones({4}));
    optim::AdamW other;
    other.begin(wider);
    EXPECT_THROW(adam.load(other.state()), ShapeError);
    Bag wide;
    wide.held.emplace("x", ones({3}, f64));
    optim::AdamW doubles;
    doubles.begin(wide);
    EXPECT_THROW(adam.load(doubles.state()), DTypeError);
    EXPECT_EQ(tests::bits(adam.state()), before);
}

}  // namespace
}  // namespace lazuli
