#include "frontend/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "lazuli/error.h"

namespace lazuli::frontend {

namespace {

struct TypeCode {
    DType dtype;
    std::string_view code;
};
constexpr TypeCode kCodes[] = {
    {DType::boolean, "b1"},
    {i8, "i1"},
    {i16, "i2"},
    {i32, "i4"},
    {i64, "i8"},
    {u8, "u1"},
    {u16, "u2"},
    {u32, "u4"},
    {u64, "u8"},
    {f16, "f2"},
    {bf16, "V2"},
    {f32, "f4"},
    {f64, "f8"},
    {c64, "c8"},
    {c128, "c16"},
};

/// The text behind `'key':` in the dictionary, up to the comma that ends it.
std::optional<std::string_view> entry(std::string_view dictionary, std::string_view key) {
    const std::size_t at = dictionary.find(fmt::format("'{}'", key));
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t begin = dictionary.find(':', at);
    if (begin == std::string_view::npos) return std::nullopt;
    ++begin;
    while (begin < dictionary.size() && dictionary[begin] == ' ') ++begin;
    int depth = 0;
    std::size_t end = begin;
    for (; end < dictionary.size(); ++end) {
        if (dictionary[end] == '(') ++depth;
        if (dictionary[end] == ')') --depth;
        if (depth <= 0 && (dictionary[end] == ',' || dictionary[end] == '}')) break;
    }
    std::string_view value = dictionary.substr(begin, end - begin);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\n')) value.remove_suffix(1);
    return value;
}

NpyHeader parse_dictionary(const std::string& path, std::string_view text) {
    const auto descr = entry(text, "descr");
    const auto order = entry(text, "fortran_order");
    const auto shape = entry(text, "shape");
    if (!descr || !order || !shape || descr->size() < 4 || shape->size() < 2 ||
        shape->front() != '(' || shape->back() != ')') {
        throw FileError(path, "the .npy header is not what numpy writes");
    }
    NpyHeader header;
    const char byte_order = (*descr)[1];
    const std::string_view code = descr->substr(2, descr->size() - 3);
    const auto it = std::find_if(std::begin(kCodes), std::end(kCodes),
                                 [&](const TypeCode& c) { return c.code == code; });
    if (it == std::end(kCodes))
        throw FileError(path, fmt::format("element type {} is not supported", *descr));
    header.spec.dtype = it->dtype;
    header.swapped = byte_order == '>';
    header.fortran = order->starts_with("True");
    const char* at = shape->data() + 1;
    const char* last = shape->data() + shape->size();
    while (at < last && *at != ')') {
        std::int64_t dim = 0;
        const auto [end, error] = std::from_chars(at, last, dim);
        if (error != std::errc{} || dim < 0 || header.spec.shape.rank() == Shape::kMaxRank)
            throw FileError(path, fmt::format("bad shape {}", *shape));
        header.spec.shape.push_back(dim);
        at = end;
        while (at < last && (*at == ',' || *at == ' ')) ++at;
    }
    return header;
}

void swap_bytes(std::span<unsigned char> data, DType dtype) {
    const std::size_t size =
        size_of(real_part(dtype));  // a complex number's parts are swapped one by one
    for (std::size_t i = 0; i + size <= data.size(); i += size) {
        std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                     data.begin() + static_cast<std::ptrdiff_t>(i + size));
    }
}

}  // namespace

std::string_view npy_code(DType dtype) {
    return std::find_if(std::begin(kCodes), std::end(kCodes),
                        [&](const TypeCode& c) { return c.dtype == dtype; })
        ->code;
}

NpyHeader read_npy_header(const OpenFile& file) {
    const std::string& path = file.path();
    // Magic, two bytes of version, and two or four that say how long the dictionary is.
    unsigned char start[12] = {};
    const std::size_t known = std::min<std::uint64_t>(file.size(), sizeof(start));
    file.read(0, start, known);
    if (known < kNpyMagic.size() + 4 || std::memcmp(start, kNpyMagic.data(), kNpyMagic.size()) != 0)
        throw FileError(path, "is no .npy file");
    const int major = start[6];
    if (major < 1 || major > 3)
        throw FileError(path, fmt::format(".npy version {} is not known", major));
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i)
        length |= static_cast<std::uint64_t>(start[8 + i]) << (8 * i);
    const std::uint64_t text_begin = 8 + length_bytes;
    if (text_begin + length > file.size()) throw FileError(path, "the .npy header is cut off");
    std::string text(length, ' ');
    file.read(text_begin, text.data(), text.size());

    NpyHeader header = parse_dictionary(path, text);
    header.begin = text_begin + length;
    std::uint64_t bytes = 0;
    try {
        bytes = static_cast<std::uint64_t>(header.spec.nbytes());
    } catch (const ShapeError& e) {
        throw FileError(path, e.what());
    }
    const std::uint64_t there = file.size() - header.begin;
    if (there < bytes) {
        throw FileError(path, fmt::format("{} needs {} bytes, the file has {}", header.spec.str(),
                                          bytes, there));
    }
    return header;
}

void make_native(const NpyHeader& header, std::span<unsigned char> elements) {
    if (header.swapped) swap_bytes(elements, header.spec.dtype);
    if (header.spec.dtype == DType::boolean) {
        for (unsigned char& b : elements) b = b != 0 ? 1 : 0;
    }
}

}  // namespace lazuli::frontend
