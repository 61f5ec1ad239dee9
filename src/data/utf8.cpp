#include "data/utf8.h"

#include <fmt/format.h>

namespace lazuli::data {

namespace {

/// How a first byte looks: the bits that say the length, and the bits of the character.
struct Form {
    unsigned char mark;
    unsigned char mask;
    char32_t least;  // that needs so many bytes
};
constexpr Form kForms[] = {
    {0x00, 0x80, 0x0}, {0xc0, 0xe0, 0x80}, {0xe0, 0xf0, 0x800}, {0xf0, 0xf8, 0x10000}};

bool is_half(char32_t c) { return c >= 0xd800 && c < 0xe000; }

}  // namespace

std::optional<char32_t> take_character(std::string_view& text) {
    const auto first = static_cast<unsigned char>(text[0]);
    std::size_t length = 0;
    while (length < 4 && (first & kForms[length].mask) != kForms[length].mark) ++length;
    if (length == 4) return std::nullopt;
    const Form& form = kForms[length++];
    if (text.size() < length) return std::nullopt;
    char32_t character = first & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xc0) != 0x80) return std::nullopt;
        character = character << 6 | (byte & 0x3f);
    }
    if (character < form.least || character >= kCharacterBound || is_half(character))
        return std::nullopt;
    text.remove_prefix(length);
    return character;
}

void put_character(std::string& text, char32_t character) {
    int more = 0;  // bytes behind the first
    while (more < 3 && character >= kForms[more + 1].least) ++more;
    text += static_cast<char>(kForms[more].mark | character >> (6 * more));
    for (int i = more - 1; i >= 0; --i)
        text += static_cast<char>(0x80 | (character >> (6 * i) & 0x3f));
}

std::string shown(char32_t character) {
    const auto number = static_cast<std::uint32_t>(character);
    if (character < 0x20 || (character >= 0x7f && character < 0xa0))
        return fmt::format("U+{:04X}", number);
    std::string text;
    put_character(text, character);
    return fmt::format("'{}' (U+{:04X})", text, number);
}

}  // namespace lazuli::data
