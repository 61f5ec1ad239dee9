#pragma once

// Functions of the user's as programs: bodies of loops, and what is compiled. They are called once,
// with tensors that have no value.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "lazuli/program.h"
#include "lazuli/tensor.h"

namespace lazuli::frontend {

/// Types and shapes; ArgumentError naming `op` for an empty tensor.
std::vector<TensorSpec> specs_of(std::string_view op, const std::vector<Tensor>& tensors);
/// Where the first one lives, and what is made of them; the default device where there is none.
Device home_of(const std::vector<Tensor>& tensors);

/// A function, recorded: its results stand on arguments and on tensors from outside.
struct Recorded {
    std::vector<Tensor> arguments;
    std::vector<Tensor> results;
    std::uint64_t first_id = 0;
    std::uint64_t last_id = 0;
};

/// A tensor that has no value: argument `number` of something that is recorded.
Tensor make_argument(std::size_t number, const TensorSpec& spec, Device device);

/// Calls a function with arguments of these specs. Nothing of what it records is evaluated, and it
/// belongs to no scope of the user's.
Recorded record_body(std::string_view op, std::span<const TensorSpec> specs, Device device,
                     const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body);

/// What functions that were recorded take from outside, in the order in which it is met.
class Outside {
   public:
    /// Takes a function in, as a program of its arguments and of what it takes from outside.
    void capture(const Recorded& body);
    const std::vector<Tensor>& operands() const { return operands_; }
    /// Function `i`, with its arguments first and then all operands.
    Program program(std::size_t i, std::span<const TensorSpec> arguments) const;

   private:
    struct Part {
        Program program;
        std::vector<std::ptrdiff_t> sources;  // of its parameters: an argument, or -1 - operand
        std::vector<bool> numbers;            // operations recorded where no gradients flow
    };
    std::vector<Tensor> operands_;
    std::vector<Part> parts_;
};

}  // namespace lazuli::frontend
