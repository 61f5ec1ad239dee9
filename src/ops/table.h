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
std::vector<OpDef> scan();
std::vector<OpDef> sorting();
std::vector<OpDef> placing();
std::vector<OpDef> custom();

}  // namespace lazuli::ops
