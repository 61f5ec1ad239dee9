#pragma once

// Text in UTF-8 as characters, and back.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lazuli::data {

/// Characters have numbers below this one.
inline constexpr char32_t kCharacterBound = 0x110000;

/// Takes the next character off a text that is not empty; none, and the text as it was, where its
/// bytes are not UTF-8: cut off, longer than needed, half of a pair (D800 to DFFF), or beyond the
/// bound.
std::optional<char32_t> take_character(std::string_view& text);

/// Appends a character.
void put_character(std::string& text, char32_t character);

/// A character for messages: 'é' (U+00E9), or its number alone where it would not show.
std::string shown(char32_t character);

}  // namespace lazuli::data
