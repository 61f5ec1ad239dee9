#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lazuli::cpu {

/// Where the module of that file name is: beside this program or library, or where Lazuli was
/// installed; `given` instead, where it is not empty. Empty where it is nowhere.
std::filesystem::path find_module(std::string_view file, const std::string& given);

}  // namespace lazuli::cpu
