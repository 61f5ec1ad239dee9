#include "lazuli/nn/module.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <typeinfo>

#include "lazuli/error.h"
#include "lazuli/ops.h"
#include "nn/summary.h"

namespace lazuli::nn {

// ---- walking

std::string Parts::full(std::string_view name) const {
    return prefix_.empty() ? std::string(name) : fmt::format("{}.{}", prefix_, name);
}

Parts& Parts::operator()(std::string_view name, Parameter& parameter) {
    if (parameter.defined() && visitor_.parameter) visitor_.parameter(full(name), parameter);
    return *this;
}

Parts& Parts::operator()(std::string_view name, Tensor& buffer) {
    if (buffer.defined() && visitor_.buffer) visitor_.buffer(full(name), buffer);
    return *this;
}

Parts& Parts::operator()(std::string_view name, Module& module) {
    Parts(visitor_, full(name)).enter(module);
    return *this;
}

void Parts::enter(Module& module) {
    if (visitor_.module) visitor_.module(prefix_, module);
    module.parts(*this);
}

void walk(Module& module, const Visitor& visitor) { Parts(visitor, "").enter(module); }

bool matches(std::string_view pattern, std::string_view name) {
    // Where the last star stands, and what it took so far: it takes one character more wherever the
    // rest does not fit.
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t taken = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// ---- modules

std::string Module::kind() const {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status), std::free);
    const std::string text = status == 0 ? name.get() : typeid(*this).name();
    const std::size_t end = text.rfind("::");
    return end == std::string::npos ? text : text.substr(end + 2);
}

std::vector<NamedParameter> Module::parameters() {
    std::vector<NamedParameter> out;
    walk(*this, {.parameter = [&](const std::string& name, Parameter& parameter) {
        out.push_back({name, &parameter});
    }});
    return out;
}

std::vector<NamedParameter> Module::trainable() {
    std::vector<NamedParameter> out = parameters();
    std::erase_if(out, [](const NamedParameter& p) { return !p.parameter->trainable; });
    return out;
}

std::size_t Module::set_trainable(std::string_view pattern, bool trainable) {
    std::size_t count = 0;
    for (const auto& [name, parameter] : parameters()) {
        if (!matches(pattern, name)) continue;
        parameter->trainable = trainable;
        ++count;
    }
    return count;
}

std::int64_t Module::count(bool only_trainable) {
    std::int64_t out = 0;
    for (const auto& [name, parameter] : only_trainable ? trainable() : parameters())
        out += parameter->numel();
    return out;
}

void Module::train(bool on) {
    walk(*this, {.module = [&](const std::string&, Module& module) { module.training_ = on; }});
}

NamedTensors Module::state() {
    NamedTensors out;
    walk(*this, {.parameter = [&](const std::string& name,
                                  Parameter& parameter) { out.emplace_back(name, parameter); },
                 .buffer = [&](const std::string& name,
                               Tensor& buffer) { out.emplace_back(name, buffer); }});
    return out;
}

namespace {

/// The tensors of a module by their names.
std::map<std::string, Tensor*> places_of(Module& module) {
    std::map<std::string, Tensor*> out;
    walk(module, {.parameter = [&](const std::string& name,
                                   Parameter& parameter) { out[name] = &parameter; },
                  .buffer = [&](const std::string& name, Tensor& buffer) { out[name] = &buffer; }});
    return out;
}

void expect_all(const std::string& kind, const std::map<std::string, Tensor*>& places,
                const std::map<std::string, Tensor>& given) {
    std::vector<std::string> missing;
    std::vector<std::string> unknown;
    for (const auto& [name, place] : places)
        if (!given.contains(name)) missing.push_back(name);
    for (const auto& [name, tensor] : given)
        if (!places.contains(name)) unknown.push_back(name);
    if (missing.empty() && unknown.empty()) return;
    std::string text = fmt::format("load: the tensors are not those of {}", kind);
    if (!missing.empty()) text += fmt::format("; missing: {}", fmt::join(missing, ", "));
    if (!unknown.empty()) text += fmt::format("; unknown: {}", fmt::join(unknown, ", "));
    throw ArgumentError(text);
}

}  // namespace

void Module::load(const NamedTensors& state, const LoadOptions& options) {
    const std::map<std::string, Tensor*> places = places_of(*this);
    const std::map<std::string, Tensor> given(state.begin(), state.end());
    if (options.strict) expect_all(kind(), places, given);
    std::vector<std::pair<Tensor*, Tensor>> changes;
    for (const auto& [name, tensor] : given) {
        const auto found = places.find(name);
        if (found == places.end()) continue;
        Tensor& place = *found->second;
        if (tensor.shape() != place.shape()) {
            throw ShapeError(fmt::format("load: {} is {}, and {} is given", name,
                                         place.shape().str(), tensor.shape().str()),
                             place.shape().str(), tensor.shape().str());
        }
        if (is_floating(tensor.dtype()) != is_floating(place.dtype())) {
            throw DTypeError(fmt::format("load: {} is {}, and {} is given", name,
                                         lazuli::name(place.dtype()),
                                         lazuli::name(tensor.dtype())));
        }
        changes.emplace_back(&place,
                             tensor.dtype() == place.dtype() ? tensor : tensor.cast(place.dtype()));
    }
    for (auto& [place, tensor] : changes) *place = std::move(tensor);
}

void Module::save_file(const std::string& path) { save_safetensors(path, state()); }

void Module::load_file(const std::string& path, const LoadOptions& options) {
    load(SafetensorsFile::open(path).tensors(), options);
}

void Module::cast(DType dtype) {
    for (const auto& [name, place] : places_of(*this))
        if (is_floating(place->dtype())) *place = place->cast(dtype);
}

std::string Module::summary() { return summary_of(*this); }

// ---- sequences

Layer& Sequential::operator[](std::size_t i) {
    if (i >= layers_.size())
        throw ArgumentError(
            fmt::format("Sequential: there is no layer {}: there are {}", i, layers_.size()));
    return *layers_[i].layer;
}

void Sequential::parts(Parts& parts) {
    for (std::size_t i = 0; i < layers_.size(); ++i) parts(std::to_string(i), *layers_[i].layer);
}

Tensor Sequential::operator()(const Tensor& x) const {
    Tensor out = x;
    for (const Held& held : layers_) out = (*held.layer)(out);
    return out;
}

}  // namespace lazuli::nn
