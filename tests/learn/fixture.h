#pragma once

// What PyTorch computed (fixtures/README.md), and what tests of learning have in common.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lazuli/nn.h"
#include "lazuli/safetensors.h"

namespace lazuli::tests {

/// A fixture: its numbers, and what they are of.
struct Fixture {
    explicit Fixture(const std::string& name);
    nlohmann::json described;
    SafetensorsFile file;
    /// A tensor.
    Tensor operator[](const std::string& name) const;
    /// The entries along the first axis of a tensor, each in memory of its own.
    std::vector<Tensor> entries(const std::string& name) const;
};

/// The greatest difference of two tensors' elements; infinite where shapes differ, or where one is
/// NaN.
double apart(const Tensor& a, const Tensor& b);
/// The same, of differences divided by the greater of 1 and the element of `want`.
double relatively_apart(const Tensor& got, const Tensor& want);
/// The largest magnitude.
double largest(const Tensor& x);

/// The bytes of a tensor's elements.
std::string bits(const Tensor& x);
/// The bytes of all tensors of a state, by name.
std::map<std::string, std::string> bits(const NamedTensors& state);

/// The gradients of a model's trained parameters, by name.
std::map<std::string, Tensor> gradients_of(nn::Module& model, const std::function<Tensor()>& loss);

/// A module that is nothing but parameters.
struct Bag : nn::Module {
    std::map<std::string, nn::Parameter> held;
    void parts(nn::Parts& parts) override {
        for (auto& [name, parameter] : held) parts(name, parameter);
    }
};

}  // namespace lazuli::tests
