#pragma once

// The parts of `lazuli report`.

#include <nlohmann/json.hpp>
#include <string>

#include "lazuli/program.h"

namespace lazuli::cli {

/// A program with its kernels as boxes, in Graphviz's language.
std::string graph_of(const Program& program, const nlohmann::ordered_json& kernels);
/// The same as an SVG; empty where Graphviz is not there or does not manage.
std::string laid_out(const std::string& dot);

}  // namespace lazuli::cli
