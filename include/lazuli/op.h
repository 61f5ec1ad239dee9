#pragma once

/// @file
/// The record of an operation: everything the engine knows about it stands here, once. The
/// recorder, the verifier, the printer and parser, the reference backend, the composite expander,
/// the documentation and the conformance tests read it.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lazuli/dtype.h"
#include "lazuli/scalar.h"
#include "lazuli/shape.h"
#include "lazuli/terms.h"
#include "lazuli/view.h"

namespace lazuli {

class Program;
class ProgramBuilder;
class Value;
struct GradientArgs;
struct OpDef;

/// The index of an operation in the op table. It is fixed for the life of the process.
using OpId = std::uint16_t;

/// What an attribute holds.
enum class AttrKind : std::uint8_t {
    boolean,  ///< true or false.
    integer,  ///< A 64-bit integer, or a size that is an expression.
    real,     ///< A double.
    scalar,   ///< A number of any kind.
    axes,     ///< A list of axes, each from 0 to 63.
    ints,     ///< A list of 64-bit integers, or of sizes.
    text,     ///< A short name.
    choice,   ///< One of a fixed list of names.
    view,     ///< Where the elements come from, as a tracker whose shape is the result's.
    program,  ///< A program, as text: the body of a loop.
};

/// The name and kind of an attribute.
struct AttrDef {
    std::string_view name;                           ///< As printed and parsed.
    AttrKind kind;                                   ///< What it holds.
    std::span<const std::string_view> choices = {};  ///< The names, where it is a choice.
};

/// Where the elements of a view come from, and what stands where none does.
struct Placement {
    ShapeTracker tracker;             ///< From a position to an index of the operand.
    std::optional<Scalar> fill = {};  ///< The element in padding, where there is any.
};

/// A view without padding, as plain numbers: what most views are, and all that recording handles of
/// them. At most `Shape::kInline` dimensions.
struct StridedView {
    /// Strides are to be filled in.
    explicit StridedView(const Shape& sizes) : shape(sizes) {}
    Shape shape;                           ///< The sizes.
    std::int64_t strides[Shape::kInline];  ///< What one step along each dimension adds.
    std::int64_t offset = 0;               ///< The index of the first element.
};

/// The value of an attribute. Lists of axes and lists of integers are both `Ints`; a choice is its
/// name.
using Attribute = std::variant<bool, std::int64_t, double, Scalar, Ints, std::string, Placement>;

/// Attributes in their compact form: 64-bit words, laid out by the op's list of attributes. This is
/// how nodes and programs keep them, how they are hashed and how they are compared.
class Attrs {
   public:
    /// No attributes.
    Attrs() = default;
    /// The words of an operation of definition `def`.
    Attrs(const OpDef& def, std::span<const std::uint64_t> words) : def_(&def), words_(words) {}
    /// Attribute `index` as a truth value.
    bool boolean(int index) const { return *word(index) != 0; }
    /// Attribute `index` as an integer; ShapeError where it is a size that is no number.
    std::int64_t integer(int index) const {
        return detail::read_slot(static_cast<std::int64_t>(*word(index)));
    }
    /// Attribute `index`, an integer, as a size: it may be an expression. ArgumentError for a
    /// number that is no size.
    Dim size(int index) const;
    /// Attribute `index` as a real number.
    double real(int index) const;
    /// Attribute `index` as a number.
    Scalar scalar(int index) const;
    /// Attribute `index` as a list.
    Ints list(int index) const;
    /// Attribute `index` as text.
    const std::string& text(int index) const;
    /// Attribute `index` as a program. It lives as long as the process.
    const Program& program(int index) const;
    /// Attribute `index` as a view of the result's shape.
    Placement placement(int index, const Shape& result) const;
    /// Attribute `index`, whatever it is. `result` is the result's shape, which a view needs.
    Attribute get(int index, const Shape& result) const;
    /// The words themselves.
    std::span<const std::uint64_t> words() const { return words_; }

   private:
    const std::uint64_t* word(int index) const;
    const OpDef* def_ = nullptr;
    std::span<const std::uint64_t> words_;
};

/// Builds the words of an operation's attributes, in the order of its list.
class AttrWords {
   public:
    static constexpr int kMax = 240;  ///< The most words the attributes of one operation may take.
    /// Appends a truth value.
    void boolean(bool v) { push(v ? 1 : 0); }
    /// Appends an integer.
    void integer(std::int64_t v) { push(static_cast<std::uint64_t>(v)); }
    /// Appends a real number; every NaN becomes the same one.
    void real(double v);
    /// Appends a number.
    void scalar(const Scalar& v);
    /// Appends a list of axes.
    void axes(std::span<const std::int64_t> v);
    /// Appends a list of integers.
    void ints(std::span<const std::int64_t> v);
    /// Appends text.
    void text(std::string_view v);
    /// Appends a program.
    void program(const Program& v);
    /// Appends a view, without its shape, which is the result's.
    void placement(const Placement& v);
    /// Appends `value` as an attribute of kind `def.kind`; ArgumentError naming `op` where it is of
    /// another kind.
    void append(std::string_view op, const AttrDef& def, const Attribute& value);
    /// Appends words that the caller fills in.
    std::uint64_t* room(int count) {
        if (count_ + count > kMax) overflow();
        count_ += count;
        return words_ + count_ - count;
    }
    /// The words so far.
    std::span<const std::uint64_t> words() const {
        return {words_, static_cast<std::size_t>(count_)};
    }

   private:
    void push(std::uint64_t word) {
        if (count_ == kMax) overflow();
        words_[count_++] = word;
    }
    [[noreturn]] static void overflow();
    int count_ = 0;
    std::uint64_t words_[kMax];
};

/// What shape inference sees.
struct InferArgs {
    const OpDef& op;                            ///< The operation.
    std::span<const TensorSpec* const> inputs;  ///< What is known of each operand.
    Attrs attrs;                                ///< Its attributes.
    const TensorSpec* wanted = nullptr;  ///< The result asked for, where the op is `Trait::shaped`.
};

/// A dense row-major array in host memory, to be read.
struct HostArray {
    const void* data = nullptr;        ///< The first element.
    const TensorSpec* spec = nullptr;  ///< Type and shape.
    /// The elements as `T`.
    template <class T>
    const T* as() const {
        return static_cast<const T*>(data);
    }
};

/// What a reference evaluation sees: dense operands, and a dense result to be filled.
struct EvalArgs {
    const OpDef& op;                    ///< The operation.
    Attrs attrs;                        ///< Its attributes.
    std::span<const HostArray> inputs;  ///< The operands.
    const TensorSpec* spec;             ///< Type and shape of the result.
    void* out;                          ///< The result's elements, to be filled.
    /// The result's elements as `T`.
    template <class T>
    T* result() const {
        return static_cast<T*>(out);
    }
};

/// Properties of an operation.
enum class Trait : std::uint32_t {
    none = 0,  ///< Nothing special.
    elementwise =
        1
        << 0,  ///< One result element from the operands' elements at the same (broadcast) position.
    same_type =
        1 << 1,  ///< The result has the operands' type. Implied rule of most elementwise ops.
    promotes = 1 << 2,      ///< Recording brings all operands to one type first.
    to_float = 1 << 3,      ///< Recording brings integers and bool to the default float first.
    shaped = 1 << 4,        ///< The result's type and shape are given by the caller, not inferred.
    keep_if_held = 1 << 5,  ///< Evaluating a graph keeps this interior result if somebody still
                            ///< holds the tensor.
    random = 1 << 6,        ///< The result is drawn from a key.
    movement = 1 << 7,      ///< Rearranges elements and computes nothing.
    leaf = 1 << 8,  ///< A value that comes from outside the program; never printed as an operation.
    predicated =
        1 << 9,      ///< The first operand is a condition (bool) and takes no part in promotion.
    view = 1 << 10,  ///< The form in which movements are recorded: it keeps its operand, and never
                     ///< has a value of its own.
    sensitive = 1 << 11,    ///< A small change of the operands may change the result much, or make
                            ///< the op fail, as of a matrix that is nearly singular: programs drawn
                            ///< at random leave it out.
    no_gradient = 1 << 13,  ///< Nothing flows back: the result does not change with the operands,
                            ///< but in steps, or is not meant to.
    updates = 1 << 12,  ///< The result is the first operand with the second put into a box of it,
                        ///< and may be computed in its place; then nothing else is written.
};
/// Both sets of traits.
constexpr Trait operator|(Trait a, Trait b) {
    return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
/// Whether `set` has all of `wanted`.
constexpr bool has(Trait set, Trait wanted) {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(wanted)) ==
           static_cast<std::uint32_t>(wanted);
}

/// One way to build a composite out of other operations.
struct Implementation {
    std::string_view name;  ///< By which a policy forces it.
    /// Builds it. Operands, attributes and the result's spec are those of the composite.
    Value (*build)(ProgramBuilder& builder, std::span<const Value> inputs,
                   const InferArgs& args) = nullptr;
    /// A reason why it cannot serve these arguments, or none. Absent: it serves all.
    std::optional<std::string> (*refuses)(const InferArgs& args) = nullptr;
};

/// How kernels compute an op, where its other fields do not say so already.
enum class Lowering : std::uint8_t {
    opaque,       ///< By a kernel of its own, which its backend has.
    reduction,    ///< By combining elements over the axes that its first attribute lists.
    contraction,  ///< By summing products, as dot_general.
    convolution,  ///< By summing products of windows, as convolution.
    concat,       ///< From one operand or another, by the position along an axis.
    gather,       ///< From a position that an operand says.
    position,     ///< By the position along an axis alone.
    constant,     ///< One value everywhere.
};

/// How a reduction combines elements.
struct Reduction {
    std::string_view combine = "";             ///< The op that makes one of two: add, maximum.
    Scalar (*initial)(DType dtype) = nullptr;  ///< What combining starts from.
    bool mean = false;  ///< Whether the result is divided by the number of elements.
};

/// How far a fast result may lie from the reference: |a - b| <= absolute + relative * |b|, in units
/// of the result type's epsilon for `relative`.
struct Tolerance {
    double ulps = 0;      ///< Relative, in epsilons of the result's type. 0: exact.
    double absolute = 0;  ///< Absolute.
};

/// Where test values are drawn from.
struct Sample {
    double low = -4;  ///< The lowest value.
    double high = 4;  ///< The highest value.
    /// Added to the diagonal of the first operand's matrices, times their size: makes matrices that
    /// are positive definite, and can be inverted.
    double diagonal = 0;
    bool edges = true;  ///< Whether tests that draw infinities, NaN and the like make sense.
};

/// A call of a non-elementwise op that the conformance tests make: shapes, attributes, and the
/// result where it is asked for.
struct Case {
    std::vector<Shape> inputs;         ///< Shapes of the operands.
    std::vector<Attribute> attrs;      ///< Attributes.
    std::optional<Shape> result = {};  ///< The shape asked for, where the op is `Trait::shaped`.
    std::vector<DType> types = {};  ///< The operands' types, where they are not what others have.
};

/// The record of an operation.
struct OpDef {
    std::string_view name;       ///< Unique; letters, digits and underscores.
    std::string_view doc;        ///< One sentence: what it computes.
    std::string_view edge = "";  ///< Its meaning at NaN, inf, -0, overflow, empty operands.
    int min_inputs = 1;          ///< The fewest operands.
    int max_inputs = 1;          ///< The most operands; -1 for any number.
    Trait traits = Trait::none;  ///< Properties.
    DTypeSet dtypes =
        kAllTypes;  ///< Types of the (last) operand, or of the result where there is none.
    std::vector<AttrDef> attrs = {};  ///< Attributes, in order.
    /// Type and shape of the result; throws where the operands do not fit. Absent: the elementwise
    /// rule.
    TensorSpec (*infer)(const InferArgs& args) = nullptr;
    /// What the result is a bundle of, where the op has several results: for the same arguments as
    /// `infer`, which says how large the bundle is. Absent: the op has one result, or others know
    /// what its bundle holds.
    std::vector<TensorSpec> (*results)(const InferArgs& args) = nullptr;
    /// Makes of a view of its operand a view of the result, and says what new positions are filled
    /// with: present where the op only moves elements. It is recorded as a view of whatever its
    /// operand was a view of.
    void (*move)(Placement& placement, const Attrs& attrs, const Shape& result) = nullptr;
    /// A short cut of `infer` and `move` for views that are plain strides: changes the view and
    /// returns true, or returns false where the long way is to decide or to throw. `wanted` is the
    /// shape asked for, where the op is `Trait::shaped`. Strides of dimensions with one position
    /// may be anything.
    bool (*move_strided)(StridedView& view, const Attrs& attrs, const Shape& wanted) = nullptr;
    /// The meaning: computes the result plainly. Absent for composites.
    void (*evaluate)(const EvalArgs& args) = nullptr;
    Primitive primitive = Primitive::none;  ///< Present where code generators know it.
    /// How kernels compute an element out of primitives; none for types that are computed by
    /// `evaluate`. Absent: primitives, and what kernels call.
    std::optional<Term> (*expand)(std::span<const Term> operands) = nullptr;
    Lowering lowering = Lowering::opaque;  ///< How kernels compute it; elementwise ops and
                                           ///< movements need not say.
    Reduction reduction = {};              ///< Present where `lowering` is a reduction.
    /// Kernels that backends may have for it, by whose name a policy forces one; the default first.
    std::vector<std::string_view> kernels = {};
    /// The ways to build it out of others, the default first. Present for composites only.
    std::vector<Implementation> implementations = {};
    /// Reverse mode: builds what flows back to each operand, in their order; no value where nothing
    /// does. What has the shape of the result is summed to the operand's, what is smaller is
    /// repeated. Absent: movements go back the way they came, and composites are built out of
    /// others first.
    std::vector<Value> (*gradient)(const GradientArgs& args) = nullptr;
    Tolerance tolerance = {};      ///< How far fast results may lie from the reference.
    Sample sample = {};            ///< Where tests draw operands from.
    std::vector<Case> cases = {};  ///< Calls the conformance tests make; elementwise ops need none.

    /// Whether it is built out of other operations.
    bool is_composite() const { return !implementations.empty(); }
};

/// Adds an operation to the op table and returns its index. ArgumentError where the record is
/// incomplete or the name taken.
OpId register_op(OpDef def);
/// The index of the operation of that name, or none.
std::optional<OpId> find_op(std::string_view name);
/// The index of the operation of that name; ArgumentError where there is none.
OpId require_op(std::string_view name);
/// The record at an index.
const OpDef& op_def(OpId id);
/// How many operations there are. Indices run from 0 to this.
int op_count();

/// Type and shape of the result of an operation, with no tensor at hand.
/// `wanted` is the result asked for, for ops whose result the caller gives (reshape, cast, random,
/// ...).
TensorSpec infer(OpId op, std::span<const TensorSpec> inputs, std::span<const Attribute> attrs = {},
                 const TensorSpec* wanted = nullptr);
/// The same by name.
TensorSpec infer(std::string_view op, std::span<const TensorSpec> inputs,
                 std::span<const Attribute> attrs = {}, const TensorSpec* wanted = nullptr);
/// The same from the compact form; checks the number of operands and the attributes' form.
TensorSpec infer(const InferArgs& args);

}  // namespace lazuli
