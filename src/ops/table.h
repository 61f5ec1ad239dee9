#pragma once

// The built-in records, a file a family. table.cpp lists the families in order; that list is the
// only place that names them.

#include <vector>

#include "lazuli/op.h"

namespace lazuli::ops {

std::vector<OpDef> leaves();
std::vector<OpDef> elementwise();
std::vector<OpDef> functions();
std::vector<OpDef> rounding();
std::vector<OpDef> bits();
std::vector<OpDef> comparison();
std::vector<OpDef> reduction();
std::vector<OpDef> movement();
std::vector<OpDef> contraction();
std::vector<OpDef> convolution();
std::vector<OpDef> indexing();
std::vector<OpDef> random();
std::vector<OpDef> composites();
std::vector<OpDef> attention();
std::vector<OpDef> bundles();
std::vector<OpDef> custom();

std::vector<OpDef> activations();
std::vector<OpDef> norms();
std::vector<OpDef> losses();
std::vector<OpDef> at_positions();
std::vector<OpDef> pooling();
std::vector<OpDef> convolution_transpose();
std::vector<OpDef> attention_general();
std::vector<OpDef> rwkv7();
std::vector<OpDef> time_mix_v7();

}  // namespace lazuli::ops
