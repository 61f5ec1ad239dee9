#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/ops.h"
#include "lazuli/optim.h"

namespace lazuli::optim {

namespace {

constexpr std::string_view kMaster = "master";
constexpr std::string_view kCount = "count";

bool is_narrow(const Tensor& parameter) { return size_of(parameter.dtype()) < 4; }

DType computed_in(const Tensor& parameter) {
    return is_narrow(parameter) ? f32 : parameter.dtype();
}

}  // namespace

Tensor StepInfo::number(double value) const { return scalar(value, dtype); }

double Optimizer::lr() const { return options_.lr * options_.schedule(count_); }

Slots& Optimizer::slots_of(const std::string& name, const Tensor& parameter) {
    const auto [found, is_new] = slots_.try_emplace(name);
    if (is_new) {
        const Tensor wide = parameter.cast(computed_in(parameter));
        if (is_narrow(parameter) && options_.master_weights) found->second.emplace(kMaster, wide);
        remember(wide, found->second);
    }
    return found->second;
}

void Optimizer::begin(nn::Module& model) {
    std::vector<Tensor> made;
    for (const auto& [name, parameter] : model.trainable()) {
        for (const auto& [slot, tensor] : slots_of(name, *parameter)) made.push_back(tensor);
    }
    eval(made);
}

void Optimizer::step(nn::Module& model, std::span<const Tensor> gradients, const Tensor& accept) {
    const std::vector<nn::NamedParameter> parameters = model.trainable();
    if (parameters.size() != gradients.size())
        throw ArgumentError(fmt::format("step: {} gradients for {} parameters that are trained",
                                        gradients.size(), parameters.size()));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const auto& [name, parameter] = parameters[i];
        if (gradients[i].shape() != parameter->shape())
            throw ShapeError(
                fmt::format("step: the gradient of {} is {}, and the parameter {}", name,
                            gradients[i].shape().str(), parameter->shape().str()),
                parameter->shape().str(), gradients[i].shape().str());
    }
    begin(model);
    const double rate = lr();
    ++count_;
    const auto kept = [&](const Tensor& updated, const Tensor& old) {
        return accept.defined() ? select(accept, updated, old) : updated;
    };
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        nn::Parameter& parameter = *parameters[i].parameter;
        Slots& slots = slots_.at(parameters[i].name);
        const Slots before = accept.defined() ? slots : Slots();
        const DType dtype = computed_in(parameter);
        const auto master = slots.find(std::string(kMaster));
        const Tensor old = master != slots.end() ? master->second : parameter.cast(dtype);
        const Tensor updated =
            kept(update(old, gradients[i].cast(dtype), slots, {count_, rate, dtype}), old);
        if (master != slots.end()) master->second = updated;
        for (const auto& [slot, tensor] : before) {
            if (slot != kMaster) slots.at(slot) = kept(slots.at(slot), tensor);
        }
        parameter = updated.cast(parameter.dtype());
    }
}

NamedTensors Optimizer::state() const {
    NamedTensors out{{std::string(kCount), full({}, count_, i64)}};
    for (const auto& [name, slots] : slots_)
        for (const auto& [slot, tensor] : slots) out.emplace_back(slot + "/" + name, tensor);
    return out;
}

namespace {

/// A state that was made for parameters is replaced only by one that fits them.
void expect_fitting(const std::map<std::string, Slots>& have,
                    const std::map<std::string, Slots>& given) {
    std::vector<std::string> missing;
    std::vector<std::string> unknown;
    const auto compare = [](const auto& one, const auto& other, auto& only) {
        for (const auto& [name, slots] : one) {
            const auto found = other.find(name);
            for (const auto& [slot, tensor] : slots)
                if (found == other.end() || !found->second.contains(slot))
                    only.push_back(slot + "/" + name);
        }
    };
    compare(have, given, missing);
    compare(given, have, unknown);
    if (!missing.empty() || !unknown.empty()) {
        std::string text = "load: the state is not that of this optimiser and its model";
        if (!missing.empty()) text += fmt::format("; missing: {}", fmt::join(missing, ", "));
        if (!unknown.empty()) text += fmt::format("; unknown: {}", fmt::join(unknown, ", "));
        throw ArgumentError(text);
    }
    for (const auto& [name, slots] : have) {
        for (const auto& [slot, tensor] : slots) {
            const Tensor& other = given.at(name).at(slot);
            if (other.dtype() != tensor.dtype())
                throw DTypeError(fmt::format("load: {}/{} is {}, and {} is given", slot, name,
                                             lazuli::name(tensor.dtype()),
                                             lazuli::name(other.dtype())));
            if (other.shape() == tensor.shape()) continue;
            throw ShapeError(fmt::format("load: {}/{} is {}, and {} is given", slot, name,
                                         tensor.shape().str(), other.shape().str()),
                             tensor.shape().str(), other.shape().str());
        }
    }
}

}  // namespace

void Optimizer::load(const NamedTensors& state) {
    std::map<std::string, Slots> slots;
    std::int64_t count = -1;
    for (const auto& [name, tensor] : state) {
        if (name == kCount) {
            count = tensor.item<std::int64_t>();
            continue;
        }
        const std::size_t slash = name.find('/');
        if (slash == std::string::npos)
            throw ArgumentError(fmt::format("load: {} is nothing that an optimiser keeps", name));
        slots[name.substr(slash + 1)][name.substr(0, slash)] = tensor;
    }
    if (count < 0) throw ArgumentError("load: the state of an optimiser has no count");
    if (!slots_.empty()) expect_fitting(slots_, slots);
    slots_ = std::move(slots);
    count_ = count;
}

std::vector<Tensor> Optimizer::tensors() const {
    std::vector<Tensor> out;
    for (const auto& [name, slots] : slots_)
        for (const auto& [slot, tensor] : slots) out.push_back(tensor);
    return out;
}

}  // namespace lazuli::optim
