#pragma once

// The header of a .npy file: a magic, a version, a Python dictionary as text.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/open_file.h"
#include "lazuli/shape.h"

namespace lazuli::frontend {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// What a .npy file has, and where.
struct NpyHeader {
    TensorSpec spec;
    bool swapped = false;     // the elements' bytes are in the other order
    bool fortran = false;     // the first index runs fastest
    std::uint64_t begin = 0;  // of the elements in the file
};

/// How numpy spells an element type, without its byte order.
std::string_view npy_code(DType dtype);

/// Reads the header. FileError where it is none, of a type that is not supported, or where the file
/// has fewer elements than it says.
NpyHeader read_npy_header(const OpenFile& file);

/// Makes elements as they lie in a file what they are in memory.
void make_native(const NpyHeader& header, std::span<unsigned char> elements);

}  // namespace lazuli::frontend
