// .npy files: a magic, a version, a Python dictionary as text, then the elements.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "frontend/record.h"
#include "ir/engine.h"
#include "ir/layout.h"
#include "lazuli/error.h"
#include "lazuli/io.h"

namespace lazuli {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicSize = 6;

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

struct Header {
    DType dtype = f32;
    bool swapped = false;
    bool fortran = false;
    Shape shape;
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

Header parse_header(const std::string& path, std::string_view text) {
    const auto descr = entry(text, "descr");
    const auto order = entry(text, "fortran_order");
    const auto shape = entry(text, "shape");
    if (!descr || !order || !shape || descr->size() < 4 || shape->size() < 2 ||
        shape->front() != '(' || shape->back() != ')') {
        throw FileError(path, "the .npy header is not what numpy writes");
    }
    Header header;
    const char byte_order = (*descr)[1];
    const std::string_view code = descr->substr(2, descr->size() - 3);
    const auto it = std::find_if(std::begin(kCodes), std::end(kCodes),
                                 [&](const TypeCode& c) { return c.code == code; });
    if (it == std::end(kCodes))
        throw FileError(path, fmt::format("element type {} is not supported", *descr));
    header.dtype = it->dtype;
    header.swapped = byte_order == '>';
    header.fortran = order->starts_with("True");
    const char* at = shape->data() + 1;
    const char* last = shape->data() + shape->size();
    while (at < last && *at != ')') {
        std::int64_t dim = 0;
        const auto [end, error] = std::from_chars(at, last, dim);
        if (error != std::errc{} || dim < 0 || header.shape.rank() == Shape::kMaxRank)
            throw FileError(path, fmt::format("bad shape {}", *shape));
        header.shape.push_back(dim);
        at = end;
        while (at < last && (*at == ',' || *at == ' ')) ++at;
    }
    return header;
}

void swap_bytes(std::vector<unsigned char>& data, DType dtype) {
    const std::size_t size =
        size_of(real_part(dtype));  // a complex number's parts are swapped one by one
    for (std::size_t i = 0; i + size <= data.size(); i += size) {
        std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                     data.begin() + static_cast<std::ptrdiff_t>(i + size));
    }
}

std::uint64_t read_length(std::ifstream& in, int bytes) {
    unsigned char raw[4] = {};
    in.read(reinterpret_cast<char*>(raw), bytes);
    return raw[0] | (static_cast<std::uint64_t>(raw[1]) << 8) |
           (static_cast<std::uint64_t>(raw[2]) << 16) | (static_cast<std::uint64_t>(raw[3]) << 24);
}

}  // namespace

Tensor load_npy(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) throw FileError(path, "cannot be read");
    const auto file_size = static_cast<std::uint64_t>(in.tellg());
    in.seekg(0);
    char start[8] = {};
    in.read(start, sizeof(start));
    if (!in || std::memcmp(start, kMagic, kMagicSize) != 0)
        throw FileError(path, "is no .npy file");
    const int major = start[6];
    if (major < 1 || major > 3)
        throw FileError(path, fmt::format(".npy version {} is not known", major));
    const std::uint64_t length = read_length(in, major == 1 ? 2 : 4);
    if (!in || length > file_size) throw FileError(path, "the .npy header is cut off");
    std::string text(length, ' ');
    in.read(text.data(), static_cast<std::streamsize>(length));
    if (!in) throw FileError(path, "the .npy header is cut off");
    const Header header = parse_header(path, text);
    const TensorSpec spec{header.dtype, header.shape};
    std::uint64_t bytes = 0;
    try {
        bytes = static_cast<std::uint64_t>(spec.nbytes());
    } catch (const ShapeError& e) {
        throw FileError(path, e.what());
    }
    const std::uint64_t there = file_size - static_cast<std::uint64_t>(in.tellg());
    if (there < bytes)
        throw FileError(
            path, fmt::format("{} needs {} bytes, the file has {}", spec.str(), bytes, there));
    std::vector<unsigned char> data(bytes);
    in.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(bytes));
    if (!in) throw FileError(path, "cannot be read to its end");
    if (header.swapped) swap_bytes(data, header.dtype);
    if (header.fortran) {
        Ints strides;
        std::uint64_t step = size_of(header.dtype);
        for (const std::int64_t dim : header.shape) {
            strides.push_back(static_cast<std::int64_t>(step));
            step *= static_cast<std::uint64_t>(dim);
        }
        std::vector<unsigned char> rows(bytes);
        ir::copy_dense(data.data(), strides, spec, rows.data());
        data = std::move(rows);
    }
    if (header.dtype == DType::boolean) {
        for (unsigned char& b : data) b = b != 0 ? 1 : 0;
    }
    return frontend::make_data(spec, data.data());
}

void save_npy(const std::string& path, const Tensor& tensor) {
    tensor.eval();
    const TensorSpec& spec = tensor.spec();
    std::vector<unsigned char> data(static_cast<std::size_t>(spec.nbytes()));
    ir::engine().download(*frontend::node_of(tensor), data.data());
    const auto it = std::find_if(std::begin(kCodes), std::end(kCodes),
                                 [&](const TypeCode& c) { return c.dtype == spec.dtype; });
    std::string text =
        fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                    size_of(spec.dtype) == 1 ? '|' : '<', it->code,
                    fmt::join(spec.shape.dims(), ", "), spec.shape.rank() == 1 ? "," : "");
    constexpr std::size_t kAlign = 64;
    const std::size_t prefix = kMagicSize + 4;
    text.append((kAlign - (prefix + text.size() + 1) % kAlign) % kAlign, ' ');
    text += '\n';
    std::ofstream out(path, std::ios::binary);
    if (!out) throw FileError(path, "cannot be written");
    out.write(kMagic, kMagicSize);
    const char version_and_length[4] = {1, 0, static_cast<char>(text.size() & 0xff),
                                        static_cast<char>(text.size() >> 8)};
    out.write(version_and_length, 4);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size()));
    out.close();
    if (!out) throw FileError(path, "could not be written to its end");
}

}  // namespace lazuli
