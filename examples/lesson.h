#pragma once

// What the lessons on training share: their options, time, and a picture at the end.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace lesson {

/// What stands behind a lesson's name: files, and --quick for sizes that a test has time for.
struct Options {
    bool quick = false;
    std::vector<std::string> files = {};
    /// A file that was given, or one of this repository.
    std::string file(std::size_t i, const char* otherwise) const {
        return i < files.size() ? files[i] : std::string(LAZULI_SOURCE_DIR) + "/" + otherwise;
    }
};

inline Options options(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--quick")
            out.quick = true;
        else
            out.files.emplace_back(argv[i]);
    }
    return out;
}

/// Seconds since it was made.
class Clock {
   public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

   private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Where a lesson's files go: beside what it was built into.
inline std::string place(const std::string& name) { return LAZULI_LESSONS_DIR "/" + name; }

inline void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    std::printf("wrote %s\n", path.c_str());
}

}  // namespace lesson
