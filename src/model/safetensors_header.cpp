#include "model/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "lazuli/error.h"

namespace lazuli::model {

namespace {

struct TypeName {
    DType dtype;
    std::string_view name;
};
constexpr TypeName kTypes[] = {
    {DType::boolean, "BOOL"},
    {u8, "U8"},
    {i8, "I8"},
    {u16, "U16"},
    {i16, "I16"},
    {f16, "F16"},
    {bf16, "BF16"},
    {u32, "U32"},
    {i32, "I32"},
    {f32, "F32"},
    {u64, "U64"},
    {i64, "I64"},
    {f64, "F64"},
    {c64, "C64"},
};

constexpr std::size_t kLengthBytes = 8;

/// A name for messages: a header may hold one of many megabytes.
std::string shown(std::string_view name) {
    constexpr std::size_t kMost = 100;
    if (name.size() <= kMost) return fmt::format("'{}'", name);
    return fmt::format("'{}...' ({} bytes)", name.substr(0, kMost), name.size());
}

/// Takes the header apart while the JSON library reads it, which calls these functions. Nothing
/// nests deeper than a list of sizes in a tensor in the header: whatever else opens is refused
/// where it opens, so that text of any depth costs nothing.
class HeaderReader {
   public:
    HeaderReader(const std::string& path, std::uint64_t data_begin, std::uint64_t data_end)
        : path_(path), data_begin_(data_begin), data_end_(data_end) {}

    SafetensorsHeader take() { return std::move(header_); }

    bool start_object(std::size_t) {
        if (place_ == Place::outside) {
            place_ = Place::header;
        } else if (place_ == Place::header && key_ == kMetadata) {
            place_ = Place::metadata;
        } else if (place_ == Place::header) {
            place_ = Place::tensor;
            tensor_ = {.name = key_};
        } else {
            refuse("an object");
        }
        return true;
    }

    bool key(std::string& name) {
        key_ = name;
        bool is_new = true;
        if (place_ == Place::header) {
            is_new = names_.insert(name).second;
        } else if (place_ == Place::metadata) {
            is_new = !header_.metadata.contains(name);
        } else {
            is_new = !std::exchange(has(name), true);
        }
        if (!is_new) fail("{} comes twice", shown(name));
        return true;
    }

    bool string(std::string& text) {
        if (place_ == Place::metadata) {
            header_.metadata.emplace(key_, text);
        } else if (place_ == Place::tensor && key_ == "dtype") {
            tensor_.dtype = to_dtype(text);
        } else {
            refuse("a text");
        }
        return true;
    }

    bool start_array(std::size_t) {
        if (place_ == Place::tensor && key_ == "shape") {
            place_ = Place::shape;
        } else if (place_ == Place::tensor && key_ == "data_offsets") {
            place_ = Place::offsets;
        } else {
            refuse("a list");
        }
        return true;
    }

    bool number_unsigned(std::uint64_t number) {
        if (place_ == Place::shape) {
            if (tensor_.shape.rank() == Shape::kMaxRank)
                fail("its shape has more than {} sizes", Shape::kMaxRank);
            if (number > INT64_MAX) fail("the size {} is beyond 2^63 - 1", number);
            tensor_.shape.push_back(static_cast<std::int64_t>(number));
        } else if (place_ == Place::offsets) {
            if (tensor_.offset_count == 2) fail("data_offsets has more than two numbers");
            tensor_.offsets[tensor_.offset_count++] = number;
        } else {
            refuse("a number");
        }
        return true;
    }

    bool number_integer(std::int64_t number) { refuse(fmt::format("the number {}", number)); }
    // Whole numbers beyond 64 bits come by here too.
    bool number_float(double, const std::string& text) {
        refuse(fmt::format("the number {}", text.substr(0, 40)));
    }
    bool null() { refuse("null"); }
    bool boolean(bool) { refuse("a truth value"); }
    bool binary(nlohmann::json::binary_t&) { refuse("binary data"); }

    bool end_array() {
        if (place_ == Place::offsets && tensor_.offset_count != 2)
            fail("data_offsets has {} numbers and not two", tensor_.offset_count);
        place_ = Place::tensor;
        return true;
    }

    bool end_object() {
        if (place_ == Place::tensor) header_.entries.push_back(finish());
        place_ = place_ == Place::header ? Place::outside : Place::header;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
        throw FileError(path_, fmt::format("the header is not JSON: byte {} of the file fits in "
                                           "nowhere",
                                           kLengthBytes + position));
    }

   private:
    enum class Place { outside, header, metadata, tensor, shape, offsets };

    /// The tensor that is being read.
    struct Draft {
        std::string name;
        std::optional<DType> dtype;
        Shape shape;
        std::uint64_t offsets[2] = {};
        int offset_count = 0;
        bool has_dtype = false;
        bool has_shape = false;
        bool has_offsets = false;
    };

    /// Whether the tensor has one of its three parts yet.
    bool& has(const std::string& part) {
        if (part == "dtype") return tensor_.has_dtype;
        if (part == "shape") return tensor_.has_shape;
        if (part == "data_offsets") return tensor_.has_offsets;
        fail("{} is nothing that a tensor has", shown(part));
    }

    DType to_dtype(const std::string& name) const {
        const auto it = std::ranges::find(kTypes, name, &TypeName::name);
        if (it != std::end(kTypes)) return it->dtype;
        std::vector<std::string_view> known;
        for (const TypeName& type : kTypes) known.push_back(type.name);
        fail("its type {} is none that Lazuli has ({})", shown(name), fmt::join(known, ", "));
    }

    SafetensorsEntry finish() const {
        if (!tensor_.has_dtype) fail("it has no dtype");
        if (!tensor_.has_shape) fail("it has no shape");
        if (!tensor_.has_offsets) fail("it has no data_offsets");
        const TensorSpec spec{*tensor_.dtype, tensor_.shape};
        const auto [begin, end] = tensor_.offsets;
        const std::uint64_t room = data_end_ - data_begin_;
        if (begin > end) fail("its bytes end at {}, before they begin at {}", end, begin);
        if (end > room)
            fail("its bytes {} to {} are not in the file, which has {} behind the header", begin,
                 end, room);
        const std::uint64_t needed = bytes_of(spec);
        if (needed != end - begin)
            fail("{} needs {} bytes, and bytes {} to {} are {}", spec.str(), needed, begin, end,
                 end - begin);
        return {tensor_.name, spec, data_begin_ + begin, data_begin_ + end};
    }

    /// How many bytes a tensor needs. Sizes that make too many are refused also where one of them
    /// is 0, lest whoever multiplies some of them gets a number that does not fit.
    std::uint64_t bytes_of(const TensorSpec& spec) const {
        TensorSpec rest{spec.dtype, {}};
        bool is_empty = false;
        for (const std::int64_t size : spec.shape) {
            is_empty = is_empty || size == 0;
            if (size > 1) rest.shape.push_back(size);
        }
        try {
            const std::int64_t bytes = rest.nbytes();
            return is_empty ? 0 : static_cast<std::uint64_t>(bytes);
        } catch (const ShapeError&) {
            fail("the sizes of {} make more than 2^63 - 1 bytes", spec.str());
        }
    }

    /// Something of a kind that does not belong here.
    [[noreturn]] void refuse(std::string_view given) const {
        const auto wanted = [&]() -> std::string_view {
            switch (place_) {
                case Place::outside: return "an object";
                case Place::header: return "an object";
                case Place::metadata: return "a text";
                case Place::tensor: return key_ == "dtype" ? "a text" : "a list of numbers";
                case Place::shape: return "a size of at most 2^63 - 1";
                case Place::offsets: return "an offset in the file";
            }
            __builtin_unreachable();
        };
        const bool in_list = place_ == Place::shape || place_ == Place::offsets;
        fail("{}{} is {} and not {}", in_list ? "in " : "", shown(key_), given, wanted());
    }

    template <class... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> what, Args&&... args) const {
        const std::string message = fmt::format(what, std::forward<Args>(args)...);
        const std::string where = place_ == Place::outside || place_ == Place::header ? "the header"
                                  : place_ == Place::metadata ? std::string(kMetadata)
                                                              : "tensor " + shown(tensor_.name);
        throw FileError(path_, fmt::format("{}: {}", where, message));
    }

    const std::string& path_;
    const std::uint64_t data_begin_;
    const std::uint64_t data_end_;
    Place place_ = Place::outside;
    std::string key_;
    Draft tensor_;
    std::unordered_set<std::string> names_;
    SafetensorsHeader header_;
};

/// That every byte behind the header belongs to one tensor. `entries` are sorted.
void check_places(const std::string& path, std::span<const SafetensorsEntry> entries,
                  std::uint64_t data_begin, std::uint64_t data_end) {
    const auto place = [&](const SafetensorsEntry& e) {
        return fmt::format("{} (bytes {} to {})", shown(e.name), e.begin - data_begin,
                           e.end - data_begin);
    };
    std::uint64_t behind = data_begin;  // the last tensor's end
    const SafetensorsEntry* last = nullptr;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin < behind)
            throw FileError(path,
                            fmt::format("tensors {} and {} overlap", place(*last), place(entry)));
        if (entry.begin > behind)
            throw FileError(path, fmt::format("{} bytes before tensor {} belong to no tensor",
                                              entry.begin - behind, place(entry)));
        behind = entry.end;
        last = &entry;
    }
    if (behind != data_end)
        throw FileError(path,
                        fmt::format("the last {} bytes belong to no tensor", data_end - behind));
}

/// A text as JSON has it; ArgumentError where it is not UTF-8.
std::string quoted(std::string_view what, const std::string& text) {
    try {
        return nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
        throw ArgumentError(
            fmt::format("save_safetensors: the {} {} is not UTF-8", what, shown(text)));
    }
}

}  // namespace

SafetensorsHeader read_header(const std::string& path, std::span<const std::byte> file) {
    if (file.size() < kLengthBytes)
        throw FileError(path, fmt::format("is no safetensors file: it has {} bytes, and the length "
                                          "of the header alone takes {}",
                                          file.size(), kLengthBytes));
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i)
        length |= static_cast<std::uint64_t>(file[i]) << (8 * i);
    if (length > kMostHeaderBytes)
        throw FileError(path, fmt::format("is no safetensors file: a header of {} bytes is beyond "
                                          "the limit of {}",
                                          length, kMostHeaderBytes));
    if (length > file.size() - kLengthBytes)
        throw FileError(path, fmt::format("is cut off: its header has {} bytes, and the file {}",
                                          length, file.size()));
    const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
    if (!text.starts_with('{'))
        throw FileError(path, "is no safetensors file: the header does not begin with '{'");
    // The JSON library takes a zero for the end of the text.
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
        throw FileError(path,
                        fmt::format("the header is not JSON: byte {} is 0", kLengthBytes + zero));

    HeaderReader reader(path, kLengthBytes + length, file.size());
    nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
    SafetensorsHeader header = reader.take();
    std::ranges::stable_sort(header.entries, {},
                             [](const SafetensorsEntry& e) { return std::pair(e.begin, e.end); });
    check_places(path, header.entries, kLengthBytes + length, file.size());
    return header;
}

std::string write_header(std::span<const std::pair<std::string, TensorSpec>> tensors,
                         const std::map<std::string, std::string>& metadata) {
    std::unordered_set<std::string_view> names;
    std::vector<std::string> parts;
    if (!metadata.empty()) {
        std::vector<std::string> texts;
        for (const auto& [key, value] : metadata)
            texts.push_back(quoted("key", key) + ":" + quoted("text", value));
        parts.push_back(fmt::format("\"{}\":{{{}}}", kMetadata, fmt::join(texts, ",")));
    }
    std::uint64_t at = 0;
    for (const auto& [name, spec] : tensors) {
        if (name.empty() || name == kMetadata)
            throw ArgumentError(
                fmt::format("save_safetensors: '{}' cannot be the name of a tensor", name));
        if (!names.insert(name).second)
            throw ArgumentError(
                fmt::format("save_safetensors: the name {} comes twice", shown(name)));
        const auto type = std::ranges::find(kTypes, spec.dtype, &TypeName::dtype);
        if (type == std::end(kTypes))
            throw DTypeError(
                fmt::format("save_safetensors: tensor {} is {}, which safetensors "
                            "files do not have",
                            shown(name), spec.str()));
        const std::uint64_t begin = at;
        if (__builtin_add_overflow(begin, static_cast<std::uint64_t>(spec.nbytes()), &at))
            throw ArgumentError("save_safetensors: the tensors have more than 2^64 - 1 bytes");
        parts.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                    quoted("name", name), type->name,
                                    fmt::join(spec.shape.dims(), ","), begin, at));
    }
    std::string text = fmt::format("{{{}}}", fmt::join(parts, ","));
    constexpr std::size_t kAlign = 64;
    text.append((kAlign - (kLengthBytes + text.size()) % kAlign) % kAlign, ' ');
    if (text.size() > kMostHeaderBytes)
        throw ArgumentError(
            fmt::format("save_safetensors: a header of {} bytes is beyond the "
                        "limit of {}",
                        text.size(), kMostHeaderBytes));
    std::string out(kLengthBytes, '\0');
    for (std::size_t i = 0; i < kLengthBytes; ++i)
        out[i] = static_cast<char>(text.size() >> (8 * i));
    return out + text;
}

}  // namespace lazuli::model
