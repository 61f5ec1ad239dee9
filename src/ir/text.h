#pragma once

// Reading and writing the small pieces that text and JSON share: numbers and values.

#include <optional>
#include <string>
#include <string_view>

#include "lazuli/program.h"

namespace lazuli::ir {

/// The number a text stands for, as Scalar::str writes it; none where it is no number.
std::optional<Scalar> parse_scalar(std::string_view text);
/// How a value is written in text: a parameter's name, or %3.
std::string value_text(const Program& program, ValueRef value);
/// Whether a text can name a parameter or a result: letters, digits, '_' and '.', not a digit
/// first.
bool is_name(std::string_view text);
/// The name a result has when nobody gave one.
std::string default_result_name(std::size_t index);
/// A number of bytes with its unit.
std::string bytes_text(std::int64_t bytes);

}  // namespace lazuli::ir
