#include <fmt/format.h>

#include <utility>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/grad.h"
#include "lazuli/ops.h"
#include "lazuli/train.h"

namespace lazuli::train {

namespace {

/// The tensors of a model's buffers.
std::vector<Tensor*> buffers_of(nn::Module& model) {
    std::vector<Tensor*> out;
    nn::walk(model,
             {.buffer = [&](const std::string&, Tensor& buffer) { out.push_back(&buffer); }});
    return out;
}

/// Puts other tensors in a model's places, and the old ones back at the end.
class Borrowed {
   public:
    explicit Borrowed(std::vector<Tensor*> places) : places_(std::move(places)) {
        for (const Tensor* place : places_) before_.push_back(*place);
    }
    ~Borrowed() {
        for (std::size_t i = 0; i < places_.size(); ++i) places_[i]->swap(before_[i]);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    void put(const std::vector<Tensor>& values) {
        for (std::size_t i = 0; i < values.size(); ++i) *places_[i] = values[i];
    }

   private:
    std::vector<Tensor*> places_;
    std::vector<Tensor> before_;
};

Tensor all_finite(const std::vector<Tensor>& gradients) {
    std::vector<Tensor> each;
    for (const Tensor& gradient : gradients) each.push_back(all(isfinite(gradient)));
    return all(stack(each));
}

}  // namespace

/// The loss and its gradients.
struct Step::Slopes {
    Tensor loss;
    std::vector<Tensor> gradients;
    std::vector<Tensor> buffers;  // as the call left them
};

/// A step before it is computed.
struct Step::Recorded {
    StepResult result;
    std::vector<Tensor> targets = {};  // all that is to be computed, together
    Tensor finite = {};                // whether all gradients are; where losses are scaled
};

Step::Step(nn::Module& model, optim::Optimizer& optimizer, LossFunction loss, StepOptions options)
    : model_(model), optimizer_(optimizer), loss_(std::move(loss)), options_(std::move(options)) {
    if (options_.accumulate < 1)
        throw ArgumentError(
            fmt::format("Step: gradients of {} calls, below 1", options_.accumulate));
    if (options_.loss_scale) scale_ = options_.loss_scale->first;
    if (model_.trainable().empty())
        throw ArgumentError(fmt::format("Step: {} has no parameters to train", model_.kind()));
    std::vector<Tensor> all;
    for (const auto& [name, tensor] : model_.state()) all.push_back(tensor);
    eval(all);
    optimizer_.begin(model_);
    if (options_.accumulate == 1) return;
    for (const auto& [name, parameter] : model_.trainable()) {
        const DType dtype = size_of(parameter->dtype()) < 4 ? f32 : parameter->dtype();
        sums_.push_back(zeros(parameter->shape(), dtype));
    }
    eval(sums_);
}

Step::Slopes Step::slopes(const std::vector<Tensor>& batch) {
    const SeedScope seed(options_.seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(calls_));
    std::vector<Tensor*> places;
    std::vector<Tensor> values;
    for (const auto& [name, parameter] : model_.trainable()) {
        places.push_back(parameter);
        values.push_back(*parameter);
    }
    const std::vector<Tensor*> buffers = buffers_of(model_);
    const bool scaled = options_.loss_scale.has_value();
    Borrowed parameters(places);
    const Borrowed kept(buffers);
    ValueAndGrad made = value_and_grad_of(
        [&](const std::vector<Tensor>& arguments) {
            parameters.put(arguments);
            const Tensor loss = loss_(batch);
            std::vector<Tensor> out{scaled ? loss.cast(f32) * scalar(scale_, f32) : loss, loss};
            for (const Tensor* buffer : buffers) out.push_back(*buffer);
            return out;
        },
        values);
    Slopes out{made.aux[0], std::move(made.gradients), {}};
    out.buffers.assign(made.aux.begin() + 1, made.aux.end());
    if (!scaled) return out;
    const Tensor back = scalar(1 / scale_, f32);
    for (Tensor& gradient : out.gradients) gradient = gradient.cast(f32) * back;
    return out;
}

Step::Recorded Step::record(const std::vector<Tensor>& batch) {
    Slopes made = slopes(batch);
    if (!sums_.empty() && sums_.size() != made.gradients.size())
        throw ArgumentError(
            fmt::format("Step: {} parameters are trained now, and gradients of {} are averaged: "
                        "what is trained must not change between calls",
                        made.gradients.size(), sums_.size()));
    Recorded out{.result = {.loss = made.loss}, .targets = {made.loss}};
    const std::vector<Tensor*> buffers = buffers_of(model_);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        *buffers[i] = made.buffers[i];
        out.targets.push_back(made.buffers[i]);
    }
    ++calls_;
    out.result.updated = calls_ % options_.accumulate == 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
        sums_[i] = sums_[i] + made.gradients[i].cast(sums_[i].dtype());
        if (out.result.updated) {
            made.gradients[i] = sums_[i] / static_cast<double>(options_.accumulate);
            sums_[i] = zeros_like(sums_[i]);
        }
        out.targets.push_back(sums_[i]);
    }
    if (out.result.updated) update(std::move(made.gradients), out);
    return out;
}

void Step::update(std::vector<Tensor> gradients, Recorded& out) {
    if (options_.loss_scale) {
        out.finite = all_finite(gradients);
        out.targets.push_back(out.finite);
    }
    if (options_.clip_value > 0) gradients = optim::clip_by_value(gradients, options_.clip_value);
    if (options_.clip_norm > 0) {
        optim::Clipped clipped = optim::clip_by_norm(gradients, options_.clip_norm);
        gradients = std::move(clipped.gradients);
        out.result.norm = clipped.norm;
        out.targets.push_back(clipped.norm);
    }
    optimizer_.step(model_, gradients, out.finite);
    for (const auto& [name, parameter] : model_.trainable()) out.targets.push_back(*parameter);
    for (const Tensor& kept : optimizer_.tensors()) out.targets.push_back(kept);
}

Explanation Step::explain(const std::vector<Tensor>& batch) {
    optimizer_.begin(model_);  // of parameters that are trained only now
    const NamedTensors model = model_.state();
    const NamedTensors optimizer = optimizer_.state();
    const NamedTensors own = state();
    const Explanation out = lazuli::explain(record(batch).targets);
    model_.load(model);
    optimizer_.load(optimizer);
    load(own);
    return out;
}

StepResult Step::operator()(const std::vector<Tensor>& batch) {
    const Recorded made = record(batch);
    eval(made.targets);
    StepResult out = made.result;
    if (!made.finite.defined()) return out;
    const LossScale& scale = *options_.loss_scale;
    if (!static_cast<bool>(made.finite)) {
        optimizer_.discount();
        out.updated = false;
        scale_ *= scale.shrink;
        finite_steps_ = 0;
    } else if (++finite_steps_ == scale.after) {
        scale_ *= scale.grow;
        finite_steps_ = 0;
    }
    return out;
}

NamedTensors Step::state() const {
    NamedTensors out{{"calls", full({}, calls_, i64)},
                     {"loss_scale", full({}, scale_, f64)},
                     {"finite_steps", full({}, finite_steps_, i64)}};
    for (std::size_t i = 0; i < sums_.size(); ++i)
        out.emplace_back(fmt::format("sum/{}", i), sums_[i]);
    return out;
}

void Step::load(const NamedTensors& state) {
    const std::map<std::string, Tensor> given(state.begin(), state.end());
    for (const std::string_view name : {"calls", "loss_scale", "finite_steps"})
        if (!given.contains(std::string(name)))
            throw ArgumentError(fmt::format("load: the state of a step has no {}", name));
    if (sums_.empty() && given.contains("sum/0"))
        throw ArgumentError("load: the step that was saved averaged gradients of several calls");
    std::vector<Tensor> sums;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
        const auto found = given.find(fmt::format("sum/{}", i));
        if (found == given.end())
            throw ArgumentError("load: the step that was saved averaged no gradients");
        const Shape& given_shape = found->second.shape();
        if (given_shape != sums_[i].shape())
            throw ShapeError(fmt::format("load: the sum of gradients {} is {}, and {} is given", i,
                                         sums_[i].shape().str(), given_shape.str()),
                             sums_[i].shape().str(), given_shape.str());
        sums.push_back(found->second);
    }
    sums_ = std::move(sums);
    calls_ = given.at("calls").item<std::int64_t>();
    scale_ = given.at("loss_scale").item<double>();
    finite_steps_ = given.at("finite_steps").item<std::int64_t>();
}

}  // namespace lazuli::train
