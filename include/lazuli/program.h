#pragma once

/// @file
/// The portable program: what a recorded graph becomes. Immutable, canonical, and the same thing in
/// four forms: in memory, as text, as JSON and as compact bytes.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazuli/op.h"

namespace lazuli {

/// Refers to a value of a program: a parameter, or the result of an operation.
struct ValueRef {
    static constexpr std::uint32_t kParam = 0x80000000U;  ///< Set for parameters.
    std::uint32_t raw = 0;                                ///< Index, with the mark.
    /// The result of operation `i`.
    static ValueRef op(std::size_t i) { return {static_cast<std::uint32_t>(i)}; }
    /// Parameter `i`.
    static ValueRef param(std::size_t i) { return {static_cast<std::uint32_t>(i) | kParam}; }
    /// Whether it is a parameter.
    bool is_param() const { return (raw & kParam) != 0; }
    /// The index among the parameters, or among the operations.
    std::size_t index() const { return raw & ~kParam; }
    /// The same value.
    bool operator==(const ValueRef&) const = default;
};

/// A parameter of a program.
struct Param {
    std::string name;  ///< For people and for `lazuli run`; not part of the program's identity.
    TensorSpec spec;   ///< Type and shape.
};

/// A result of a program.
struct ProgramResult {
    std::string name;  ///< For people and for `lazuli run`; not part of the program's identity.
    ValueRef value;    ///< What is returned.
};

class Program;

/// One operation of a program, as read from it. Valid while the program lives.
class Operation {
   public:
    /// The operation's index in the op table.
    OpId op() const { return static_cast<OpId>(*word_ & 0xffff); }
    /// Its record.
    const OpDef& def() const { return op_def(op()); }
    /// The result's element type.
    DType dtype() const { return static_cast<DType>((*word_ >> 16) & 0xff); }
    /// The result's type and shape.
    TensorSpec spec() const;
    /// The number of operands.
    std::size_t input_count() const { return (*word_ >> 32) & 0xffff; }
    /// Operand `i`.
    ValueRef input(std::size_t i) const {
        return {static_cast<std::uint32_t>(word_[1 + i / 2] >> (32 * (i % 2)))};
    }
    /// The attributes.
    Attrs attrs() const;

   private:
    friend class Program;
    explicit Operation(const std::uint64_t* word) : word_(word) {}
    const std::uint64_t* word_;
};

/// An immutable program: parameters, operations in an order in which operands come first, and
/// results.
class Program {
   public:
    /// The empty program.
    Program();

    /// Its parameters.
    std::span<const Param> params() const;
    /// Its results.
    std::span<const ProgramResult> results() const;
    /// The number of operations.
    std::size_t size() const;
    /// Operation `i`.
    Operation operation(std::size_t i) const;
    /// Type and shape of any value.
    TensorSpec spec(ValueRef value) const;
    /// The variables of its sizes, each once: none where all sizes are numbers.
    std::vector<Dim> variables() const;
    /// The same program with numbers for its sizes. Throws ArgumentError naming a variable that has
    /// no value or one out of its bounds, or a value that has no variable.
    Program instantiate(std::span<const SizeBinding> values) const;
    /// A hash of everything but names. Equal programs have equal hashes; it is fixed for the life
    /// of the process.
    std::uint64_t hash() const;
    /// Whether both programs are the same but for names.
    bool operator==(const Program& other) const;
    /// Throws Error naming the op and the reason where the program is malformed. Programs from
    /// `parse`, `from_json`, `from_bytes` and ProgramBuilder are verified already.
    void verify() const;

    /// As text, one operation a line. `parse` is its inverse.
    std::string str() const;
    /// As JSON. `from_json` is its inverse.
    std::string json() const;
    /// As compact bytes with a version. `from_bytes` is its inverse.
    std::string bytes() const;
    /// Reads text; ParseError with line and column, or the verifier's error.
    static Program parse(std::string_view text);
    /// Reads JSON.
    static Program from_json(std::string_view text);
    /// Reads bytes.
    static Program from_bytes(std::string_view bytes);

    /// The words of all operations, one after the other: the canonical form that is hashed and
    /// compared.
    std::span<const std::uint64_t> words() const;

   private:
    friend class ProgramBuilder;
    struct Data;
    explicit Program(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

/// A value under construction. Arithmetic on it appends operations to its builder.
class Value {
   public:
    /// No value.
    Value() = default;
    /// The builder it belongs to.
    ProgramBuilder& builder() const { return *builder_; }
    /// Its place in the program.
    ValueRef ref() const { return ref_; }
    /// Type and shape.
    const TensorSpec& spec() const;
    /// The sizes.
    const Shape& shape() const { return spec().shape; }
    /// The element type.
    DType dtype() const { return spec().dtype; }
    /// Whether there is one.
    bool defined() const { return builder_ != nullptr; }

   private:
    friend class ProgramBuilder;
    Value(ProgramBuilder& builder, ValueRef ref) : builder_(&builder), ref_(ref) {}
    ProgramBuilder* builder_ = nullptr;
    ValueRef ref_;
};

/// Builds a program by hand. Every operation is checked as it is appended; a throw leaves the
/// builder as it was.
class ProgramBuilder {
   public:
    /// An empty program.
    ProgramBuilder();
    ~ProgramBuilder();
    ProgramBuilder(const ProgramBuilder&) = delete;
    ProgramBuilder& operator=(const ProgramBuilder&) = delete;

    /// Adds a parameter. An empty name is replaced by `p0`, `p1`, ...
    Value param(std::string name, TensorSpec spec);
    /// Appends an operation. `wanted` is the result asked for, for ops whose result the caller
    /// gives.
    Value op(std::string_view name, std::span<const Value> inputs,
             std::span<const Attribute> attrs = {}, const TensorSpec* wanted = nullptr);
    /// Appends an operation with attributes in their compact form.
    Value op(OpId op, std::span<const Value> inputs, std::span<const std::uint64_t> attr_words,
             const TensorSpec* wanted = nullptr);
    /// A constant of the given type and shape.
    Value constant(const Scalar& value, TensorSpec spec);
    /// Type and shape of a value.
    const TensorSpec& spec(ValueRef value) const;
    /// Adds a result. An empty name is replaced by `r0`, `r1`, ...
    void result(const Value& value, std::string name = "");
    /// The program. The builder is empty afterwards.
    Program build();

    /// Takes over operations in their canonical words (a capture, or a rewrite). Throws
    /// ArgumentError where the words are not a row of operations; `verify` looks into each.
    static Program from_words(std::vector<Param> params, std::vector<std::uint64_t> words,
                              std::vector<ProgramResult> results);

   private:
    friend class Value;
    struct State;
    std::unique_ptr<State> state_;
};

/// What the gradient of an operation is built from. A cotangent says how much some number in the
/// end changes with each element of a value; of a complex one, with its real part, plus i times
/// with its imaginary part.
struct GradientArgs {
    ProgramBuilder& builder;            ///< Where it is built.
    const InferArgs& call;              ///< Record, attributes, and types of operands and result.
    std::span<const Value> inputs;      ///< The operands.
    Value result;                       ///< The result; the bundle, where there are several.
    std::span<const Value> cotangents;  ///< One a result; none where nothing depends on it.
    const std::vector<bool>& wanted;    ///< Whether each operand's is asked for.
    /// An operand.
    const Value& operator[](std::size_t i) const { return inputs[i]; }
    /// The cotangent of the only result.
    const Value& cotangent() const { return cotangents[0]; }
};

/// Whether a constant of this value stands in the program as such, where rules may use it (0, 1,
/// -1, 2, 0.5, inf, nan), or is passed as a parameter, so that changing it never plans anew.
bool is_constant_class(const Scalar& value);

}  // namespace lazuli
