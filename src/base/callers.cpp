#include "base/callers.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

extern char** environ;

namespace lazuli {

namespace {

struct Place {
    std::string function;
    std::string file;  // with the line; empty: unknown
};

/// What a program prints; empty where it cannot be run.
std::string output_of(const std::vector<std::string>& command) {
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) return {};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe[1]);
    std::string out;
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; failed == 0 && (n = read(pipe[0], piece.data(), piece.size())) > 0;)
        out.append(piece.data(), static_cast<std::size_t>(n));
    close(pipe[0]);
    if (failed == 0) waitpid(child, nullptr, 0);
    return out;
}

/// The places that an address stands for, innermost first: inlined functions have several.
std::vector<Place> look_up(void* address) {
    Dl_info info{};
    // A return address may lie behind the last line of a function.
    const auto at = reinterpret_cast<std::uintptr_t>(address) - 1;
    if (dladdr(reinterpret_cast<void*>(at), &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string module =
        std::filesystem::exists(info.dli_fname) ? info.dli_fname : "/proc/self/exe";
    const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    // Pairs of lines: a function, and its file with the line.
    std::istringstream lines(
        output_of({"addr2line", "-C", "-f", "-i", "-e", module, fmt::format("{:#x}", offset)}));
    std::vector<Place> out;
    Place place;
    while (std::getline(lines, place.function) && std::getline(lines, place.file)) {
        place.file = place.file.substr(0, place.file.find(" (discriminator"));
        // Without debug information there may be a file, but no line.
        if (place.file.ends_with('?') || place.file.ends_with(":0")) place.file.clear();
        place.file = std::filesystem::path(place.file).lexically_normal().string();
        out.push_back(place);
    }
    if (out.empty() || (out.size() == 1 && out[0].file.empty() && out[0].function == "??")) {
        const std::string name = std::filesystem::path(module).filename();
        return {{info.dli_sname != nullptr ? info.dli_sname : fmt::format("{}+{:#x}", name, offset),
                 ""}};
    }
    return out;
}

constexpr std::array kFolders{"/include/lazuli/", "/src/frontend/", "/src/ir/",   "/src/ops/",
                              "/src/runtime/",    "/src/base/",     "/src/model/"};

/// Where the folders of the engine are, as far as the places seen tell: the debug information of
/// one library may know several, where parts of it were compiled elsewhere.
class Roots {
   public:
    /// Whether a file is the engine's, whatever its functions are called: those without a
    /// namespace of their own are known by bare names.
    bool hold(std::string_view file) const {
        return std::ranges::any_of(roots_, [&](const std::string& root) {
            return file.starts_with(root) &&
                   std::ranges::any_of(kFolders, [&](std::string_view folder) {
                       return file.substr(root.size()).starts_with(folder);
                   });
        });
    }
    void learn(const std::string& file) {
        for (const std::string_view folder : kFolders)
            if (const std::size_t at = file.find(folder); at != std::string::npos)
                roots_.insert(file.substr(0, at));
    }

   private:
    std::set<std::string> roots_;
};

/// Whether a place is not where a user would look: the engine's, or the standard library's.
bool is_inner(const Place& place, Roots& roots) {
    if (roots.hold(place.file)) return true;
    const auto in = [&](std::string_view folder) {
        return place.file.find(folder) != std::string::npos;
    };
    // Files outside of the engine may be in its namespace, as tests are.
    const bool ours = place.function.starts_with("lazuli::") ||
                      place.function.starts_with("_ZN6lazuli") ||
                      place.function.starts_with("_ZNK6lazuli");
    if (ours && place.file.empty()) return true;
    if (ours && std::ranges::any_of(kFolders, in)) {
        roots.learn(place.file);
        return true;
    }
    return place.function.starts_with("std::") || place.function.starts_with("__") ||
           place.function.starts_with("_start") || in("/include/c++/");
}

}  // namespace

std::vector<void*> callers(std::size_t skipped) {
    std::array<void*, 48> addresses{};
    const int count = backtrace(addresses.data(), static_cast<int>(addresses.size()));
    const auto all = std::span(addresses).first(static_cast<std::size_t>(count));
    const auto kept = all.subspan(std::min(skipped + 1, all.size()));
    std::vector<void*> out(kept.begin(), kept.end());
    return out;
}

std::string place_of(std::span<void* const> addresses) {
    static std::mutex mutex;
    static std::map<void*, std::vector<Place>>& known = *new std::map<void*, std::vector<Place>>;
    static Roots& roots = *new Roots;
    const std::scoped_lock lock(mutex);
    for (void* address : addresses) {
        const auto [at, is_new] = known.try_emplace(address);
        if (is_new) at->second = look_up(address);
        for (const Place& place : at->second) {
            if (is_inner(place, roots)) continue;
            return place.file.empty() ? place.function
                                      : fmt::format("{} in {}", place.file, place.function);
        }
    }
    return {};
}

}  // namespace lazuli
