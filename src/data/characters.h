#pragma once

// The characters of a text as numbers.

#include <functional>
#include <string>
#include <string_view>

#include "data/windows.h"

namespace lazuli::data {

/// Says what is wrong with a text: throws the error of its caller.
using Fail = std::function<void(const std::string& what)>;

/// The characters that a text has, in the order of Unicode, each once.
std::u32string distinct_characters(std::string_view text, const Fail& fail);

/// The places of a text's characters among these, which are in the order of Unicode.
Numbers numbers_of(std::string_view text, const std::u32string& characters, const Fail& fail);

}  // namespace lazuli::data
