#pragma once

// The op table: records by index and by name. It grows only; a record never moves, so references
// stay good.

#include "lazuli/op.h"

namespace lazuli::ir {

/// Throws ArgumentError where `words` is not the form the op's attributes have (wrong length,
/// unknown text, axis too big).
void check_attr_words(const OpDef& def, std::span<const std::uint64_t> words);

/// How many words the attribute at `word` takes, given that at most `left` are there; 0 where it
/// does not fit.
std::size_t attr_length(AttrKind kind, const std::uint64_t* word, std::size_t left);

/// The process-wide number of a text, and back.
std::uint64_t intern(std::string_view text);
const std::string& interned(std::uint64_t number);
bool is_interned(std::uint64_t number);

/// The process-wide number of a program that is an attribute, which is that of its text; and back.
std::uint64_t intern_program(const Program& program);
const Program& program_at(std::uint64_t number);
bool is_program(std::uint64_t number);

/// The names of the types, for messages.
std::string types_text(DTypeSet types);

/// Whether running an operation calls a function of the user's, also in a body of it: such a
/// function may do something each time it is called.
bool calls_user(const OpDef& def, const Attrs& attrs);

}  // namespace lazuli::ir

/// Defined by the ops layer, which adds its records through register_op; called once, when the
/// table is first looked at. Weak: a program that links no ops has an empty table of its own to
/// fill.
extern "C" void lazuli_install_ops() __attribute__((weak));
