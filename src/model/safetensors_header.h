#pragma once

// The header of a safetensors file: 8 bytes that say how long it is, then JSON:
//
//     {"__metadata__": {"format": "pt"},
//      "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// Offsets count from behind the header. Every byte there belongs to one tensor.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazuli/shape.h"

namespace lazuli::model {

/// No header is longer. The format says so, lest a few bytes make readers allocate a lot.
inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

/// The key of the texts, which no tensor can have as its name.
inline constexpr std::string_view kMetadata = "__metadata__";

struct SafetensorsEntry {
    std::string name;
    TensorSpec spec;
    std::uint64_t begin = 0;  // in the file
    std::uint64_t end = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries;  // by their place in the file
    std::map<std::string, std::string> metadata;
};

/// Reads the header of a file. FileError, naming `path`, unless every tensor lies in the file with
/// as many bytes as its type and sizes need, and all of them fill it without gap or overlap.
SafetensorsHeader read_header(const std::string& path, std::span<const std::byte> file);

/// The bytes of a file before the tensors, which then lie one behind the other in this order. They
/// are padded, so that the first tensor starts on a multiple of 64.
std::string write_header(std::span<const std::pair<std::string, TensorSpec>> tensors,
                         const std::map<std::string, std::string>& metadata);

}  // namespace lazuli::model
