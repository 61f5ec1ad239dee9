#include <fmt/format.h>

#include <string_view>

#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "lazuli/train.h"

namespace lazuli::train {

namespace {

// A checkpoint is one file: what belongs to whom stands before the names.
constexpr std::string_view kModel = "model/";
constexpr std::string_view kOptimizer = "optimizer/";
constexpr std::string_view kStep = "step/";

void put(NamedTensors& out, std::string_view owner, const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) out.emplace_back(std::string(owner) + name, tensor);
}

/// The tensors of an owner, copied out of the mapped file: training overwrites them.
NamedTensors taken(const NamedTensors& all, std::string_view owner) {
    NamedTensors out;
    for (const auto& [name, tensor] : all)
        if (name.starts_with(owner))
            out.emplace_back(name.substr(owner.size()), tensor.contiguous());
    return out;
}

}  // namespace

void save_checkpoint(const std::string& path, nn::Module& model, const optim::Optimizer& optimizer,
                     const Step& step, const std::map<std::string, std::string>& notes) {
    NamedTensors all;
    put(all, kModel, model.state());
    put(all, kOptimizer, optimizer.state());
    put(all, kStep, step.state());
    save_safetensors(path, all, notes);
}

std::map<std::string, std::string> load_checkpoint(const std::string& path, nn::Module& model,
                                                   optim::Optimizer& optimizer, Step& step) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    const NamedTensors all = file.tensors();
    const NamedTensors steps = taken(all, kStep);
    if (steps.empty()) throw FileError(path, "it is no checkpoint: it knows of no steps");
    const NamedTensors before = model.state();
    model.load(taken(all, kModel));
    try {
        const NamedTensors kept = optimizer.state();
        optimizer.load(taken(all, kOptimizer));
        try {
            step.load(steps);
        } catch (...) {
            optimizer.load(kept);
            throw;
        }
    } catch (...) {
        model.load(before);
        throw;
    }
    return file.metadata();
}

}  // namespace lazuli::train
