#include "backend/cpu/modules.h"

#include <dlfcn.h>

#include <vector>

/// Where an installed compiler is; in programs that were built against an installed Lazuli. Other
/// modules are beside it.
extern "C" const char* lazuli_module_place() __attribute__((weak));

namespace lazuli::cpu {

std::filesystem::path find_module(std::string_view file, const std::string& given) {
    std::vector<std::filesystem::path> places;
    std::error_code error;
    if (!given.empty()) {
        places.emplace_back(given);
    } else {
        Dl_info info;
        if (dladdr(reinterpret_cast<void*>(&find_module), &info) != 0 &&
            info.dli_fname != nullptr) {
            auto here = std::filesystem::canonical(info.dli_fname, error).parent_path();
            if (error) here = std::filesystem::canonical("/proc/self/exe", error).parent_path();
            places.push_back(here / file);
            places.push_back(here / ".." / "lib" / "lazuli" / file);
        }
        if (lazuli_module_place != nullptr)
            places.push_back(std::filesystem::path(lazuli_module_place()).parent_path() / file);
    }
    for (const auto& place : places) {
        if (std::filesystem::is_regular_file(place, error)) return place;
    }
    return {};
}

}  // namespace lazuli::cpu
