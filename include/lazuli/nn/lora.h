#pragma once

/// @file
/// LoRA: adapters of low rank for the Linear layers of a model. Hu et al., 2021.

#include <string>
#include <vector>

#include "lazuli/nn/module.h"

namespace lazuli::nn {

/// Which layers get adapters, and of what kind.
struct LoraOptions {
    std::vector<std::string> layers = {"*"};  ///< Patterns of the names of Linear layers.
    std::int64_t rank = 8;                    ///< Of the adapters.
    double alpha = 16;                        ///< They are scaled by alpha / rank.
    double dropout = 0;                       ///< The share of their inputs that training drops.
    std::string name = "default";             ///< A model may have several.
};

/// Gives an adapter to each Linear layer whose name matches one of the patterns, makes it the one
/// in use, and leaves nothing else to be trained. At first it changes nothing: one of its factors
/// is 0. Returns the names of the layers; ArgumentError listing all Linear layers where none
/// matches, or where there is an adapter of that name; then nothing has changed.
std::vector<std::string> add_lora(Module& model, const LoraOptions& options);
/// Makes another adapter the one in use, or none where the name is empty: the weights stay where
/// they are. Of the adapters it alone is trained. One that is merged is taken out first.
/// ArgumentError listing those that there are.
void use_lora(Module& model, const std::string& name);
/// The names of the adapters of a model.
std::vector<std::string> lora_names(Module& model);
/// Takes an adapter away.
void remove_lora(Module& model, const std::string& name);

/// Adds the adapters in use to their weights, so that a call costs what it did without them. The
/// weights before are kept, or dropped where `keep` is off.
void merge_lora(Module& model, bool keep = true);
/// Puts the weights back, bit by bit, that `merge_lora` kept. ArgumentError where it did not.
void unmerge_lora(Module& model);

/// Writes an adapter to a safetensors file.
void save_lora(Module& model, const std::string& path, const std::string& name = "default");
/// Reads an adapter from a file, gives it to the layers that the file names, and makes it the one
/// in use. It takes the place of one of the same name. ArgumentError where a layer is missing, and
/// ShapeError where one has other sizes; then nothing has changed.
void load_lora(Module& model, const std::string& path, const std::string& name = "default");

}  // namespace lazuli::nn
