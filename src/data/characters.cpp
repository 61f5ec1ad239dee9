#include "data/characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data/utf8.h"

namespace lazuli::data {

namespace {

/// Calls `visit(character, place)` for each character, with the place of its first byte.
template <class Visit>
void each_character(std::string_view text, const Fail& fail, const Visit& visit) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t place = text.size() - rest.size();
        const auto character = take_character(rest);
        if (!character) {
            fail(fmt::format("is not UTF-8 at byte {} (0x{:02x})", place,
                             static_cast<unsigned char>(rest[0])));
            return;
        }
        visit(*character, place);
    }
}

/// How many there are, if it is UTF-8: each has one byte that does not go on with another.
std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

template <class Number>
std::vector<Number> numbers_as(std::string_view text, const std::u32string& characters,
                               const Fail& fail) {
    std::vector<std::int32_t> places(characters.empty() ? 0 : characters.back() + 1, -1);
    for (std::size_t i = 0; i < characters.size(); ++i)
        places[characters[i]] = static_cast<std::int32_t>(i);
    std::vector<Number> out;
    out.reserve(count_characters(text));
    each_character(text, fail, [&](char32_t character, std::size_t place) {
        if (character >= places.size() || places[character] < 0) {
            fail(fmt::format("has {} at byte {}, which is not in the vocabulary of {} characters",
                             shown(character), place, characters.size()));
        }
        out.push_back(static_cast<Number>(places[character]));
    });
    return out;
}

}  // namespace

std::u32string distinct_characters(std::string_view text, const Fail& fail) {
    std::vector<bool> seen(kCharacterBound, false);
    each_character(text, fail, [&](char32_t character, std::size_t) { seen[character] = true; });
    std::u32string out;
    for (char32_t character = 0; character < kCharacterBound; ++character) {
        if (seen[character]) out += character;
    }
    return out;
}

Numbers numbers_of(std::string_view text, const std::u32string& characters, const Fail& fail) {
    if (characters.size() <= std::numeric_limits<std::uint8_t>::max() + std::size_t{1})
        return numbers_as<std::uint8_t>(text, characters, fail);
    if (characters.size() <= std::numeric_limits<std::uint16_t>::max() + std::size_t{1})
        return numbers_as<std::uint16_t>(text, characters, fail);
    return numbers_as<std::int32_t>(text, characters, fail);
}

}  // namespace lazuli::data
