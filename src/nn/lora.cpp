#include "lazuli/nn/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "lazuli/error.h"
#include "lazuli/factories.h"
#include "lazuli/nn/init.h"
#include "lazuli/nn/layers.h"
#include "lazuli/ops.h"

namespace lazuli::nn {

namespace {

using NamedLinear = std::pair<std::string, Linear*>;

std::vector<NamedLinear> linears_of(Module& model) {
    std::vector<NamedLinear> out;
    walk(model, {.module = [&](const std::string& name, Module& module) {
             if (auto* linear = dynamic_cast<Linear*>(&module)) out.emplace_back(name, linear);
         }});
    return out;
}

std::string names_text(const std::vector<NamedLinear>& linears) {
    std::vector<std::string> names;
    for (const auto& [name, linear] : linears) names.push_back(name);
    return fmt::format("{}", fmt::join(names, ", "));
}

void expect_adapter(std::string_view op, Module& model, const std::string& name) {
    const std::vector<std::string> names = lora_names(model);
    if (std::ranges::find(names, name) != names.end()) return;
    throw ArgumentError(
        fmt::format("{}: there is no adapter {}; there are: {}", op, name,
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

/// Puts the weight back that was before a merge.
void take_out(Linear& linear) {
    for (auto& [name, adapter] : linear.adapters) {
        if (!adapter.merged) continue;
        linear.weight = std::move(adapter.merged_into);
        adapter.merged_into = Tensor();
        adapter.merged = false;
    }
}

/// What an adapter in a file is called, from its layer on.
constexpr std::string_view kDown = ".lora_A.weight";
constexpr std::string_view kUp = ".lora_B.weight";

double number_in(const std::map<std::string, std::string>& metadata, const std::string& path,
                 const std::string& key, double otherwise) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return otherwise;
    try {
        std::size_t used = 0;
        const double number = std::stod(found->second, &used);
        if (used == found->second.size() && number >= 0) return number;
    } catch (const std::exception&) {  // told below
    }
    throw FileError(path, fmt::format("{} is no number: {}", key, found->second));
}

}  // namespace

namespace {

void expect_name(std::string_view op, const std::string& name) {
    if (!name.empty() && name.find('.') == std::string::npos) return;
    throw ArgumentError(
        fmt::format("{}: {:?} is no name of an adapter: it is empty, or has a dot", op, name));
}

/// Throws where a weight before a merge of adapters (of this name, where one is given) was not
/// kept, before anything is changed.
void expect_kept(const std::vector<NamedLinear>& linears, const std::string& only = {}) {
    for (const auto& [layer, linear] : linears) {
        for (const auto& [name, adapter] : linear->adapters) {
            if (!adapter.merged || adapter.merged_into.defined()) continue;
            if (!only.empty() && name != only) continue;
            throw ArgumentError(fmt::format(
                "unmerge_lora: the weight of {} before {} was merged was not kept", layer, name));
        }
    }
}

}  // namespace

std::vector<std::string> add_lora(Module& model, const LoraOptions& options) {
    if (options.rank < 1)
        throw ArgumentError(fmt::format("add_lora: a rank of {}, below 1", options.rank));
    if (!(options.dropout >= 0 && options.dropout < 1))
        throw ArgumentError(
            fmt::format("add_lora: a dropout of {}, not from 0 to below 1", options.dropout));
    expect_name("add_lora", options.name);
    const auto linears = linears_of(model);
    std::vector<NamedLinear> chosen;
    for (const auto& [name, linear] : linears) {
        if (std::ranges::any_of(options.layers,
                                [&](const auto& pattern) { return matches(pattern, name); }))
            chosen.emplace_back(name, linear);
    }
    if (chosen.empty())
        throw ArgumentError(fmt::format("add_lora: no Linear layer matches {}; there are: {}",
                                        fmt::join(options.layers, ", "), names_text(linears)));
    for (const auto& [name, linear] : linears)
        if (linear->adapters.contains(options.name))
            throw ArgumentError(
                fmt::format("add_lora: {} has an adapter {} already", name, options.name));
    unmerge_lora(model);
    model.set_trainable("*", false);
    std::vector<std::string> out;
    for (const auto& [name, linear] : chosen) {
        const Shape& shape = linear->weight.shape();
        const DType dtype = linear->weight.dtype();
        Adapter adapter;
        adapter.down = tensor(init::kaiming_uniform({options.rank, shape[1]}, 1), dtype);
        adapter.up = zeros({shape[0], options.rank}, dtype);
        adapter.scale = options.alpha / static_cast<double>(options.rank);
        adapter.dropout = options.dropout;
        linear->adapters[options.name] = std::move(adapter);
        out.push_back(name);
    }
    use_lora(model, options.name);
    return out;
}

void use_lora(Module& model, const std::string& name) {
    if (!name.empty()) expect_adapter("use_lora", model, name);
    unmerge_lora(model);
    for (const auto& [layer, linear] : linears_of(model)) {
        linear->active = linear->adapters.contains(name) ? name : "";
        // One that is not in use has no gradients, and decay would wear it down.
        for (auto& [own, adapter] : linear->adapters)
            adapter.down.trainable = adapter.up.trainable = own == name;
    }
}

std::vector<std::string> lora_names(Module& model) {
    std::set<std::string> names;
    for (const auto& [layer, linear] : linears_of(model))
        for (const auto& [name, adapter] : linear->adapters) names.insert(name);
    return {names.begin(), names.end()};
}

void remove_lora(Module& model, const std::string& name) {
    expect_adapter("remove_lora", model, name);
    expect_kept(linears_of(model), name);
    for (const auto& [layer, linear] : linears_of(model)) {
        const auto found = linear->adapters.find(name);
        if (found == linear->adapters.end()) continue;
        if (found->second.merged) take_out(*linear);
        linear->adapters.erase(found);
        if (linear->active == name) linear->active.clear();
    }
}

void merge_lora(Module& model, bool keep) {
    for (const auto& [layer, linear] : linears_of(model)) {
        const auto found = linear->adapters.find(linear->active);
        if (found == linear->adapters.end() || found->second.merged) continue;
        Adapter& adapter = found->second;
        const Tensor& old = linear->weight;
        // In f32 at least, so that a narrow weight is rounded once.
        const DType wide = size_of(old.dtype()) < 4 ? f32 : old.dtype();
        const Tensor product = matmul(adapter.up.cast(wide), adapter.down.cast(wide));
        const Tensor merged = (old.cast(wide) + product * adapter.scale).cast(old.dtype());
        if (keep) adapter.merged_into = old;
        linear->weight = merged;
        adapter.merged = true;
    }
}

void unmerge_lora(Module& model) {
    const auto linears = linears_of(model);
    expect_kept(linears);
    for (const auto& [layer, linear] : linears) take_out(*linear);
}

void save_lora(Module& model, const std::string& path, const std::string& name) {
    expect_adapter("save_lora", model, name);
    NamedTensors tensors;
    std::map<std::string, std::string> metadata;
    for (const auto& [layer, linear] : linears_of(model)) {
        const auto found = linear->adapters.find(name);
        if (found == linear->adapters.end()) continue;
        const Adapter& adapter = found->second;
        tensors.emplace_back(layer + std::string(kDown), adapter.down);
        tensors.emplace_back(layer + std::string(kUp), adapter.up);
        const auto rank = static_cast<double>(adapter.down.size(0));
        metadata["rank"] = fmt::format("{}", rank);
        metadata["alpha"] = fmt::format("{}", adapter.scale * rank);
        metadata["dropout"] = fmt::format("{}", adapter.dropout);
    }
    save_safetensors(path, tensors, metadata);
}

void load_lora(Module& model, const std::string& path, const std::string& name) {
    expect_name("load_lora", name);
    const SafetensorsFile file = SafetensorsFile::open(path);
    const auto linears = linears_of(model);
    std::vector<std::pair<Linear*, Adapter>> made;
    for (const std::string& key : file.names()) {
        if (key.ends_with(kUp)) continue;  // comes with its other half
        const std::string layer(key.substr(0, key.size() - std::min(key.size(), kDown.size())));
        if (!key.ends_with(kDown) || !file.contains(layer + std::string(kUp)))
            throw FileError(path, fmt::format("{} is not half of an adapter", key));
        const auto found = std::ranges::find(linears, layer, &NamedLinear::first);
        if (found == linears.end())
            throw ArgumentError(
                fmt::format("load_lora: {} has an adapter for {}, and the Linear "
                            "layers are: {}",
                            path, layer, names_text(linears)));
        Linear& linear = *found->second;
        Adapter adapter;
        adapter.down = tensor(file.tensor(key), linear.weight.dtype());
        adapter.up = tensor(file.tensor(layer + std::string(kUp)), linear.weight.dtype());
        const Shape& weight = linear.weight.shape();
        const Shape& down = adapter.down.shape();
        const Shape& up = adapter.up.shape();
        if (down.rank() != 2 || up.rank() != 2 || down[0] != up[1] || down[1] != weight[1] ||
            up[0] != weight[0])
            throw ShapeError(fmt::format("load_lora: {} has {} @ {} for {}, whose weight is {}",
                                         path, up.str(), down.str(), layer, weight.str()),
                             weight.str(), up.str());
        const auto rank = static_cast<double>(down[0]);
        adapter.scale = number_in(file.metadata(), path, "alpha", rank) / rank;
        adapter.dropout = number_in(file.metadata(), path, "dropout", 0);
        made.emplace_back(&linear, std::move(adapter));
    }
    if (made.empty()) throw FileError(path, "there is no adapter in it");
    unmerge_lora(model);
    for (auto& [linear, adapter] : made) linear->adapters[name] = std::move(adapter);
    use_lora(model, name);
}

}  // namespace lazuli::nn
