// Comparison, choice and conversion.

#include <fmt/format.h>

#include <cstring>

#include "ops/eval.h"
#include "ops/gradient.h"
#include "ops/table.h"

namespace lazuli::ops {

namespace {

TensorSpec infer_compare(const InferArgs& args) {
    const TensorSpec& a = *args.inputs[0];
    const TensorSpec& b = *args.inputs[1];
    if (a.dtype != b.dtype) {
        throw DTypeError(fmt::format("{}: operands have different types: {} and {}", args.op.name,
                                     a.str(), b.str()));
    }
    return {DType::boolean, broadcast_shapes(args.op.name, a.shape, b.shape)};
}

TensorSpec infer_select(const InferArgs& args) {
    const TensorSpec& condition = *args.inputs[0];
    const TensorSpec& a = *args.inputs[1];
    const TensorSpec& b = *args.inputs[2];
    if (condition.dtype != DType::boolean) {
        throw DTypeError(
            fmt::format("{}: the condition is {}, not bool", args.op.name, condition.str()));
    }
    if (a.dtype != b.dtype) {
        throw DTypeError(fmt::format("{}: choices have different types: {} and {}", args.op.name,
                                     a.str(), b.str()));
    }
    return {a.dtype, broadcast_shapes(args.op.name, condition.shape,
                                      broadcast_shapes(args.op.name, a.shape, b.shape))};
}

void evaluate_select(const EvalArgs& args) {
    const Shape& shape = args.spec->shape;
    const std::int64_t count = shape.numel();
    std::vector<std::int64_t> offsets[3];
    for (std::size_t k = 0; k < 3; ++k)
        offsets[k] = broadcast_offsets(args.inputs[k].spec->shape, shape);
    const auto at = [&](std::size_t k, std::int64_t i) {
        return offsets[k].empty() ? i : offsets[k][static_cast<std::size_t>(i)];
    };
    dispatch(args.spec->dtype, [&]<class T>() {
        T* out = args.result<T>();
        for (std::int64_t i = 0; i < count; ++i) {
            const bool condition = args.inputs[0].as<bool>()[at(0, i)];
            out[i] =
                condition ? args.inputs[1].as<T>()[at(1, i)] : args.inputs[2].as<T>()[at(2, i)];
        }
    });
}

TensorSpec infer_cast(const InferArgs& args) {
    if (!(args.inputs[0]->shape == args.wanted->shape)) {
        throw ShapeError(fmt::format("{}: {} cannot become {}: the shape differs", args.op.name,
                                     args.inputs[0]->str(), args.wanted->str()),
                         args.inputs[0]->shape.str(), args.wanted->shape.str());
    }
    return *args.wanted;
}

void evaluate_cast(const EvalArgs& args) {
    const std::int64_t count = args.spec->shape.numel();
    dispatch(args.inputs[0].spec->dtype, [&]<class From>() {
        dispatch(args.spec->dtype, [&]<class To>() {
            const From* in = args.inputs[0].as<From>();
            To* out = args.result<To>();
            for (std::int64_t i = 0; i < count; ++i) out[i] = convert<To>(in[i]);
        });
    });
}

TensorSpec infer_bitcast(const InferArgs& args) {
    if (size_of(args.inputs[0]->dtype) != size_of(args.wanted->dtype)) {
        throw DTypeError(fmt::format("bitcast: {} cannot become {}: elements of {} and {} bytes",
                                     args.inputs[0]->str(), args.wanted->str(),
                                     size_of(args.inputs[0]->dtype), size_of(args.wanted->dtype)));
    }
    return infer_cast(args);
}

void evaluate_bitcast(const EvalArgs& args) {
    const auto count = static_cast<std::size_t>(args.spec->shape.numel());
    const std::size_t size = size_of(args.spec->dtype);
    if (args.spec->dtype == DType::boolean) {
        for (std::size_t i = 0; i < count; ++i)
            args.result<bool>()[i] = args.inputs[0].as<std::uint8_t>()[i] != 0;
    } else if (count > 0) {
        std::memcpy(args.out, args.inputs[0].data, count * size);
    }
}

struct Eq {
    template <class T>
    bool operator()(T a, T b) const {
        return a == b;
    }
};
struct Ne {
    template <class T>
    bool operator()(T a, T b) const {
        return a != b;
    }
};
struct Lt {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b;
    }
};
struct Le {
    template <class T>
    bool operator()(T a, T b) const {
        return a <= b;
    }
};
struct Gt {
    template <class T>
    bool operator()(T a, T b) const {
        return a > b;
    }
};
struct Ge {
    template <class T>
    bool operator()(T a, T b) const {
        return a >= b;
    }
};

constexpr DTypeSet kOrdered = kReal | DTypeSet{DType::boolean};

Gradients select_gradient(const GradientArgs& g) {
    const Value zero = constant_like(g.cotangent(), Scalar(0).as(g.cotangent().dtype()));
    return {{}, select(g[0], g.cotangent(), zero), select(g[0], zero, g.cotangent())};
}
Gradients cast_gradient(const GradientArgs& g) { return {cast(g.cotangent(), g[0].dtype())}; }

OpDef compare(Primitive primitive, std::string_view name, std::string_view doc,
              std::string_view edge, DTypeSet types, void (*evaluate)(const EvalArgs&)) {
    return {
        .name = name,
        .doc = doc,
        .edge = edge,
        .min_inputs = 2,
        .max_inputs = 2,
        .traits = Trait::elementwise | Trait::promotes,
        .dtypes = types,
        .infer = infer_compare,
        .evaluate = evaluate,
        .primitive = primitive,
    };
}

}  // namespace

std::vector<OpDef> comparison() {
    constexpr std::string_view unordered =
        "False where either is NaN; 0 equals -0; false is less than true.";
    return {
        compare(Primitive::eq, "eq", "Whether two elements are equal.",
                "False where either is NaN; 0 equals -0.", kAllTypes,
                evaluate_elementwise<kAllTypes, 2, Eq>),
        compare(Primitive::ne, "ne", "Whether two elements differ.",
                "True where either is NaN; 0 equals -0.", kAllTypes,
                evaluate_elementwise<kAllTypes, 2, Ne>),
        compare(Primitive::lt, "lt", "Whether the first element is less than the second.",
                unordered, kOrdered, evaluate_elementwise<kOrdered, 2, Lt>),
        compare(Primitive::le, "le", "Whether the first element is at most the second.", unordered,
                kOrdered, evaluate_elementwise<kOrdered, 2, Le>),
        compare(Primitive::gt, "gt", "Whether the first element is greater than the second.",
                unordered, kOrdered, evaluate_elementwise<kOrdered, 2, Gt>),
        compare(Primitive::ge, "ge", "Whether the first element is at least the second.", unordered,
                kOrdered, evaluate_elementwise<kOrdered, 2, Ge>),
        {
            .name = "select",
            .doc = "The second operand's element where the first holds, else the third's.",
            .edge = "The element that is not chosen has no influence, be it NaN.",
            .min_inputs = 3,
            .max_inputs = 3,
            .traits = Trait::elementwise | Trait::promotes | Trait::predicated,
            .infer = infer_select,
            .evaluate = evaluate_select,
            .primitive = Primitive::select,
            .gradient = select_gradient,
        },
        {
            .name = "cast",
            .doc = "Each element converted to another type.",
            .edge = "Floats round to even; a float becomes an integer by truncation, saturating at "
                    "the type's range, NaN becoming 0; "
                    "integers wrap; to bool: whether it is not zero; complex to real drops the "
                    "imaginary part.",
            .traits = Trait::elementwise | Trait::shaped,
            .infer = infer_cast,
            .evaluate = evaluate_cast,
            .primitive = Primitive::cast,
            .gradient = cast_gradient,
        },
        {
            .name = "bitcast",
            .doc = "The bits of each element as another type of the same size.",
            .edge = "To bool: only 0 and 1 are bits of a truth value; others are taken as true.",
            .traits = Trait::elementwise | Trait::shaped,
            .infer = infer_bitcast,
            .evaluate = evaluate_bitcast,
            .primitive = Primitive::bitcast,
        },
    };
}

}  // namespace lazuli::ops
