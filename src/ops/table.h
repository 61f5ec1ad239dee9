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
std::vector<OpDef> einsum();
std::vector<OpDef> indexing();
std::vector<OpDef> random();
std::vector<OpDef> composites();
std::vector<OpDef> attention();
std::vector<OpDef> bundles();
std::vector<OpDef> control();
std::vector<OpDef> differentiation();
std::vector<OpDef> linalg_factor();
std::vector<OpDef> linalg_spectral();
std::vector<OpDef> linalg_solve();
std::vector<OpDef> fourier();
std::vector<OpDef> scan();
std::vector<OpDef> sorting();
std::vector<OpDef> placing();
std::vector<OpDef> custom();
std::vector<OpDef> elementwise_more();
std::vector<OpDef> complex_parts();
std::vector<OpDef> statistics();
std::vector<OpDef> distributions();

std::vector<OpDef> activations();
std::vector<OpDef> norms();
std::vector<OpDef> losses();
std::vector<OpDef> at_positions();
std::vector<OpDef> pooling();
std::vector<OpDef> convolution_transpose();
std::vector<OpDef> attention_general();
std::vector<OpDef> rwkv7();
std::vector<OpDef> time_mix_v7();
std::vector<OpDef> time_mix_v7_grad();

}  // namespace lazuli::ops
