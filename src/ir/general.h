#pragma once

// Recordings that differ in nothing but numbers, and the program with variables whose instances
// they are. A general program is a guess: whoever uses it compares its instance with what was
// recorded, word by word.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazuli/program.h"

namespace lazuli::ir {

/// A captured graph, as its words.
struct Words {
    std::span<const std::uint64_t> program;
    std::span<const std::uint64_t> rest;  // the parameters' specs, and the results
    std::size_t params = 0;
};

/// The same, kept.
struct Recording {
    std::vector<std::uint64_t> program;
    std::vector<std::uint64_t> rest;
    std::size_t params = 0;

    explicit Recording(const Words& words);
    Words words() const { return {program, rest, params}; }
};
bool operator==(const Words& a, const Words& b);

/// Whether they differ in numbers at most.
bool same_form(const Words& a, const Words& b);

/// What recordings must share for one program to be both of theirs.
struct FormHash {
    std::uint64_t form = 0;  // all but the numbers
    std::uint64_t ones = 0;  // the same, and which sizes are 0 or 1: these are never variables
};
FormHash form_hash(const Words& words);

/// The numbers of a recording: sizes, then those of attributes. Recordings of one form have as
/// many.
std::vector<std::int64_t> numbers_of(const Words& words);

/// Whether a program's words are these.
bool is_instance(const Program& program, const Words& words);

/// A program with variables, and where a recording says what these are.
class General {
   public:
    /// What the recordings are instances of: two at least, of one form with the same sizes of 0 and
    /// 1. Several may be found; none where `accept` takes none.
    static std::optional<General> of(std::span<const Words> recordings,
                                     const std::function<bool(const General&)>& accept);

    const Program& program() const { return program_; }
    /// The values of the variables; none where a recording of this form is no instance.
    std::optional<std::vector<SizeBinding>> values_in(const Words& words) const;

   private:
    friend class Generaliser;
    struct Source {
        Dim variable;
        bool in_rest = true;
        std::size_t at = 0;     // its word
        std::int64_t step = 1;  // which is that many times the variable
    };
    Program program_;
    std::vector<Source> sources_;
};

}  // namespace lazuli::ir
