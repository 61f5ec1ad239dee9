#pragma once

/// @file
/// The passes that programs go through before they become kernels, and their switches. Plans made
/// under other switches are other plans.

#include <string_view>
#include <vector>

namespace lazuli {

/// The names of the passes, in the order in which they run.
std::vector<std::string_view> pass_names();
/// Whether a pass runs. ArgumentError where there is none of that name.
bool pass_enabled(std::string_view name);
/// Switches a pass on or off, for the whole process.
void set_pass_enabled(std::string_view name, bool on);

}  // namespace lazuli
