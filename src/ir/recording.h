#pragma once

// How the words of a recording are walked.

#include "ir/encoding.h"
#include "ir/general.h"

namespace lazuli::ir {

/// Where the words of an operation are.
struct Layout {
    std::size_t shape = 0;
    std::size_t attrs = 0;
    std::size_t next = 0;

    Layout(std::uint64_t header, std::size_t at)
        : shape(at + 1 + input_words(header_inputs(header))),
          attrs(shape + static_cast<std::size_t>(header_rank(header))),
          next(at + operation_length(header)) {}
};

inline const OpDef& def_of(std::uint64_t header) {
    return op_def(static_cast<OpId>(header_op(header)));
}

/// Calls `param` with the place of each parameter's header in the rest; returns where the results
/// begin.
template <class Call>
std::size_t visit_params(const Words& words, const Call& param) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < words.params; ++i) {
        param(at);
        at += 1 + static_cast<std::size_t>(header_rank(words.rest[at]));
    }
    return at;
}

/// Calls `operation` with the place of each operation's header and where its words are.
template <class Call>
void visit_operations(const Words& words, const Call& operation) {
    for (std::size_t at = 0; at < words.program.size();) {
        const Layout layout(words.program[at], at);
        operation(at, layout);
        at = layout.next;
    }
}

}  // namespace lazuli::ir
