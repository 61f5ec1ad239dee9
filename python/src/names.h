#pragma once

// numpy's names for what the op table names otherwise.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lazuli::python {

/// Another name of an op. It is there where the op is and no op has that name.
struct Alias {
    std::string_view name;
    std::string_view op;
};
std::span<const Alias> aliases();

/// What numpy calls a parameter of an op.
std::string python_name(std::string_view op, std::string_view param);

struct Function;
/// An operator of Python's, the ops that serve it (the first that is there), and where its function
/// is put.
struct Slot {
    std::vector<std::string_view> ops;
    const Function** function;
};
std::span<const Slot> operator_slots();

}  // namespace lazuli::python
