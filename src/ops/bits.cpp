// Bits of integers, and truth values, which have one.

#include <fmt/format.h>

#include "ops/eval.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

// Shifting by the width or more leaves nothing; a negative count counts as that.
template <class T>
bool is_beyond(T count) {
    return wide(count) >= 8 * sizeof(T);
}
struct ShiftLeft {
    template <class T>
    T operator()(T a, T b) const {
        return is_beyond(b) ? T{0} : static_cast<T>(wide(a) << wide(b));
    }
};
struct ShiftRight {
    template <class T>
    T operator()(T a, T b) const {
        if (is_beyond(b)) return a < 0 ? static_cast<T>(-1) : T{0};
        return static_cast<T>(a >> b);
    }
};

struct And {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a ^ b);
    }
};
struct Not {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_same_v<T, bool>)
            return !a;
        else
            return static_cast<T>(~wide(a));
    }
};

struct LogicalAnd {
    template <class T>
    bool operator()(T a, T b) const {
        return a != T{} && b != T{};
    }
};
struct LogicalOr {
    template <class T>
    bool operator()(T a, T b) const {
        return a != T{} || b != T{};
    }
};
struct LogicalXor {
    template <class T>
    bool operator()(T a, T b) const {
        return (a != T{}) != (b != T{});
    }
};
struct LogicalNot {
    template <class T>
    bool operator()(T a) const {
        return a == T{};
    }
};

Term is_true(Term x) { return x.dtype == DType::boolean ? x : x != 0; }

std::optional<Term> expand_bitwise_not(std::span<const Term> x) {
    if (x[0].dtype == DType::boolean) return x[0] ^ true;
    return (0 - x[0]) - 1;  // as two's complement has it
}
std::optional<Term> expand_logical_and(std::span<const Term> x) {
    return is_true(x[0]) & is_true(x[1]);
}
std::optional<Term> expand_logical_or(std::span<const Term> x) {
    return is_true(x[0]) | is_true(x[1]);
}
std::optional<Term> expand_logical_xor(std::span<const Term> x) {
    return is_true(x[0]) ^ is_true(x[1]);
}
std::optional<Term> expand_logical_not(std::span<const Term> x) { return is_true(x[0]) ^ true; }

TensorSpec infer_truth(const InferArgs& args) {
    Shape shape = args.inputs[0]->shape;
    if (args.inputs.size() == 2) {
        if (args.inputs[0]->dtype != args.inputs[1]->dtype) {
            throw DTypeError(fmt::format("{}: operands have different types: {} and {}",
                                         args.op.name, args.inputs[0]->str(),
                                         args.inputs[1]->str()));
        }
        shape = broadcast_shapes(args.op.name, shape, args.inputs[1]->shape);
    }
    return {DType::boolean, shape};
}

constexpr Trait kArithmetic = Trait::elementwise | Trait::same_type | Trait::promotes;
constexpr DTypeSet kBits = kIntegers | DTypeSet{DType::boolean};

OpDef bitwise(std::string_view name, std::string_view doc, void (*evaluate)(const EvalArgs&),
              Primitive primitive) {
    return {
        .name = name,
        .doc = doc,
        .edge = "Of truth values the same as the logical operation.",
        .min_inputs = 2,
        .max_inputs = 2,
        .traits = kArithmetic,
        .dtypes = kBits,
        .evaluate = evaluate,
        .primitive = primitive,
    };
}

OpDef logical(std::string_view name, std::string_view doc, int operands,
              void (*evaluate)(const EvalArgs&),
              std::optional<Term> (*expand)(std::span<const Term>)) {
    return {
        .name = name,
        .doc = doc,
        .edge = "A number holds where it is not 0; NaN holds.",
        .min_inputs = operands,
        .max_inputs = operands,
        .traits = Trait::elementwise | Trait::promotes,
        .infer = infer_truth,
        .evaluate = evaluate,
        .expand = expand,
    };
}

}  // namespace

std::vector<OpDef> bits() {
    return {
        {
            .name = "shift_left",
            .doc = "The bits of the first element moved up by the second.",
            .edge = "A count of the type's width or more, or below zero, leaves 0.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kIntegers,
            .evaluate = evaluate_elementwise<kIntegers, 2, ShiftLeft>,
            .primitive = Primitive::shift_left,
        },
        {
            .name = "shift_right",
            .doc = "The bits of the first element moved down by the second; a sign stays.",
            .edge = "A count of the type's width or more, or below zero, leaves 0, or -1 of a "
                    "negative number.",
            .min_inputs = 2,
            .max_inputs = 2,
            .traits = kArithmetic,
            .dtypes = kIntegers,
            .evaluate = evaluate_elementwise<kIntegers, 2, ShiftRight>,
            .primitive = Primitive::shift_right,
        },
        bitwise("bitwise_and", "The bits that both elements have.",
                evaluate_elementwise<kBits, 2, And>, Primitive::bit_and),
        bitwise("bitwise_or", "The bits that either element has.",
                evaluate_elementwise<kBits, 2, Or>, Primitive::bit_or),
        bitwise("bitwise_xor", "The bits that one of two elements has and the other has not.",
                evaluate_elementwise<kBits, 2, Xor>, Primitive::bit_xor),
        {
            .name = "bitwise_not",
            .doc = "The bits that each element has not.",
            .edge = "Of a truth value its opposite.",
            .traits = kArithmetic,
            .dtypes = kBits,
            .evaluate = evaluate_elementwise<kBits, 1, Not>,
            .expand = expand_bitwise_not,
        },
        logical("logical_and", "Whether both elements hold.", 2,
                evaluate_elementwise<kAllTypes, 2, LogicalAnd>, expand_logical_and),
        logical("logical_or", "Whether either element holds.", 2,
                evaluate_elementwise<kAllTypes, 2, LogicalOr>, expand_logical_or),
        logical("logical_xor", "Whether one of two elements holds and the other does not.", 2,
                evaluate_elementwise<kAllTypes, 2, LogicalXor>, expand_logical_xor),
        logical("logical_not", "Whether each element does not hold.", 1,
                evaluate_elementwise<kAllTypes, 1, LogicalNot>, expand_logical_not),
    };
}

}  // namespace lazuli::ops
