#pragma once

// A program with variables that somebody can run at any of their values.

#include <span>
#include <string>
#include <vector>

#include "ir/node.h"
#include "lazuli/explanation.h"

namespace lazuli::ir {

class OpenProgram {
   public:
    OpenProgram() = default;
    OpenProgram(const OpenProgram&) = delete;
    OpenProgram& operator=(const OpenProgram&) = delete;
    virtual ~OpenProgram() = default;

    /// Elements, dense, on the program's device.
    struct Result {
        Binding value;
        TensorSpec spec;
    };
    /// Its results at these values of its variables, one each, in their order. One available
    /// operand a parameter; those of which `unneeded` has a number may be overwritten.
    virtual std::vector<Result> run(std::span<const std::int64_t> sizes,
                                    std::span<Node* const> operands,
                                    std::span<const std::size_t> unneeded) = 0;
    /// What it runs at these values; at the last ones, or at some, where none are given.
    virtual Explanation explain(std::span<const SizeBinding> values) = 0;
    /// The values that it has plans for, last ones first.
    virtual std::vector<std::vector<SizeBinding>> bindings() const = 0;
};

}  // namespace lazuli::ir
