#pragma once

// Where in the user's program an operation was recorded, kept beside the graph while somebody
// inspects evaluations.

#include <string>
#include <vector>

#include "ir/node.h"

namespace lazuli::ir {

struct Source {
    std::string text;           // where a language other than C++ said so; else
    std::vector<void*> frames;  // return addresses, which take a while to look up

    /// `file:line in function`; empty where it is not known.
    std::string str() const;
};

/// Remembers where an operation is being recorded.
void keep_source(Node& node);
/// What was remembered.
Source source_of(const Node& node);
/// For the end of a node that has one.
void drop_source(const Node& node) noexcept;

}  // namespace lazuli::ir
