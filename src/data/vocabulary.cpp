#include <fmt/format.h>

#include "data/characters.h"
#include "data/utf8.h"
#include "lazuli/error.h"

namespace lazuli {

namespace {

void fail(const std::string& what) {
    throw ArgumentError(fmt::format("Vocabulary: the text {}", what));
}

}  // namespace

Vocabulary::Vocabulary(std::string_view text) : Vocabulary(data::distinct_characters(text, fail)) {}

std::int64_t Vocabulary::size() const { return std::ssize(*characters_); }

std::string Vocabulary::characters() const {
    std::string out;
    for (const char32_t character : *characters_) data::put_character(out, character);
    return out;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
    return std::visit(
        [](const auto& all) { return std::vector<std::int32_t>(all.begin(), all.end()); },
        data::numbers_of(text, *characters_, fail));
}

std::string Vocabulary::decode(std::span<const std::int32_t> numbers) const {
    std::string out;
    for (const std::int32_t number : numbers) {
        if (number < 0 || number >= size()) {
            throw IndexError(fmt::format("Vocabulary: no character has number {}, there are {}",
                                         number, size()));
        }
        data::put_character(out, (*characters_)[static_cast<std::size_t>(number)]);
    }
    return out;
}

}  // namespace lazuli
