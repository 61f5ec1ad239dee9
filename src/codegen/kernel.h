#pragma once

// Kernel IR: what one launch does, as loops over index expressions. Every order of floating-point
// operations is stated here, so that whoever runs a kernel gets the same bits.
//
//   kernel scaled_sum(in0: f32[24], out0: f32[4] out) {
//     parallel i0 < 4 {
//       %1 = reduce i1 < 6 lanes 8 (add f64 from 0.0) {
//         %0 = load in0[6*i0 + i1] : f32
//         yield %0
//       }
//       %2 = cast(%1) : f32
//       store out0[i0] = %2
//     }
//   }
//
// Sizes that are known when it runs are variables with bounds; one kernel then serves all of them:
//
//   kernel negated(in0: f32[768*b], out0: f32[768*b] out) where 1 <= b <= 64 {

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazuli/op.h"
#include "lazuli/symbolic.h"

namespace lazuli::codegen {

/// A value of a kernel: the number behind the %.
using ValueId = std::uint32_t;

/// Memory that the caller passes, dense, of a number of elements that the kernel's variables say.
/// Scratch holds what passes from one part of a kernel to the next; it comes behind all others.
struct KernelBuffer {
    std::string name;
    DType dtype;
    Expr elements;
    bool written = false;
    bool scratch = false;
};

/// A loop variable and the number of its steps. Where that is always one, the variable is 0.
struct Count {
    Expr variable;
    Expr size;
};

struct Statement;
using Block = std::vector<Statement>;

/// One result of a reduction: steps are dealt to the lanes in turn by the last variable, each lane
/// combines what it gets in order, and the lanes are combined in halves: 0 with n/2, 1 with n/2 +
/// 1,
/// ... until one is left.
struct Accumulator {
    OpId combine;  // add, maximum, ...
    DType dtype;
    Scalar init;   // of every lane
    ValueId from;  // of the body
};

enum class StatementKind : std::uint8_t {
    load,      // results[0] = buffer[index], or `fill` where `valid` does not hold
    constant,  // results[0] = fill
    position,  // results[0] = index, as a number
    apply,     // results[0] = op(operands)
    bind,      // counts[0].variable = operands[0]; below counts[0].size, negative from the end
    store,     // buffer[index] = operands[0], where `valid` holds
    parallel,  // the steps may run in any order
    serial,    // the steps run in order
    reduce,    // results = what the body yields over all steps, the last variable fastest
};

struct Statement {
    StatementKind kind;
    DType dtype = DType::f32;  // of results[0]
    std::vector<ValueId> results = {};
    std::vector<ValueId> operands = {};
    std::size_t buffer = 0;
    std::optional<Expr> index = {};
    std::optional<Expr> valid = {};  // none: always
    Scalar fill = 0;
    OpId op = 0;
    std::vector<std::uint64_t> words = {};  // the op's attributes
    std::vector<Count> counts = {};
    int lanes = 1;
    std::vector<Accumulator> accumulators = {};
    Block body = {};
};

/// Whether a statement runs its body several times.
inline bool is_loop(const Statement& s) {
    return s.kind == StatementKind::parallel || s.kind == StatementKind::serial ||
           s.kind == StatementKind::reduce;
}
/// Whether some statement of the block does.
inline bool has_loops(const Block& block) {
    for (const Statement& s : block) {
        if (is_loop(s)) return true;
    }
    return false;
}

class Kernel {
   public:
    std::string name;
    std::vector<KernelBuffer> buffers;
    /// Sizes whose values a run is given, in this order, each at least 1. All that a kernel says
    /// holds for every value within their bounds.
    std::vector<Expr> variables;
    Block body;
    /// Where its expressions live.
    std::shared_ptr<ExprContext> context = std::make_shared<ExprContext>();

    std::string str() const;
    /// Reads what `str` prints. Throws ParseError, or the verifier's error.
    static Kernel parse(std::string_view text);
    /// Throws ArgumentError with the reason where a value is used before it is there, types do not
    /// fit, an index may leave its buffer, or a written buffer is not what a store may write. With
    /// variables, an index is right that no proof is found for if it stays inside at the ends of
    /// all bounds and at some places between.
    void verify() const;
    /// Throws ArgumentError where these are not values for the variables: too few or too many of
    /// them, or one out of its bounds.
    void check_sizes(std::span<const std::int64_t> sizes) const;
};

/// Runs a kernel plainly, step by step: what every other way to run it is compared with. `buffers`
/// has one address for each of the kernel's, those of scratch may be left out; `sizes` the value of
/// each variable. Throws ExecutionError where a bound index is outside.
void interpret(const Kernel& kernel, std::span<void* const> buffers,
               std::span<const std::int64_t> sizes = {});

/// The same kernel for these sizes alone, without variables, in a context of its own. It gives the
/// same bits: loops of one step stay loops, and lanes are as many.
Kernel substitute(const Kernel& kernel, std::span<const std::int64_t> sizes);

}  // namespace lazuli::codegen
