#pragma once

// A process that does nothing but save, until it is killed.

#include <string>

#include "lazuli/safetensors.h"

namespace lazuli::tests {

/// The option that makes the test program such a process.
inline constexpr const char* kSaveForever = "--save-forever";

/// One of two contents, which differ in everything: names, sizes, numbers and metadata.
struct Content {
    explicit Content(int which);
    void save(const std::string& path) const;
    NamedTensors tensors;
    std::map<std::string, std::string> metadata;
};

/// Saves both in turn. Prints a line when the first is there.
[[noreturn]] void save_forever(const std::string& path);

}  // namespace lazuli::tests
